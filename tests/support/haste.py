"""How XLA compiles in the tests: in haste. Its code runs for a moment there, and making it fast is most of a test.

Most of what the tests compile by XLA is right or wrong at any level of optimisation. What speaks of bits and roundings
and needs XLA as users have it is marked `exact`: `make test` runs it by itself (`KOUSOKU_TEST_HASTE=exact`), and
compiles it so; `make test-full` (`off`) compiles everything so, but for what asks for `HASTE` by name. Our own kernels
are optimised in either case: XLA's options are none of theirs.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SWITCH = "KOUSOKU_TEST_HASTE"


def known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that this jaxlib has: XLA ends the process at one that it does not know."""
    found = find_spec("jaxlib")
    assert found is not None
    assert found.origin is not None
    for library in Path(found.origin).parent.glob("*jax_common*"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
            return {name: value for name, value in options.items() if code.find(b"\0" + name.encode() + b"\0") >= 0}
    return {}


HASTE = known(
    {
        "xla_backend_optimization_level": 0,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
)
"""Compiler options for short runs, in which compiling is what takes the time."""
CARE = known({"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True})
"""Those for long runs, as users have them."""


def is_hasty() -> bool:
    """Whether tests are in haste: unless `KOUSOKU_TEST_HASTE` is "off"."""
    return os.environ.get(SWITCH, "") != "off"


def hasty_flags() -> str:
    """`HASTE` for whatever a process compiles, as `XLA_FLAGS`; nothing where tests are not in haste, or exact."""
    if os.environ.get(SWITCH, "") in ("off", "exact"):
        return ""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in HASTE.items())
