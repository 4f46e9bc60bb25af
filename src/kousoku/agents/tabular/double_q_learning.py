"""Double Q-learning: two tables, so that no estimate is both chosen and believed for being high."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import exploration as ops
from ...ops import tables
from ...ops.schedules import ScalarOrSchedule, counted, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import check_tabular, count_visit, no_visits, select_from, table_shape


class DoubleTable(eqx.Module):
    """Two estimates of every action's value.

    Attributes:
        q1, q2: the estimates.
        visits: how often each pair was taken, if the exploration counts visits; otherwise None.
        step: updates made.
    """

    q1: Float[Array, "S A"]
    q2: Float[Array, "S A"]
    visits: Int[Array, "S A"] | None
    step: Int[Array, ""]


class DoubleQLearning(TabularAgent):
    """Heads: Q1(s, a) += alpha [r + gamma Q2(s', argmax_b Q1(s', b)) - Q1(s, a)]; tails: the same, 1 and 2 exchanged.

    A fair coin decides at each step; ties of the argmax are broken at random. The behaviour policy reads the mean of
    the two tables, which is also what `q_values` tells.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q1(s, a) and Q2(s, a) before the first update.

    Metrics: "td_error", the bracket above.

    Differs from the textbook: the behaviour policy reads (Q1 + Q2) / 2 instead of the sum. Greedy actions are the same,
    and a softmax temperature means what it means to the other agents.

    References:
        Van Hasselt, Double Q-learning, NeurIPS (2010). Sutton and Barto (2nd ed.), equation 6.10 and the box of
        section 6.7.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> DoubleTable:
        shape = table_shape("double_q_learning", spec)
        first, second = (tables.filled(*shape, self.initial_value) for _ in range(2))
        return DoubleTable(first, second, no_visits(shape, self.exploration), jnp.int32(0))

    def act(
        self, state: DoubleTable, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        q = 0.5 * (tables.row(state.q1, obs) + tables.row(state.q2, obs))
        return select_from(self.exploration, q, state.visits, state.step, obs, key, greedy=greedy), carry, None

    def update(
        self, state: DoubleTable, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DoubleTable, dict[str, Array]]:
        s, a = data.obs, data.action
        coin, word = jax.random.bits(key, (2,), jnp.uint32)
        heads = ops.unit_interval(coin) < 0.5
        next_1, next_2 = tables.row(state.q1, data.next_obs), tables.row(state.q2, data.next_obs)
        best = ops.random_argmax(jnp.where(heads, next_1, next_2), word)
        next_value = jnp.where(data.terminated, 0.0, jnp.where(heads, next_2, next_1)[best])
        value = jnp.where(heads, tables.entry(state.q1, s, a), tables.entry(state.q2, s, a))
        td_error = data.reward + self.discount * next_value - value
        change = value_at(self.learning_rate, state.step) * td_error
        q1 = tables.add(state.q1, s, a, jnp.where(heads, change, 0.0))
        q2 = tables.add(state.q2, s, a, jnp.where(heads, 0.0, change))
        return DoubleTable(q1, q2, count_visit(state.visits, s, a), counted(state.step)), {"td_error": td_error}

    def adopt(self, fresh: DoubleTable, trained: DoubleTable) -> DoubleTable:
        """Takes over both tables."""
        return DoubleTable(trained.q1, trained.q2, fresh.visits, fresh.step)

    def q_values(self, state: DoubleTable) -> Float[Array, "S A"]:
        return jnp.stack([state.q1, state.q2]).mean(axis=0)
