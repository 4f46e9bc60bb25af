"""How XLA compiles in the tests: fast. Its code runs for a moment there, and making that code fast is most of a test.

What the tests compile by XLA is right or wrong at any level of optimisation. `make test-full` (`KOUSOKU_TESTS=full`)
compiles as for users, but for what asks for `FAST_COMPILE` by name. Our own kernels are optimised in either case:
XLA's options are none of theirs.
"""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SWITCH = "KOUSOKU_TESTS"


def known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options that this jaxlib has: XLA ends the process at one that it does not know."""
    found = find_spec("jaxlib")
    assert found is not None
    assert found.origin is not None
    for library in Path(found.origin).parent.glob("*jax_common*"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
            return {name: value for name, value in options.items() if code.find(b"\0" + name.encode() + b"\0") >= 0}
    return {}


FAST_COMPILE = known(
    {
        "xla_backend_optimization_level": 0,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
)
"""Compiler options for short runs, in which compiling is what takes the time."""
LEFT_OUT = known({"xla_disable_hlo_passes": "hlo-verifier,while-loop-simplifier,while-loop-invariant-code-motion"})
"""XLA's check of its own work and its clean-up of loops, a fifth of what it does where it does not optimise."""
USER_COMPILE = known({"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True})
"""Those for long runs, as users have them."""


def is_quick() -> bool:
    """Whether the default tests run: unless `KOUSOKU_TESTS` is "full"."""
    return os.environ.get(SWITCH, "") != "full"


def fast_compile_flags() -> str:
    """`FAST_COMPILE`, less `LEFT_OUT`, for whatever a process compiles, as `XLA_FLAGS`; nothing in the full tests."""
    if not is_quick():
        return ""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in (FAST_COMPILE | LEFT_OUT).items())


TOGETHER = 200
"""How many programs are lowered in one MLIR context."""


def share_contexts() -> None:
    """From now on programs are lowered in the MLIR context of those before, and not each in one of its own.

    To make a context and to free it takes JAX three times as long as all else in lowering a small program, and the
    tests lower some ten thousand. A context keeps the constants of its programs: now and then a new one is made.
    """
    from jax._src.interpreters import mlir

    make, count = mlir.make_ir_context, itertools.count()
    shared: list[Any] = []

    def make_ir_context() -> Any:
        if next(count) % TOGETHER == 0 or not shared:
            shared[:] = [make()]
        return shared[0]

    mlir.make_ir_context = make_ir_context
