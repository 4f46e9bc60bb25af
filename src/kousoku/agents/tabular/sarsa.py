"""SARSA: on-policy temporal-difference control."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import tables
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import NOT_CHOSEN, Table, check_tabular, chosen, init_table, keep_choice, next_choice, tick


class SARSAState(eqx.Module):
    """The table, and the action that the next step will take.

    Attributes:
        table: action values.
        next_action: A', or `NOT_CHOSEN` at an episode's start.
    """

    table: Table
    next_action: Int[Array, ""]


class SARSA(TabularAgent):
    """Q(s, a) += alpha [r + gamma Q(s', a') - Q(s, a)], where a' is the action taken next.

    a' is drawn from the behaviour policy when the step is learned, and the next `act` takes that very action. The value
    of (s', a') counts as zero where the episode terminated, and only there: a truncated step bootstraps from the action
    that would have been taken.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy, which is also the one that is evaluated.
        initial_value: every Q(s, a) before the first update.

    Metrics: "td_error", the bracket above.

    References:
        Rummery and Niranjan, CUED/F-INFENG/TR 166 (1994). Sutton and Barto (2nd ed.), equation 6.7 and the box of
        section 6.4.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> SARSAState:
        return SARSAState(init_table("sarsa", spec, self.initial_value, self.exploration), jnp.int32(NOT_CHOSEN))

    def act(
        self, state: SARSAState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return chosen(self.exploration, state.table, state.next_action, obs, key, greedy=greedy), carry, None

    def update(
        self, state: SARSAState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[SARSAState, dict[str, Array]]:
        s, a, table = data.obs, data.action, state.table
        next_action = next_choice(self.exploration, table, data, key)
        next_value = jnp.where(data.terminated, 0.0, tables.entry(table.q, data.next_obs, next_action))
        td_error = data.reward + self.discount * next_value - tables.entry(table.q, s, a)
        q = tables.add(table.q, s, a, value_at(self.learning_rate, table.step) * td_error)
        return SARSAState(tick(table, s, a, q), keep_choice(next_action, data)), {"td_error": td_error}

    def give_up_episode(self, state: SARSAState) -> SARSAState:
        return SARSAState(state.table, jnp.int32(NOT_CHOSEN))

    def q_values(self, state: SARSAState) -> Float[Array, "S A"]:
        return state.table.q
