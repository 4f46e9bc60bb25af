"""The robots under random actions: ours, C MuJoCo behind EnvPool and Gymnasium, MJX, and Brax."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from . import peers
from .budget import Budget
from .classic import compiled, envpool_row, ours
from .subprocess_timing import run_in_subprocess
from .table import COMPILE, ENVIRONMENTS, SPEED, Section, TableRow, attempt, median_seconds, speed

ABOUT = (
    "Whole steps of environments on all cores, under random actions; an episode that ends is followed by one from a "
    "fresh random start. EnvPool and Gymnasium run C MuJoCo. Brax simulates models of its own, and its spring and "
    "positional engines simulate less. MJX takes the physics steps of an environment's step, without observation, "
    "reward or a new episode. Other libraries in JAX run in a process of their own, which is stopped when it takes too "
    "long."
)
IN_BRAX = {
    "Ant-v5": "ant", "HalfCheetah-v5": "halfcheetah", "Hopper-v5": "hopper", "Humanoid-v5": "humanoid",
    "HumanoidStandup-v5": "humanoidstandup", "InvertedDoublePendulum-v5": "inverted_double_pendulum",
    "InvertedPendulum-v5": "inverted_pendulum", "Pusher-v5": "pusher", "Reacher-v5": "reacher",
    "Swimmer-v5": "swimmer", "Walker2d-v5": "walker2d",
}  # fmt: skip
IDS = tuple(IN_BRAX)
BACKENDS = ("generalized", "spring", "positional")
BASE = "EnvPool"


def section(id: str, budget: Budget) -> Section:
    """Measures one environment, beside all others' that are here."""
    few = budget.peer_bodies
    contenders: list[tuple[str, int, Callable[[], TableRow]]] = [
        ("kousoku, kernel", budget.robots, lambda: ours("kousoku, kernel", id, budget.robots, True, False, budget)),
        (BASE, few, lambda: envpool_row(id, budget)),
        ("Gymnasium", few, lambda: gymnasium_row(id, budget)),
        ("MJX", few, lambda: loop_row("MJX", "mjx_loop", [id], budget)),
    ]
    for backend in BACKENDS:
        name = f"Brax {backend}"
        contenders.append((name, few, partial(loop_row, name, "brax_loop", [IN_BRAX[id], backend], budget)))
    rows = [attempt(name, count, measure) for name, count, measure in contenders]
    return Section(id, ABOUT, (ENVIRONMENTS, SPEED, COMPILE), rows, BASE)


def gymnasium_row(id: str, budget: Budget) -> TableRow:
    """Measures Gymnasium's vector environment in one process a core."""
    count = os.cpu_count() or 1
    run = peers.gymnasium_async_steps(id, count)
    seconds = median_seconds(lambda: run(peers.DRAWN), budget.repeats, budget.least_seconds) / peers.DRAWN
    return speed("Gymnasium", count, count / seconds, "vector environment: one process a core")


def loop_row(name: str, maker: str, arguments: list[str], budget: Budget) -> TableRow:
    """Measures a library's environments in JAX, in a process of their own, which is stopped when it takes too long.

    Args:
        name: of the contender.
        maker: of `peers`: makes its loop.
        arguments: for the maker.
        budget: how much to measure.
    """
    count, steps = budget.peer_bodies, budget.peer_steps
    given = (maker, [*arguments, steps], count, budget.peer_repeats)
    figures = run_in_subprocess(__name__, "loop_figures", *given, limit=budget.peer_limit)
    note = "jit, vmap, scan" + ("" if figures["finite"] else "; ends in numbers that are not finite")
    return speed(name, count, count * steps / figures["seconds"], note, compile_seconds=figures["compile_seconds"])


def loop_figures(maker: str, arguments: list[Any], count: int, repeats: int) -> dict[str, Any]:
    """Returns the seconds that a loop takes for `count` environments, and its compiling, and whether what they end in
    is finite.

    Args:
        maker: of `peers`: makes a loop whose `loop(keys, None)` begins and `loop(keys, carry)` goes on.
        arguments: for it.
        count: of environments.
        repeats: the median counts.
    """
    with peers.foreign():
        loop = getattr(peers, maker)(*arguments)
        keys = jax.random.split(jax.random.key(0), count)
        carry = jax.jit(lambda keys: loop(keys, None))(keys)
        run, compile_seconds = compiled(loop, keys, carry)
        state = [carry]

        def call() -> None:
            state[0] = jax.block_until_ready(run(keys, state[0]))

        seconds = median_seconds(call, repeats)
        finite = all(
            bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(state[0]) if jnp.issubdtype(x.dtype, jnp.floating)
        )
    return {"seconds": seconds, "compile_seconds": compile_seconds, "finite": finite}
