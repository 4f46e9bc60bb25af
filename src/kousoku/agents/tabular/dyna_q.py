"""Dyna-Q: Q-learning from real experience, and from a model learned on the way."""

from __future__ import annotations

from functools import partial

import equinox as eqx
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ...core.env import EnvSpec
from ...core.errors import check_count
from ...core.timestep import Transition
from ...ops import tables
from ...ops.exploration import pick
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, check_tabular, init_table, select, tick
from .model_memory import (
    ModelMemory,
    Outcome,
    empty_memory,
    planning_words,
    recall,
    remember,
    taken,
    td_error,
    visited_state,
)


class DynaState(eqx.Module):
    """The action values and the learned model."""

    table: Table
    memory: ModelMemory


class DynaQ(TabularAgent):
    """Q-learning on every real step, then n times on a pair observed before and what the model says follows it.

    (a)-(d) Q(S, A) += alpha [R + gamma max_a Q(S', a) - Q(S, A)], (e) Model(S, A) <- R, S', (f) repeat n times:
    S <- a state observed before, A <- an action taken in it before, R, S' <- Model(S, A), the same update.

    The textbook's model is deterministic. With `outcomes` above 1 it keeps that many different outcomes of each pair
    with their counts and draws one in proportion, so that the values are right where the environment is random, too.

    Attributes:
        planning_steps: planning steps n after each real step; 0 is Q-learning.
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the count of real steps.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.
        outcomes: different outcomes that the model keeps of each state and action.

    Metrics: "td_error" of the real step.

    References:
        Sutton, Integrated architectures for learning, planning, and reacting (ICML 1990). Sutton and Barto (2nd ed.),
        the box "Tabular Dyna-Q" of section 8.2.
    """

    planning_steps: int = eqx.field(
        static=True, default=10, converter=partial(check_count, "planning_steps", low=0, high=1 << 20)
    )
    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    outcomes: int = eqx.field(static=True, default=1, converter=partial(check_count, "outcomes"))

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> DynaState:
        table = init_table("dyna_q", spec, self.initial_value, self.exploration)
        return DynaState(table, empty_memory("dyna_q", spec, self.outcomes))

    def act(
        self, state: DynaState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: DynaState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DynaState, dict[str, Array]]:
        memory_word, plan_words = planning_words(key, self.planning_steps)
        alpha = value_at(self.learning_rate, state.table.step)
        s, a = data.obs, data.action
        error = td_error(state.table.q, s, a, Outcome(data.reward, data.terminated, data.next_obs), self.discount)
        q = tables.add(state.table.q, s, a, alpha * error)
        memory = remember(state.memory, data, memory_word)

        def plan(q: Float[Array, "S A"], words: UInt32[Array, " 3"]) -> tuple[Float[Array, "S A"], None]:
            s = visited_state(memory, words[0])
            a = pick(taken(memory, s), words[1])
            outcome = recall(memory, s, a, words[2])
            return tables.add(q, s, a, alpha * td_error(q, s, a, outcome, self.discount)), None

        q, _ = lax.scan(plan, q, plan_words)
        return DynaState(tick(state.table, s, a, q), memory), {"td_error": error}

    def q_values(self, state: DynaState) -> Float[Array, "S A"]:
        return state.table.q
