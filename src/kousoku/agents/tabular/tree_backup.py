"""n-step tree backup: off-policy learning over n steps without importance sampling."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.timestep import Transition
from ...ops import tables
from ...ops.exploration import greedy_probabilities
from ...ops.returns import tree_backup_returns
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, check_tabular, init_table, select, tick
from .window import Window, closed, due, empty_window, learn, push, steps_field


class TreeBackupState(eqx.Module):
    """The table, and the steps that wait for their return.

    Attributes:
        table: action values.
        window: the last n steps.
    """

    table: Table
    window: Window


class TreeBackup(TabularAgent):
    """Q(s_t, a_t) += alpha [G_(t:t+n) - Q(s_t, a_t)]: actions not taken are valued by Q, the one taken by its return.

        G_(t:t+n) = r_(t+1) + gamma [sum over b != a' of pi(b | s') Q(s', b) + pi(a' | s') G_(t+1:t+n)]
        G_(t:t+1) = r_(t+1) + gamma sum_b pi(b | s') Q(s', b)

    with s' = s_(t+1), a' = a_(t+1) and the greedy policy as pi: the values tend to the optimal ones whatever the
    behaviour. With n = 1 this is Q-learning.

    A pair is updated n steps after its visit, and at an episode's end every pair that still waits, oldest first. The
    value of the last state counts as zero where the episode terminated, and only there. An update costs n table rows
    at every step.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count.
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy.
        initial_value: every Q(s, a) before the first update.
        n: steps until a return bootstraps from all actions.

    Metrics: "td_error", the bracket above; its mean where an episode's end makes several updates, 0 where none is made.

    Differs from the textbook: the updates at an episode's end use returns computed from the values before the first of
    them; the textbook computes each return after the update before it.

    References:
        Precup, Sutton and Singh, Eligibility traces for off-policy policy evaluation, ICML (2000). Sutton and Barto
        (2nd ed.), equations 7.15 and 7.16 and the box of section 7.5.
    """

    learning_rate: ScalarOrSchedule = 0.1
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    n: int = steps_field(4)

    def __check_init__(self) -> None:
        check_tabular(self.learning_rate, self.discount, self.initial_value)

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> TreeBackupState:
        table = init_table("tree_backup", spec, self.initial_value, self.exploration)
        return TreeBackupState(table, empty_window(self.n))

    def act(
        self, state: TreeBackupState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: TreeBackupState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[TreeBackupState, dict[str, Array]]:
        table, window, ended = state.table, push(state.window, data), data.terminated | data.truncated
        q = jax.vmap(tables.row, in_axes=(None, 0))(table.q, window.obs)
        pi = jax.vmap(greedy_probabilities)(q)
        next_value = jnp.where(data.terminated, 0.0, jnp.max(tables.row(table.q, data.next_obs)))
        returns = tree_backup_returns(window.reward, window.action, q, pi, next_value, self.discount)
        q, td_error = learn(table.q, window, returns, due(window, ended), value_at(self.learning_rate, table.step))
        return TreeBackupState(tick(table, data.obs, data.action, q), closed(window, ended)), {"td_error": td_error}

    def give_up_episode(self, state: TreeBackupState) -> TreeBackupState:
        return TreeBackupState(state.table, empty_window(self.n))

    def q_values(self, state: TreeBackupState) -> Float[Array, "S A"]:
        return state.table.q
