"""How XLA compiles in the tests: in haste. Its code runs for a moment there, and making it fast is most of a test.

What the tests compile by XLA is right or wrong at any level of optimisation; `make test-full` compiles all of it as for
users. Our own kernels are optimised in either case: XLA's options are none of theirs.
"""

from __future__ import annotations

import os
from typing import Any

SWITCH = "KOUSOKU_TEST_HASTE"
HASTE: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
"""Compiler options for short runs, in which compiling is what takes the time."""
CARE: dict[str, Any] = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}
"""Those for long runs, as users have them."""


def hasty_flags() -> str:
    """`HASTE` for whatever a process compiles, as `XLA_FLAGS`; nothing where `KOUSOKU_TEST_HASTE` is "off"."""
    if os.environ.get(SWITCH, "") == "off":
        return ""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in HASTE.items())
