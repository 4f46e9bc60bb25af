"""Q-learning: off-policy temporal-difference control."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import tables
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, check_tabular, init_table, select, tick


class QLearning(TabularAgent):
    """Q(s, a) += alpha [r + gamma max_b Q(s', b) - Q(s, a)].

    The value of s' counts as zero where the episode terminated, and only there: a truncated step bootstraps.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.

    Metrics: "td_error", the bracket above.

    References:
        Watkins, Learning from Delayed Rewards (1989). Sutton and Barto (2nd ed.), equation 6.8 and the box of
        section 6.5.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Table:
        return init_table("q_learning", spec, self.initial_value, self.exploration)

    def act(
        self, state: Table, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state, obs, key, greedy=greedy), carry, None

    def update(
        self, state: Table, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Table, dict[str, Array]]:
        s, a = data.obs, data.action
        next_value = jnp.where(data.terminated, 0.0, jnp.max(tables.row(state.q, data.next_obs)))
        td_error = data.reward + self.discount * next_value - tables.entry(state.q, s, a)
        q = tables.add(state.q, s, a, value_at(self.learning_rate, state.step) * td_error)
        return tick(state, s, a, q), {"td_error": td_error}

    def q_values(self, state: Table) -> Float[Array, "S A"]:
        return state.q
