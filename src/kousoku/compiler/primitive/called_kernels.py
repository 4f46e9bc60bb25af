"""The kernels that a lowered program calls, by the numbers in it, and the memory that they take beside XLA's."""

from __future__ import annotations

import re
from typing import Any

from ..backends import backend
from ..runtime.kernels import memory_of


def kernel_memory(lowered: Any) -> int:
    """Returns the most bytes that a kernel of a program takes for itself while it runs, which no plan of XLA's has.

    Code that is on its way is waited for.

    Args:
        lowered: the program, a `jax.stages.Lowered`.
    """
    call = re.compile(rf"@{backend().call_target}\(.*?\bkernel = (\d+) : i64")
    return max((memory_of(int(number)) for number in {*call.findall(lowered.as_text())}), default=0)
