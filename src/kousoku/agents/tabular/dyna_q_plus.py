"""Dyna-Q+: Dyna-Q that is curious about what it has not tried for long."""

from __future__ import annotations

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ...core.env import EnvSpec
from ...core.errors import check_count, check_number
from ...core.timestep import Transition
from ...ops import tables
from ...ops.exploration import index_of
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
    td_error,
    visited_state,
)


class DynaPlusState(eqx.Module):
    """The action values, the learned model, and when each pair was last tried.

    Attributes:
        last_tried: number of the real step at which the pair was last taken, counted from 1; 0 if it never was.
    """

    table: Table
    memory: ModelMemory
    last_tried: Int[Array, "S A"]


class DynaQPlus(TabularAgent):
    """Dyna-Q whose planning adds a bonus to the reward of what was not tried for long: R + kappa sqrt(tau).

    tau is the number of real steps since the pair was last taken; for a pair never taken, since the beginning. Every
    action of a visited state may be planned with; one never taken is modelled as leading back to the same state with
    reward 0. The bonus enters the values, not the model, and only in planning.

    Attributes:
        planning_steps: planning steps n after each real step.
        kappa: weight kappa of the exploration bonus, at least 0.
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the count of real steps.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.
        outcomes: different outcomes that the model keeps of each state and action; 1 is the textbook's deterministic
            model.

    Metrics: "td_error" of the real step.

    References:
        Sutton, Integrated architectures for learning, planning, and reacting (ICML 1990). Sutton and Barto (2nd ed.),
        section 8.3 and its footnote 1.
    """

    planning_steps: int = eqx.field(
        static=True, default=10, converter=partial(check_count, "planning_steps", low=0, high=1 << 20)
    )
    kappa: float | Float[Array, ""] = 1e-4
    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    outcomes: int = eqx.field(static=True, default=1, converter=partial(check_count, "outcomes"))

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)
        check_number("kappa", self.kappa, low=0, open_high=True)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> DynaPlusState:
        table = init_table("dyna_q_plus", spec, self.initial_value, self.exploration)
        memory = empty_memory("dyna_q_plus", spec, self.outcomes)
        return DynaPlusState(table, memory, jnp.zeros(table.q.shape, jnp.int32))

    def act(
        self, state: DynaPlusState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: DynaPlusState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[DynaPlusState, dict[str, Array]]:
        memory_word, plan_words = planning_words(key, self.planning_steps)
        alpha = value_at(self.learning_rate, state.table.step)
        s, a = data.obs, data.action
        error = td_error(state.table.q, s, a, Outcome(data.reward, data.terminated, data.next_obs), self.discount)
        table = tick(state.table, s, a, tables.add(state.table.q, s, a, alpha * error))
        memory = remember(state.memory, data, memory_word)
        last_tried = tables.put(state.last_tried, s, a, table.step)

        def plan(q: Float[Array, "S A"], words: UInt32[Array, " 3"]) -> tuple[Float[Array, "S A"], None]:
            s = visited_state(memory, words[0])
            a = index_of(words[1], jnp.int32(q.shape[1]), q.shape[1])
            tau = table.step - tables.entry(last_tried, s, a)
            bonus = self.kappa * jnp.sqrt(tau.astype(jnp.float32))
            outcome = recall(memory, s, a, words[2])
            return tables.add(q, s, a, alpha * (bonus + td_error(q, s, a, outcome, self.discount))), None

        q, _ = lax.scan(plan, table.q, plan_words)
        return DynaPlusState(Table(q, table.visits, table.step), memory, last_tried), {"td_error": error}

    def q_values(self, state: DynaPlusState) -> Float[Array, "S A"]:
        return state.table.q
