"""The most floating point operations that a core of this machine makes in a second: what products are compared with."""

from __future__ import annotations

import functools
import time

import jax
import jax.numpy as jnp

from kousoku import kernel

CHAINS = 12
"""Multiply-adds side by side: a core begins two a cycle, and each takes four or five."""
ROUNDS = 4_000_000
LANES = 16
"""A gang, which is one core's."""
REPEATS = 9


def core_gflops() -> float:
    """Returns the GFLOP/s of one core in chains of multiply-adds of float32 that touch no memory."""

    def chains(x: jax.Array) -> jax.Array:
        begin = tuple(x + i for i in range(CHAINS))
        step = lambda _, now: tuple(0.999 * a + 0.001 for a in now)  # noqa: E731
        return functools.reduce(jnp.add, jax.lax.fori_loop(0, ROUNDS, step, begin))

    x = jnp.linspace(0.0, 1.0, LANES, dtype=jnp.float32)
    run = jax.jit(jax.vmap(kernel(chains)))
    jax.block_until_ready(run(x))
    best = min(_seconds(run, x) for _ in range(REPEATS))
    return 2.0 * CHAINS * ROUNDS * LANES / best / 1e9


def _seconds(run: jax.stages.Wrapped, x: jax.Array) -> float:
    began = time.perf_counter()
    jax.block_until_ready(run(x))
    return time.perf_counter() - began
