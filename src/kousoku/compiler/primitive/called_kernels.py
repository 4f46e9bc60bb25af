"""The kernels that a lowered program calls, by the numbers in it, and the memory that they take beside XLA's."""

from __future__ import annotations

import re
from typing import Any

from ..backends import backend
from ..runtime.kernels import memory_of


def kernel_memory(lowered: Any) -> int:
    """Returns the most bytes that a gang of a program's kernels takes for itself while it runs.

    No plan of XLA's has them. A kernel along arrays takes no more; of others several gangs may run at once. Code
    that is on its way is waited for.

    Args:
        lowered: the program, a `jax.stages.Lowered`.
    """
    call = re.compile(rf"@{backend().call_target}\(.*?\bkernel = (\d+) : i64")
    text = lowered.compiler_ir().operation.get_asm(large_elements_limit=16)
    return max((memory_of(int(number)) for number in {*call.findall(text)}), default=0)
