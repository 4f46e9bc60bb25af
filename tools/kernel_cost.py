"""Measures what `compiler/cost.py` assumes: `python tools/kernel_cost.py` prints CPU times of a step of all lanes.

Each function is a loop of steps, once as one kernel over the lanes and once as XLA's loop over all of them, or in the
case `copies` a step that XLA's loop calls, so that an array comes in and goes out each time. Products of matrices with
weights of each lane's own are what XLA does better, from some size on; everything else is the kernel's. The two
programs run in turn, and times are those of the processor, of all threads: a machine that others use, too, tells no
others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import kousoku as ks

STEPS, REPEATS, CALLS = 32, 7, 4


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


def one_written(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns a step that adds to one element of an array, which comes in and goes out, and its arguments."""
    return lambda rows, i: (rows.at[i].add(1.0), (i * 7 + 1) % size), (jnp.zeros(size), jnp.int32(3))


def over_lanes(function: Callable[..., Any], stepped: bool, on: bool) -> Callable[..., Any]:
    """Returns the program over all lanes: the function, or XLA's loop of it."""
    step = jax.vmap(ks.kernel(function, on=on))
    if not stepped:
        return jax.jit(step)
    return jax.jit(lambda *many: jax.lax.fori_loop(0, STEPS, lambda _, carried: step(*carried), many))


def times(case: tuple[Callable[..., Any], tuple[Any, ...]], lanes: int, stepped: bool) -> tuple[float, float]:
    """Returns microseconds of a step of all lanes, the least of some repeats: with the kernel, and with XLA.

    Args:
        case: a function and its arguments of one lane.
        lanes: how many.
        stepped: whether the function is one step; else it has its own loop.
    """
    function, args = case
    many = [jnp.broadcast_to(a, (lanes, *a.shape)) for a in args]
    made = [over_lanes(function, stepped, on) for on in (True, False)]
    for compiled in made:
        jax.block_until_ready(compiled(*many))
    best = [float("inf")] * 2
    for _ in range(REPEATS):
        for i, compiled in enumerate(made):
            began = time.process_time()
            for _ in range(CALLS):
                jax.block_until_ready(compiled(*many))
            best[i] = min(best[i], (time.process_time() - began) / CALLS)
    return best[0] / STEPS * 1e6, best[1] / STEPS * 1e6


CASES = {
    "products": (products, [(1, 4), (1, 16), (1, 64), (32, 4), (32, 8), (32, 16), (32, 32), (32, 64)]),
    "elements": (elements, [(16, 4), (64, 4), (64, 64)]),
    "buffer": (buffer, [(1000, 32), (10000, 32)]),
    "copies": (one_written, [(4,), (64,), (512,), (4096,)]),
}
STEPPED = frozenset({"copies"})


def main(names: list[str]) -> None:
    """Prints a table."""
    print(f"{'case':<24}{'lanes':>6}{'kernel, us':>12}{'XLA, us':>12}{'kernel is faster by':>22}")
    for name in names or CASES:
        make, sizes = CASES[name]
        for size in sizes:
            for lanes in (2, 16, 128):
                ours, theirs = times(make(*size), lanes, name in STEPPED)
                print(f"{name + str(size):<24}{lanes:>6}{ours:>12.1f}{theirs:>12.1f}{theirs / ours:>22.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
