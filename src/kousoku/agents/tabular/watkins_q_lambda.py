"""Watkins's Q(lambda): Q-learning with eligibility traces that exploration cuts."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import tables
from ...ops.exploration import is_greedy
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, check_tabular, check_traces, init_table, mark_trace, select, tick


class WatkinsState(eqx.Module):
    """The table, and how much of a coming error each pair takes.

    Attributes:
        table: action values.
        traces: e(s, a) as the last step of this episode left them; all 0 at its start.
    """

    table: Table
    traces: Float[Array, "S A"]


class WatkinsQLambda(TabularAgent):
    """Q += alpha [r + gamma max_b Q(s', b) - Q(s, a)] e, for all pairs at once.

    Before, e *= gamma lambda if the action is greedy and e = 0 if it is not; then e(s, a) += 1, or = 1 with replacing
    traces. So an error reaches back to the last exploring action and no further, since what follows is no longer the
    greedy policy's. An action that ties for the maximum is greedy. The value of s' counts as zero where the episode
    terminated, and only there; the traces are zero after any end of an episode. An update costs the whole table.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.
        lambda_: the decay of the traces, in [0, 1]; 0 is Q-learning.
        trace: kind of the traces, "accumulating" or "replacing".

    Metrics: "td_error", the bracket above.

    Differs from the textbook: the next action is chosen after the update, as in Q-learning, and judged greedy or not
    by the values that it was chosen from.

    References:
        Watkins, Learning from Delayed Rewards (1989). Sutton and Barto (1st ed.), section 7.6 and figure 7.14, section
        7.8 for replacing traces; (2nd ed.), section 12.10.
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

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> WatkinsState:
        table = init_table("watkins_q_lambda", spec, self.initial_value, self.exploration)
        return WatkinsState(table, jnp.zeros_like(table.q))

    def act(
        self, state: WatkinsState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: WatkinsState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[WatkinsState, dict[str, Array]]:
        s, a, table = data.obs, data.action, state.table
        was_greedy = is_greedy(tables.row(table.q, s))[a]
        decay = jnp.where(was_greedy, self.discount * self.lambda_, 0.0)
        traces = mark_trace(self.trace, decay * state.traces, s, a)
        next_value = jnp.where(data.terminated, 0.0, jnp.max(tables.row(table.q, data.next_obs)))
        td_error = data.reward + self.discount * next_value - tables.entry(table.q, s, a)
        q = table.q + value_at(self.learning_rate, table.step) * td_error * traces
        traces = jnp.where(data.terminated | data.truncated, 0.0, traces)
        return WatkinsState(tick(table, s, a, q), traces), {"td_error": td_error}

    def give_up_episode(self, state: WatkinsState) -> WatkinsState:
        return WatkinsState(state.table, jnp.zeros_like(state.traces))

    def q_values(self, state: WatkinsState) -> Float[Array, "S A"]:
        return state.table.q
