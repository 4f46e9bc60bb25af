# %% [markdown]
# # Falling balls, five times
#
# The same balls fall and bounce in NumPy, in JAX as it is typed, in JAX compiled, and in one kernel in which each ball
# has a lane to itself, or shares it with others. The lines of the physics are the same in all of them. Then the balls
# of the library's own environment are filmed. `python examples/falling_balls.py`; `kousoku bench balls` measures with
# more care.

# %%
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks

GRAVITY, DT, RESTITUTION = 9.81, 0.002, 0.8
TOGETHER = 8


# %% [markdown]
# One step: the speed first, then the height with the new speed (semi-implicit Euler), then the bounce. `xp` is NumPy
# or `jax.numpy`; `height` and `speed` are numbers of one ball or arrays of many.


# %%
def fall(xp: Any, height: Any, speed: Any) -> tuple[Any, Any]:
    """Moves the balls for one step of `DT` seconds."""
    speed = speed - GRAVITY * DT
    height = height + speed * DT
    under = height < 0.0
    return xp.where(under, -RESTITUTION * height, height), xp.where(under, -RESTITUTION * speed, speed)


def one_by_one(xp: Any, steps: int, height: Any, speed: Any) -> tuple[Any, Any]:
    """Takes all steps, each a few operations that Python asks for."""
    for _ in range(steps):
        height, speed = fall(xp, height, speed)
    return height, speed


def in_one_program(steps: int, height: jax.Array, speed: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Takes all steps in a loop that JAX compiles."""
    return jax.lax.fori_loop(0, steps, lambda _, now: fall(jnp, *now), (height, speed))


# %% [markdown]
# The kernel is written for one ball: `ks.kernel` compiles the loop of a single lane, and `vmap` makes lanes of the
# balls. A ball is a chain of operations which wait for one another; of eight in a lane, an array [8], the processor
# moves others meanwhile. Where JAX sees a GPU, all but NumPy run there.


# %%
def ways(steps: int) -> dict[str, Callable[..., Any]]:
    """Functions of the balls' heights and speeds, [n] each."""
    one_ball = ks.kernel(partial(in_one_program, steps))

    def together(height: jax.Array, speed: jax.Array) -> Any:
        groups = jax.vmap(one_ball)(height.reshape(-1, TOGETHER), speed.reshape(-1, TOGETHER))
        return jax.tree.map(jnp.ravel, groups)

    return {
        "NumPy": partial(one_by_one, np, steps),
        "JAX without jit": partial(one_by_one, jnp, steps),
        "JAX with jit": jax.jit(partial(in_one_program, steps)),
        "kernel": jax.jit(jax.vmap(one_ball)),
        f"kernel, {TOGETHER} in a lane": jax.jit(together),
    }


def start(xp: Any, balls: int) -> tuple[Any, Any]:
    """Heights from 1 to 3 m, at rest."""
    return xp.linspace(1.0, 3.0, balls, dtype=xp.float32), xp.zeros(balls, xp.float32)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Returns what a call gives, and the seconds of a second call: the first one may compile."""
    jax.block_until_ready(call())
    began = time.perf_counter()
    found = jax.block_until_ready(call())
    return found, time.perf_counter() - began


# %%
def main(out: str = "runs", balls: int = 16_000, steps: int = 500) -> dict[str, np.ndarray]:
    """Lets the balls fall in every way, says how long it took, films the environment; returns the last heights."""
    if balls % TOGETHER:
        raise SystemExit(f"balls: got {balls}; use a multiple of {TOGETHER}, which share a lane")
    ends: dict[str, np.ndarray] = {}
    print(f"{balls:,} balls, {steps:,} steps on {jax.default_backend()}")
    for name, way in ways(steps).items():
        at_first = start(np if name == "NumPy" else jnp, balls)
        (height, _), seconds = timed(partial(way, *at_first))
        ends[name] = np.asarray(height)
        print(f"  {name:<20} {1e3 * seconds:9.2f} ms")
    film = Path(out) / "falling_balls.html"
    film.parent.mkdir(parents=True, exist_ok=True)
    print("film:", ks.animate(ks.make("Balls-v0", n=100)).save(film))
    return ends


if __name__ == "__main__":
    main(*sys.argv[1:2])
