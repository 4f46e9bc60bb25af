"""What the tabular agents share: the table, the visit counts, and how the behaviour policy reads them."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_number
from ...core.spaces import Discrete
from ...ops import exploration as ops
from ...ops import tables
from ...ops.schedules import check_schedule
from ..exploration import Exploration

MAX_ENTRIES = 1 << 26


class Table(eqx.Module):
    """Action values and what the behaviour policy needs beside them.

    Attributes:
        q: the estimates.
        visits: how often each pair was taken, if the exploration counts visits; otherwise None.
        step: updates made, the count that schedules are read at.
    """

    q: Float[Array, "S A"]
    visits: Int[Array, "S A"] | None
    step: Int[Array, ""]


def table_shape(name: str, spec: EnvSpec) -> tuple[int, int]:
    """(states, actions) of a spec that a table can hold.

    Raises:
        ConfigError: if a space is not Discrete, or the table would be absurdly large.
    """
    for field, space in (("observation_space", spec.observation_space), ("action_space", spec.action_space)):
        if not isinstance(space, Discrete):
            fix = f"{name} keeps a table, so it needs Discrete (a GridWorld gives it with observation='index')"
            raise ConfigError(field, space, fix)
    states, actions = spec.observation_space.n, spec.action_space.n
    if states * actions > MAX_ENTRIES:
        raise ConfigError("observation_space", f"{states} states x {actions} actions", f"use at most {MAX_ENTRIES} pairs")
    return states, actions


def init_table(name: str, spec: EnvSpec, initial_value: float | Array, exploration: Exploration) -> Table:
    """A table filled with one value, and empty counts if the exploration needs them."""
    states, actions = table_shape(name, spec)
    visits = jnp.zeros((states, actions), jnp.int32) if exploration.counts_visits else None
    return Table(tables.filled(states, actions, initial_value), visits, jnp.int32(0))


def select(
    exploration: Exploration, table: Table, s: Int[Array, ""], key: PRNGKeyArray, *, greedy: bool = False
) -> Int[Array, ""]:
    """An action in state s: of the behaviour policy, or greedy with ties at random."""
    q = tables.row(table.q, s)
    if greedy:
        return ops.greedy(key, q)
    counts = None if table.visits is None else tables.row(table.visits, s)
    return exploration.select(key, q, counts, table.step)


def policy(exploration: Exploration, table: Table, s: Int[Array, ""]) -> Float[Array, " A"]:
    """pi(. | s) of the behaviour policy."""
    counts = None if table.visits is None else tables.row(table.visits, s)
    return exploration.probabilities(tables.row(table.q, s), counts, table.step)


def tick(table: Table, s: Int[Array, ""], a: Int[Array, ""], q: Float[Array, "S A"]) -> Table:
    """The table after one update: new values, the visit counted, the step count moved on."""
    visits = None if table.visits is None else tables.add(table.visits, s, a, jnp.int32(1))
    return Table(q, visits, table.step + 1)


def check_tabular(learning_rate: object, discount: object, initial_value: object) -> None:
    """The checks that every tabular learner makes on its numbers."""
    check_schedule("learning_rate", learning_rate, low=0, high=1, open_low=True)
    check_number("discount", discount, low=0, high=1)
    check_number("initial_value", initial_value)
