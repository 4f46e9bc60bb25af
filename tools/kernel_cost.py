"""Measures what `compiler/cost.py` assumes: `python tools/kernel_cost.py` prints times of a step of all lanes.

Each function is a loop of steps, once as one kernel over the lanes and once as XLA's loop over all of them. Products of
matrices with weights of each lane's own are what XLA does better, from some size on; everything else is the kernel's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import kousoku as ks

STEPS, REPEATS = 32, 7


def products(batch: int, width: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns a loop of products [batch, width] by [width, width], and its arguments of one lane."""

    def run(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, STEPS, lambda _, x: jnp.maximum(x @ w, 0.1 * x), x)

    return run, (jnp.full((batch, width), 0.1), jnp.full((width, width), 0.01))


def elements(count: int, size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns a loop of `count` dependent operations on arrays of `size`, none of which is a product of matrices."""

    def step(i: jax.Array, x: jax.Array) -> jax.Array:
        for k in range(count // 4):
            x = jnp.where(x[(i + k) % size] > 0.5, x * 0.9 + 0.01 * k, x + 0.1)
        return x

    return lambda x: jax.lax.fori_loop(0, STEPS, step, x), (jnp.full((size,), 0.3),)


def buffer(size: int, reads: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns a loop that writes one row of a buffer [size, 4] and reads others at places of its own."""

    def step(i: jax.Array, carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        rows, total = carried
        rows = rows.at[(i * 7) % size].set(total)
        places = (jnp.arange(reads) * 97 + i) % size
        return rows, 0.5 * total + rows[places].mean(0)

    def run(rows: jax.Array, total: jax.Array) -> Any:
        return jax.lax.fori_loop(0, STEPS, step, (rows, total))

    return run, (jnp.zeros((size, 4)), jnp.ones(4))


def times(case: tuple[Callable[..., Any], tuple[Any, ...]], lanes: int) -> tuple[float, float]:
    """Returns microseconds of a step of all lanes, the least of some repeats: with the kernel, and with XLA."""
    function, args = case
    many = [jnp.broadcast_to(a, (lanes, *a.shape)) for a in args]
    made = [jax.jit(jax.vmap(ks.kernel(function, on=on))) for on in (True, False)]
    for compiled in made:
        jax.block_until_ready(compiled(*many))
    best = [float("inf")] * 2
    for _ in range(REPEATS):
        for i, compiled in enumerate(made):
            began = time.perf_counter()
            jax.block_until_ready(compiled(*many))
            best[i] = min(best[i], time.perf_counter() - began)
    return best[0] / STEPS * 1e6, best[1] / STEPS * 1e6


CASES = {
    "products": (products, [(1, 4), (1, 16), (1, 64), (32, 4), (32, 8), (32, 16), (32, 32), (32, 64)]),
    "elements": (elements, [(16, 4), (64, 4), (64, 64)]),
    "buffer": (buffer, [(1000, 32), (10000, 32)]),
}


def main(names: list[str]) -> None:
    """Prints a table."""
    print(f"{'case':<24}{'lanes':>6}{'kernel, us':>12}{'XLA, us':>12}{'kernel is faster by':>22}")
    for name in names or CASES:
        make, sizes = CASES[name]
        for size in sizes:
            for lanes in (2, 16, 128):
                ours, theirs = times(make(*size), lanes)
                print(f"{name + str(size):<24}{lanes:>6}{ours:>12.1f}{theirs:>12.1f}{theirs / ours:>22.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
