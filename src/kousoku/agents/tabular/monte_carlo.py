"""Monte Carlo control: learning from whole returns."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import EnvSpec
from ...core.errors import check_choice
from ...core.timestep import Transition
from ...ops import tables
from ...ops.long_sums import add, add_with_rest
from ...ops.schedules import ScalarOrSchedule, value_at
from ..exploration import EpsilonGreedy, Exploration
from .agent import TabularAgent
from .common import Table, adopt_table, check_tabular, init_table, next_policy, select, tick


class MonteCarloState(eqx.Module):
    """The values that the policy reads, and those that this episode is going to leave.

    Attributes:
        table: action values as the last episode left them.
        learned: what they become if the episode gives no further reward.
        weight: the part of a coming reward that belongs into each pair's value.
        returns: N(s, a), returns averaged so far, those of this episode among them; None with a learning rate.
        rest: what rounding took away from these averages, in `learned`; None with a learning rate.
        seen_in: the last episode that each pair was counted in; None where every visit counts.
        episode: the number of this episode.
        episode_visits: how often each pair was visited in it, where every visit counts for a mean; None elsewhere.
    """

    table: Table
    learned: Float[Array, "S A"]
    weight: Float[Array, "S A"]
    returns: Int[Array, "S A"] | None
    rest: Float[Array, "S A"] | None
    seen_in: Int[Array, "S A"] | None
    episode: Int[Array, ""]
    episode_visits: Int[Array, "S A"] | None


class MonteCarlo(TabularAgent):
    """Q(s, a) += alpha [G - Q(s, a)] after the episode, for each visit, G = r_(t+1) + gamma r_(t+2) + ... to its end.

    alpha is 1 / N(s, a), so that Q is the mean of the returns seen, or `learning_rate`. Q, and with it the policy,
    stays as it is during an episode. A terminated episode adds nothing to G; a truncated one adds the discounted
    expected value of the state it was cut in, under the behaviour policy, as if the value were one more reward.
    An update costs the whole table.

    Attributes:
        learning_rate: step size alpha, in (0, 1], a number or a schedule of the step count; None for 1 / N(s, a).
        discount: discount factor gamma, in [0, 1].
        exploration: the behaviour policy, which is also the one that is evaluated.
        initial_value: every Q(s, a) before its first return.
        visit: "first" to count the first visit of a pair in an episode, "every" to count all.

    Metrics: "td_error", r + gamma sum_b pi(b | s') Q(s', b) - Q(s, a): not what this agent learns from, but the error
    of the current pair that can be compared with the other agents'.

    Differs from the textbook: no episode is stored and no pass goes backwards. When a visit is counted, Q(s, a) keeps
    1 - alpha of itself, and `weight`, which fades by gamma at each step, says how much of every coming reward to add.
    The numbers are the textbook's. Repeated visits in one episode count oldest first, which matters only with a
    learning rate. The textbook knows no truncation.

    References:
        Sutton and Barto (2nd ed.), the box of section 5.4 and equation 6.1; section 12.6 (Dutch traces in Monte Carlo
        learning) for the forward form. Van Hasselt and Sutton, Learning to predict independent of span,
        arXiv:1508.04582.
    """

    learning_rate: ScalarOrSchedule | None = None
    discount: float | Float[Array, ""] = 0.99
    exploration: Exploration = EpsilonGreedy()
    initial_value: float | Float[Array, ""] = 0.0
    visit: str = eqx.field(static=True, default="first")

    def __check_init__(self) -> None:
        check_tabular(1.0 if self.learning_rate is None else self.learning_rate, self.discount, self.initial_value)
        check_choice("visit", self.visit, ("first", "every"))

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> MonteCarloState:
        table = init_table("monte_carlo", spec, self.initial_value, self.exploration)
        zeros = jnp.zeros_like(table.q, jnp.int32)
        return MonteCarloState(
            table=table,
            learned=table.q,
            weight=jnp.zeros_like(table.q),
            returns=zeros if self.learning_rate is None else None,
            rest=jnp.zeros_like(table.q) if self.learning_rate is None else None,
            seen_in=zeros if self.visit == "first" else None,
            episode=jnp.int32(1),
            episode_visits=zeros if self.visit == "every" and self.learning_rate is None else None,
        )

    def act(
        self, state: MonteCarloState, obs: Int[Array, ""], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[Int[Array, ""], tuple[()], None]:
        return select(self.exploration, state.table, obs, key, greedy=greedy), carry, None

    def update(
        self, state: MonteCarloState, data: Transition, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[MonteCarloState, dict[str, Array]]:
        s, a, table, ended = data.obs, data.action, state.table, data.terminated | data.truncated
        pi = next_policy(self.exploration, table, data)
        next_value = jnp.where(data.terminated, 0.0, jnp.sum(pi * tables.row(table.q, data.next_obs)))
        state = self._visited(state, s, a)
        gain = data.reward + jnp.where(data.truncated, self.discount * next_value, 0.0)
        learned, rest = add(state.learned, state.rest, state.weight * gain)
        weight = jnp.where(ended, 0.0, self.discount * state.weight)
        q = jnp.where(ended, learned, table.q)
        episode = state.episode + ended.astype(jnp.int32)
        visits = None if state.episode_visits is None else jnp.where(ended, 0, state.episode_visits)
        td_error = data.reward + self.discount * next_value - tables.entry(table.q, s, a)
        table = tick(table, s, a, q)
        after = MonteCarloState(table, learned, weight, state.returns, rest, state.seen_in, episode, visits)
        return after, {"td_error": td_error}

    def adopt(self, fresh: MonteCarloState, trained: MonteCarloState) -> MonteCarloState:
        """Takes over the action values as the last whole episode left them, with the counts that means rest on.

        Where returns were not counted, a mean begins as if nothing had been learned.
        """
        table = adopt_table(fresh.table, trained.table)
        counted_before = fresh.returns is not None and trained.returns is not None
        returns = self.give_up_episode(trained).returns if counted_before else fresh.returns
        return MonteCarloState(
            table, table.q, fresh.weight, returns, fresh.rest, fresh.seen_in, fresh.episode, fresh.episode_visits
        )

    def give_up_episode(self, state: MonteCarloState) -> MonteCarloState:
        """Takes back the visits of an episode that has no return, and what they did to the values."""
        returns, visits = state.returns, state.episode_visits
        if returns is not None and state.seen_in is not None:
            returns -= (state.seen_in == state.episode).astype(jnp.int32)
        if returns is not None and visits is not None:
            returns, visits = returns - visits, jnp.zeros_like(visits)
        nothing, episode = jnp.zeros_like(state.weight), state.episode + 1
        rest = None if state.rest is None else nothing
        return MonteCarloState(state.table, state.table.q, nothing, returns, rest, state.seen_in, episode, visits)

    def q_values(self, state: MonteCarloState) -> Float[Array, "S A"]:
        return state.table.q

    def _visited(self, state: MonteCarloState, s: Int[Array, ""], a: Int[Array, ""]) -> MonteCarloState:
        """Applies Q <- (1 - alpha) Q + alpha G, where G is still to come: Q fades, coming rewards enter with alpha."""
        seen_in, visits, returns, counts = state.seen_in, state.episode_visits, state.returns, jnp.array(True)
        if seen_in is not None:
            counts = tables.entry(seen_in, s, a) != state.episode
            seen_in = tables.put(seen_in, s, a, state.episode)
        if visits is not None:
            visits = tables.add(visits, s, a, jnp.int32(1))
        if returns is not None:
            returns = tables.add(returns, s, a, counts)
            step_size = 1.0 / jnp.maximum(tables.entry(returns, s, a), 1).astype(jnp.float32)
        else:
            assert self.learning_rate is not None
            step_size = value_at(self.learning_rate, state.table.step)
        alpha, learned, rest = jnp.where(counts, step_size, 0.0), tables.entry(state.learned, s, a), state.rest
        if rest is None:
            learned *= 1.0 - alpha
        else:
            left = tables.entry(rest, s, a)
            learned, left = add_with_rest(learned, left, -alpha * (learned + left))
            rest = tables.put(rest, s, a, left)
        learned = tables.put(state.learned, s, a, learned)
        weight = tables.put(state.weight, s, a, (1.0 - alpha) * tables.entry(state.weight, s, a) + alpha)
        return MonteCarloState(state.table, learned, weight, returns, rest, seen_in, state.episode, visits)
