"""Prioritised sweeping: planning where it changes most."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import check_count, check_number
from ...core.timestep import Transition
from ...ops import tables
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, check_tabular, init_table, select, tick
from .model_memory import ModelMemory, Outcome, empty_memory, recall, remember, td_error


class SweepingState(eqx.Module):
    """The action values, the learned model, and the queue.

    Attributes:
        priority: size of the change that a backup of each pair would make; 0 if it is not in the queue.
    """

    table: Table
    memory: ModelMemory
    priority: Float[Array, " SA"]


class PrioritizedSweeping(TabularAgent):
    """Backups of the learned model in order of how much they change, working backwards from surprises.

    (d) Model(S, A) <- R, S'. (e) P <- |R + gamma max_a Q(S', a) - Q(S, A)|. (f) If P > theta, queue S, A with priority
    P. (g) Up to n times, while the queue is not empty: S, A <- its first; Q(S, A) += alpha [R + gamma max_a Q(S', a) -
    Q(S, A)] with R, S' <- Model(S, A); every pair that the model says leads to S is queued likewise with its own P.

    The model is deterministic, as in the textbook: the last outcome of each pair. On a random environment the values
    follow what happened last; use Dyna-Q with `outcomes` there.

    Differs from the textbook: the queue is a table of priorities, whose largest entry is the first (ties: the lowest
    state and action), and predecessors are found by comparing the whole model with S. One backup costs O(S A).

    Attributes:
        planning_steps: backups n after each real step, at most.
        threshold: threshold theta of the priorities, at least 0: pairs whose values would change by less are not
            queued.
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the count of real steps; 1 suits a
            deterministic model.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.

    Metrics: "td_error" of the real step, "backups" made after it.

    References:
        Moore and Atkeson, Machine Learning 13 (1993). Peng and Williams, Adaptive Behavior 1 (1993). Sutton and Barto
        (2nd ed.), the box of section 8.4.
    """

    planning_steps: int = eqx.field(
        static=True, default=10, converter=partial(check_count, "planning_steps", low=0, high=1 << 20)
    )
    threshold: float | Float[Array, ""] = 1e-4
    learning_rate: ScalarOrSchedule = 1.0
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)
        check_number("threshold", self.threshold, low=0, open_high=True)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> SweepingState:
        table = init_table("prioritized_sweeping", spec, self.initial_value, self.exploration)
        memory = empty_memory("prioritized_sweeping", spec)
        return SweepingState(table, memory, jnp.zeros(table.q.size, jnp.float32))

    def act(
        self, state: SweepingState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: SweepingState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[SweepingState, dict[str, Array]]:
        alpha = value_at(self.learning_rate, state.table.step)
        s, a = data.obs, data.action
        error = td_error(state.table.q, s, a, Outcome(data.reward, data.terminated, data.next_obs), self.discount)
        memory = remember(state.memory, data, jnp.uint32(0))
        pair = s * memory.num_actions + a
        priority = state.priority.at[pair].set(self._queued(state.priority[pair], error))

        def goes_on(carry: tuple[Int[Array, ""], Float[Array, "S A"], Float[Array, " SA"]]) -> Bool[Array, ""]:
            count, _, priority = carry
            return (count < self.planning_steps) & (jnp.max(priority) > 0)

        def backup(carry: tuple[Int[Array, ""], Float[Array, "S A"], Float[Array, " SA"]]) -> Any:
            count, q, priority = carry
            return count + 1, *self._backup(memory, q, priority, alpha)

        backups, q, priority = lax.while_loop(goes_on, backup, (jnp.int32(0), state.table.q, priority))
        metrics = {"td_error": error, "backups": backups}
        return SweepingState(tick(state.table, s, a, q), memory, priority), metrics

    def q_values(self, state: SweepingState) -> Float[Array, "S A"]:
        return state.table.q

    def _backup(
        self, memory: ModelMemory, q: Float[Array, "S A"], priority: Float[Array, " SA"], alpha: Float[Array, ""]
    ) -> tuple[Float[Array, "S A"], Float[Array, " SA"]]:
        """Backs up the first pair of the queue and queues what leads to its state."""
        first = jnp.argmax(priority).astype(jnp.int32)
        s, a = first // memory.num_actions, first % memory.num_actions
        q = tables.add(q, s, a, alpha * td_error(q, s, a, recall(memory, s, a, jnp.uint32(0)), self.discount))
        leads_here = (memory.count[:, 0] > 0) & (memory.packed[:, 0] == 2 * s)
        errors = memory.reward[:, 0] + self.discount * jnp.max(tables.row(q, s)) - q.reshape(-1)
        priority = priority.at[first].set(0.0)
        return q, jnp.where(leads_here, self._queued(priority, errors), priority)

    def _queued(self, priority: Float[Array, "*n"], error: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Returns the priority after an insertion: the higher one; what is not above the threshold is not queued."""
        size = jnp.abs(error)
        return jnp.where(size > self.threshold, jnp.maximum(priority, size), priority)
