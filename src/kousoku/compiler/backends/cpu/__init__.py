"""Compiles for the CPU: gangs as wide as its vectors, one handler that XLA calls for all kernels, XLA's own threads."""

from __future__ import annotations

import os

import jax

from ...llvm.target import Target, host
from ..backend import Backend, Platform
from .entry import emit_module
from .ffi import CALL_TARGET, PLATFORM, registry


def gang_size(count: int, target: Target) -> int:
    """Returns how many lanes a gang has: one for a single lane, at most what fits the registers."""
    if count == 1:
        return 1
    return min(max(4, 1 << (count - 1).bit_length()), target.lanes)


def problems() -> list[str]:
    """Returns what is known to go wrong in XLA's programs for a CPU, with what helps."""
    scheduler_off = "xla_cpu_enable_concurrency_optimized_scheduler=false" in os.environ.get("XLA_FLAGS", "")
    if jax.__version_info__ < (0, 10) or scheduler_off:
        return []
    return [
        "programs of your own with several independent batched LAPACK calls (cholesky, qr) can hang on a CPU with "
        "this JAX; XLA_FLAGS=--xla_cpu_enable_concurrency_optimized_scheduler=false avoids it. Kousoku uses none."
    ]


CPU = Platform(
    name=PLATFORM,
    backend=Backend(PLATFORM, host, gang_size, emit_module, registry, CALL_TARGET),
    cache_bound=True,
    startup_options={"xla_backend_optimization_level": 0},
    divides_cores=True,
    joins_slowly=True,
    problems=problems,
)
