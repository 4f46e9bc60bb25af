"""n-step SARSA: between SARSA (n = 1) and Monte Carlo control (n as long as an episode)."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import tables
from ...ops.returns import window_return
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import NOT_CHOSEN, Table, check_tabular, chosen, init_table, keep_choice, next_choice, tick
from .window import Window, closed, due, empty_window, learn, push, steps_field


class NStepSARSAState(eqx.Module):
    """The table, the action that the next step will take, and the steps that wait for their return.

    Attributes:
        table: action values.
        next_action: A', or `NOT_CHOSEN` at an episode's start.
        window: the last n steps.
    """

    table: Table
    next_action: Int[Array, ""]
    window: Window


class NStepSARSA(TabularAgent):
    """Q(s_t, a_t) += alpha [G - Q(s_t, a_t)], G = r_(t+1) + ... + gamma^(n-1) r_(t+n) + gamma^n Q(s_(t+n), a_(t+n)).

    A pair is updated n steps after its visit. At an episode's end every pair that still waits is updated, oldest first,
    with the rewards up to the end: a terminated episode adds nothing to them, a truncated one adds the discounted
    Q(s', a') of the action that would have been taken. An update costs n table entries at every step.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy, which is also the one that is evaluated.
        initial_value: every Q(s, a) before the first update.
        n: steps until a return bootstraps.

    Metrics: "td_error", the bracket above; its mean where an episode's end makes several updates, 0 where none is made.

    References:
        Sutton and Barto (2nd ed.), equations 7.4 and 7.5 and the box of section 7.2.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    n: int = steps_field(4)

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> NStepSARSAState:
        table = init_table("n_step_sarsa", spec, self.initial_value, self.exploration)
        return NStepSARSAState(table, jnp.int32(NOT_CHOSEN), empty_window(self.n))

    def act(
        self, state: NStepSARSAState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return chosen(self.exploration, state.table, state.next_action, obs, key, greedy=greedy), carry, None

    def update(
        self, state: NStepSARSAState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[NStepSARSAState, dict[str, Array]]:
        table, window, ended = state.table, push(state.window, data), data.terminated | data.truncated
        next_action = next_choice(self.exploration, table, data, key)
        next_value = jnp.where(data.terminated, 0.0, tables.entry(table.q, data.next_obs, next_action))
        returns = window_return(window.reward, next_value, self.discount)
        q, td_error = learn(table.q, window, returns, due(window, ended), value_at(self.learning_rate, table.step))
        table = tick(table, data.obs, data.action, q)
        return NStepSARSAState(table, keep_choice(next_action, data), closed(window, ended)), {"td_error": td_error}

    def give_up_episode(self, state: NStepSARSAState) -> NStepSARSAState:
        return NStepSARSAState(state.table, jnp.int32(NOT_CHOSEN), empty_window(self.n))

    def q_values(self, state: NStepSARSAState) -> Float[Array, "S A"]:
        return state.table.q
