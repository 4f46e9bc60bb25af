"""SARSA(lambda): SARSA with eligibility traces."""

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
from .common import (
    NOT_CHOSEN,
    Table,
    check_tabular,
    check_traces,
    chosen,
    init_table,
    keep_choice,
    mark_trace,
    next_choice,
    tick,
)


class SARSALambdaState(eqx.Module):
    """The table, the action that the next step will take, and how much of a coming error each pair takes.

    Attributes:
        table: action values.
        next_action: A', or `NOT_CHOSEN` at an episode's start.
        traces: z(s, a) as the last step of this episode left them; all 0 at its start.
    """

    table: Table
    next_action: Int[Array, ""]
    traces: Float[Array, "S A"]


class SARSALambda(TabularAgent):
    """Q += alpha [r + gamma Q(s', a') - Q(s, a)] z, for all pairs at once, where a' is the action taken next.

    Before, z *= gamma lambda; then z(s, a) += 1, or = 1 with replacing traces. The value of (s', a') counts as zero
    where the episode terminated, and only there; the traces are zero after any end of an episode. An update costs the
    whole table.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy, which is also the one that is evaluated.
        initial_value: every Q(s, a) before the first update.
        lambda_: the decay of the traces, in [0, 1]; 0 is SARSA, 1 is Monte Carlo control learned as it happens.
        trace: kind of the traces, "accumulating" or "replacing".

    Metrics: "td_error", the bracket above.

    References:
        Rummery and Niranjan, CUED/F-INFENG/TR 166 (1994). Sutton and Barto (2nd ed.), section 12.7 and equations 12.5
        to 12.7 with one feature for each pair; (1st ed.), section 7.5 and figure 7.11.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    lambda_: float | Float[Array, ""] = 0.9
    trace: str = eqx.field(static=True, default="accumulating")

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)
        check_traces(self.lambda_, self.trace)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> SARSALambdaState:
        table = init_table("sarsa_lambda", spec, self.initial_value, self.exploration)
        return SARSALambdaState(table, jnp.int32(NOT_CHOSEN), jnp.zeros_like(table.q))

    def act(
        self, state: SARSALambdaState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return chosen(self.exploration, state.table, state.next_action, obs, key, greedy=greedy), carry, None

    def update(
        self, state: SARSALambdaState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[SARSALambdaState, dict[str, Array]]:
        s, a, table = data.obs, data.action, state.table
        traces = mark_trace(self.trace, self.discount * self.lambda_ * state.traces, s, a)
        next_action = next_choice(self.exploration, table, data, key)
        next_value = jnp.where(data.terminated, 0.0, tables.entry(table.q, data.next_obs, next_action))
        td_error = data.reward + self.discount * next_value - tables.entry(table.q, s, a)
        q = table.q + value_at(self.learning_rate, table.step) * td_error * traces
        traces = jnp.where(data.terminated | data.truncated, 0.0, traces)
        return SARSALambdaState(tick(table, s, a, q), keep_choice(next_action, data), traces), {"td_error": td_error}

    def give_up_episode(self, state: SARSALambdaState) -> SARSALambdaState:
        return SARSALambdaState(state.table, jnp.int32(NOT_CHOSEN), jnp.zeros_like(state.traces))

    def q_values(self, state: SARSALambdaState) -> Float[Array, "S A"]:
        return state.table.q
