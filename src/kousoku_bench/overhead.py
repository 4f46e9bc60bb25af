"""Overhead: what a call of a kernel costs inside a loop whose policy is XLA's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from kousoku.compiler import kernel
from kousoku.envs import make

from .budget import Budget
from .table import ENVIRONMENTS, Section, TableColumn, TableRow, median_seconds

LANE_COUNT = 8
CALL = TableColumn("call_microseconds", "microseconds per call")
LOOP = TableColumn("loop_microseconds", "of the loop's turn")
ABOUT = (
    "A `lax.scan` whose body chooses actions in XLA, a comparison, and steps CartPole-v1 for a few lanes; less the "
    "same scan without the environment. {calls:,} turns."
)


def section(budget: Budget) -> Section:
    """Measures the environment's step in the kernel, and in XLA."""
    empty = _turn(None, budget)
    rows = []
    for name, on in (("kousoku, kernel", True), ("kousoku, XLA", False)):
        turn = _turn(on, budget)
        figures = {"agents": LANE_COUNT, CALL.key: 1e6 * (turn - empty), LOOP.key: 1e6 * turn}
        rows.append(TableRow(name, figures, f"the loop without it: {1e6 * empty:.2f} microseconds a turn"))
    return Section("One call inside a scan", ABOUT.format(calls=budget.calls), (ENVIRONMENTS, CALL, LOOP), rows)


def _turn(on: bool | None, budget: Budget) -> float:
    """Returns the seconds of one turn; None for no environment."""
    env = make("CartPole-v1")
    keys = jax.random.split(jax.random.key(0), LANE_COUNT)
    states, _ = jax.vmap(env.reset)(keys)
    loop = jax.jit(_loop(env, on, budget.calls)).lower(keys, states).compile()
    run = lambda: jax.block_until_ready(loop(keys, states))  # noqa: E731
    return median_seconds(run, budget.repeats, budget.least_seconds) / budget.calls


def _loop(env: Any, on: bool | None, calls: int) -> Callable[..., Any]:
    """Returns a function (keys, states) -> states and pushes after so many turns."""
    step = jax.vmap(kernel(lambda key, state, action: env.step(key, state, action)[0], on=bool(on)))

    def turn(keys: Any, carry: Any) -> Any:
        states, pushes = carry
        action = (states.theta + states.theta_dot > 0.0).astype(jnp.int32)
        return (states if on is None else step(keys, states, action)), pushes + action

    def loop(keys: Any, states: Any) -> Any:
        begin = states, jnp.zeros(LANE_COUNT, jnp.int32)
        return jax.lax.scan(lambda carry, _: (turn(keys, carry), None), begin, length=calls)[0]

    return loop
