"""`kousoku doctor`: what this machine is, and what may go wrong on it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .options import parse


def run(words: Sequence[str]) -> int:
    """Print versions, devices, the cache and known problems; status 1 if nothing can run."""
    parse("doctor", "Show versions, devices, caches and known problems.", (), words)
    import jax

    from ..training import compile_cache, facts

    print("versions: " + ", ".join(f"{name} {version}" for name, version in facts.versions().items()))
    device = facts.device()
    print(f"device:   {device['count']} x {device['kind']} ({device['platform']}), {device['cores']} cores, ", end="")
    print(f"{device['machine']} {device['system']}")
    folder = compile_cache.enable()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder else 0
    where = f"{folder} ({size / 2**20:.1f} MiB)" if folder else "off"
    print(f"cache:    {where}; {compile_cache.SWITCH}=off switches it off")
    answer = float(jax.jit(lambda x: x + 1.0)(1.0))
    print(f"compiler: {'works' if answer == 2.0 else 'gives wrong results'}")
    for problem in _problems(device["platform"]):
        print(f"note:     {problem}")
    return 0 if answer == 2.0 else 1


def _problems(platform: str) -> list[str]:
    import jax

    problems = []
    scheduler_off = "xla_cpu_enable_concurrency_optimized_scheduler=false" in os.environ.get("XLA_FLAGS", "")
    if platform == "cpu" and jax.__version_info__ >= (0, 10) and not scheduler_off:
        problems.append(
            "programs of your own with several independent batched LAPACK calls (cholesky, qr) can hang on a CPU with "
            "this JAX; XLA_FLAGS=--xla_cpu_enable_concurrency_optimized_scheduler=false avoids it. Kousoku uses none."
        )
    return problems
