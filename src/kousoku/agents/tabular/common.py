"""Parts that the tabular agents share: the table, the visit counts, and how the behaviour policy reads them."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_choice, check_finite, check_number
from ...core.spaces import Discrete
from ...core.timestep import Transition
from ...ops import exploration as ops
from ...ops import tables
from ...ops.schedules import check_schedule, counted
from ..exploration import Exploration

MAX_ENTRIES = 1 << 26
NOT_CHOSEN = -1
TRACES = ("accumulating", "replacing")


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
    """Returns (states, actions) of a spec that a table can hold.

    Raises:
        ConfigError: if a space is not Discrete, or the table would be absurdly large.
    """
    observation_space, action_space = spec.observation_space, spec.action_space
    fix = f"{name} keeps a table, so it needs Discrete (a GridWorld gives it with observation='index')"
    if not isinstance(observation_space, Discrete):
        raise ConfigError("observation_space", observation_space, fix)
    if not isinstance(action_space, Discrete):
        raise ConfigError("action_space", action_space, fix)
    states, actions = observation_space.n, action_space.n
    if states * actions > MAX_ENTRIES:
        raise ConfigError(
            "observation_space", f"{states} states x {actions} actions", f"use at most {MAX_ENTRIES} pairs"
        )
    return states, actions


def init_table(name: str, spec: EnvSpec, initial_value: float | Array, exploration: Exploration) -> Table:
    """Returns a table filled with one value, and empty counts if the exploration needs them."""
    shape = table_shape(name, spec)
    return Table(tables.filled(*shape, initial_value), no_visits(shape, exploration), jnp.int32(0))


def no_visits(shape: tuple[int, int], exploration: Exploration) -> Int[Array, "S A"] | None:
    """Returns empty counts if the exploration needs them.

    Raises:
        ConfigError: if it is no exploration.
    """
    if not isinstance(exploration, Exploration):
        raise ConfigError("exploration", exploration, "use one by its id, or made, such as EpsilonGreedy(0.1)")
    return jnp.zeros(shape, jnp.int32) if exploration.counts_visits else None


def adopt_table(fresh: Table, trained: Table) -> Table:
    """Returns a fresh table with the trained action values: visits and updates are counted anew."""
    return Table(trained.q, fresh.visits, fresh.step)


def select(
    exploration: Exploration, table: Table, s: Int[Array, ""], key: PRNGKeyArray, *, greedy: bool = False
) -> Int[Array, ""]:
    """Chooses an action in state s: of the behaviour policy, or greedy with ties at random."""
    return select_from(exploration, tables.row(table.q, s), table.visits, table.step, s, key, greedy=greedy)


def select_from(
    exploration: Exploration,
    q: Float[Array, " A"],
    visits: Int[Array, "S A"] | None,
    step: Int[Array, ""],
    s: Int[Array, ""],
    key: PRNGKeyArray,
    *,
    greedy: bool,
) -> Int[Array, ""]:
    """Chooses as `select` does, for an agent that makes the values of state s from more than one table."""
    if greedy:
        return ops.greedy(key, q)
    return exploration.select(key, q, None if visits is None else tables.row(visits, s), step)


def policy(exploration: Exploration, table: Table, s: Int[Array, ""]) -> Float[Array, " A"]:
    """Returns pi(. | s) of the behaviour policy."""
    counts = None if table.visits is None else tables.row(table.visits, s)
    return exploration.probabilities(tables.row(table.q, s), counts, table.step)


def count_visit(visits: Int[Array, "S A"] | None, s: Int[Array, ""], a: Int[Array, ""]) -> Int[Array, "S A"] | None:
    """Returns the visits with one more at [s, a], if they are counted."""
    return None if visits is None else tables.put(visits, s, a, counted(tables.entry(visits, s, a)))


def tick(table: Table, s: Int[Array, ""], a: Int[Array, ""], q: Float[Array, "S A"]) -> Table:
    """Returns the table after one update: new values, the visit counted, the step count moved on."""
    return Table(q, count_visit(table.visits, s, a), counted(table.step))


def next_choice(exploration: Exploration, table: Table, batch: Transition, key: PRNGKeyArray) -> Int[Array, ""]:
    """Draws A', the behaviour policy's action in the next state.

    It is drawn from the values before this step's update, as in the boxes of the textbook, but the step just taken
    counts: as a visit, and for the schedules.
    """
    return select(exploration, tick(table, batch.obs, batch.action, table.q), batch.next_obs, key)


def next_policy(exploration: Exploration, table: Table, batch: Transition) -> Float[Array, " A"]:
    """Returns pi(. | s'), which `next_choice` draws from."""
    return policy(exploration, tick(table, batch.obs, batch.action, table.q), batch.next_obs)


def keep_choice(next_action: Int[Array, ""], batch: Transition) -> Int[Array, ""]:
    """Keeps A' for the coming `act`; nothing where the episode ended, since another state will be seen then."""
    return jnp.where(batch.terminated | batch.truncated, NOT_CHOSEN, next_action)


def chosen(
    exploration: Exploration,
    table: Table,
    next_action: Int[Array, ""],
    s: Int[Array, ""],
    key: PRNGKeyArray,
    *,
    greedy: bool = False,
) -> Int[Array, ""]:
    """Returns the action chosen when the last step was learned; a new one at an episode's start, or if greedy."""
    fresh = select(exploration, table, s, key, greedy=greedy)
    return fresh if greedy else jnp.where(next_action == NOT_CHOSEN, fresh, next_action)


def mark_trace(kind: str, traces: Float[Array, "S A"], s: Int[Array, ""], a: Int[Array, ""]) -> Float[Array, "S A"]:
    """Returns the traces after a visit: one more ("accumulating") or exactly one ("replacing") at [s, a]."""
    one = jnp.float32(1.0)
    return tables.add(traces, s, a, one) if kind == "accumulating" else tables.put(traces, s, a, one)


def check_traces(lambda_: object, trace: object) -> None:
    """Checks what is special to eligibility traces."""
    check_number("lambda_", lambda_, low=0, high=1)
    check_choice("trace", trace, TRACES)


def check_tabular(learning_rate: object, discount: object, initial_value: object) -> None:
    """Checks the numbers that every tabular agent has."""
    check_schedule("learning_rate", learning_rate, low=0, high=1, open_low=True)
    check_number("discount", discount, low=0, high=1)
    check_finite("initial_value", initial_value)
