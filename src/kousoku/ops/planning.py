"""The Bellman operators of an exact model: unbatched maths of one table.

Values are kept as a pair, v + rest, where `rest` is what float32 had to round off. With it, and with the backup
written as an advantage (below), sweeps settle within a few units in the last place of the exact solution; written the
plain way, float32 sweeps stop short of it by up to 1e-7 / (1 - gamma) of its size.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..core.model import TabularModel

ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""What rounding can do to a sum of a few terms, relative to the sum of their sizes."""


class Values(eqx.Module):
    """State values to more than float32: v + rest.

    Attributes:
        v: the values, rounded to float32.
        rest: what the rounding left over.
    """

    v: Float[Array, " S"]
    rest: Float[Array, " S"]

    @staticmethod
    def zeros(states: int) -> Values:
        """Returns the values where every sweep begins."""
        return Values(jnp.zeros(states, jnp.float32), jnp.zeros(states, jnp.float32))

    def plus(self, change: Float[Array, " S"]) -> Values:
        """Returns the sum, its rounding error kept.

        References:
            Knuth, The Art of Computer Programming, volume 2, section 4.2.2, theorem B (TwoSum).
        """
        small = self.rest + change
        v = self.v + small
        shadow = v - self.v
        return Values(v, (self.v - (v - shadow)) + (small - shadow))

    def minus(self, other: Values) -> Float[Array, " S"]:
        """Returns the difference of two values that may be close to each other."""
        return (self.v - other.v) + (self.rest - other.rest)


def advantage(model: TabularModel, values: Values, discount: Float[Array, ""]) -> Float[Array, "S A"]:
    """Computes A(s, a) = sum_k p_k [r_k - (1 - gamma_k) v(s) + gamma_k (v(s'_k) - v(s))],
    gamma_k = gamma (1 - terminated_k).

    Equal to q(s, a) - v(s) of `expected_backup`, but free of its cancellation: close to the solution every term is as
    small as a reward, whereas q and v can be 1 / (1 - gamma) times larger.

    References:
        Puterman, Markov Decision Processes (1994), section 6.3: the operator B v = T v - v.
    """
    own, ahead = _terms(model, values, discount)
    return jnp.sum(jnp.asarray(model.probability, jnp.float32) * (own + ahead), axis=-1)


def rounding(model: TabularModel, values: Values, discount: Float[Array, ""]) -> Float[Array, "S A"]:
    """Bounds how far `advantage` may be from the truth because its terms are rounded."""
    own, ahead = _terms(model, values, discount)
    size = jnp.abs(jnp.asarray(model.reward, jnp.float32)) + jnp.abs(own) + jnp.abs(ahead)
    return ROUNDING * jnp.sum(jnp.asarray(model.probability, jnp.float32) * size, axis=-1)


def expected_backup(model: TabularModel, values: Values, discount: Float[Array, ""]) -> Float[Array, "S A"]:
    """Computes q(s, a) = sum_k p_k [r_k + gamma (1 - terminated_k) v(s'_k)].

    References:
        Sutton and Barto (2nd ed.), equations 4.6 and 4.10 (the bracket under the maximum).
    """
    return values.v[:, None] + (values.rest[:, None] + advantage(model, values, discount))


def residual(model: TabularModel, values: Values, discount: Float[Array, ""]) -> Float[Array, " S"]:
    """Computes max_a q(s, a) - v(s): how far each state is from Bellman's optimality equation.

    References:
        Sutton and Barto (2nd ed.), equation 3.19.
    """
    return jnp.max(advantage(model, values, discount), axis=-1)


def greedy(preferences: Float[Array, "S A"], error: Float[Array, "S A"]) -> Float[Array, "S A"]:
    """Computes pi(a | s): uniform over the actions that may be the best, where each preference is known up to an error.

    Spreading over ties matters where nothing is lost by dawdling (gamma = 1, no cost for a step): a single best action
    may lead round in circles for ever, while among all of them there is one that arrives.

    References:
        Sutton and Barto (2nd ed.), section 4.2, last paragraph (ties), and equation 4.9.
    """
    best = preferences + error >= jnp.max(preferences - error, axis=-1, keepdims=True)
    return best.astype(jnp.float32) / jnp.sum(best, axis=-1, keepdims=True, dtype=jnp.float32)


def terminal(model: TabularModel) -> Bool[np.ndarray, " S"]:
    """Finds states in which nothing happens any more: every outcome stays, ends the episode and gives no reward."""
    possible = np.asarray(model.probability) > 0
    stays = np.asarray(model.next_state) == np.arange(model.num_states)[:, None, None]
    idle = stays & np.asarray(model.terminated) & (np.asarray(model.reward) == 0)
    return np.all(idle | ~possible, axis=(1, 2))


def reachable(model: TabularModel) -> Bool[np.ndarray, " S"]:
    """Finds states that some policy visits from the start distribution and in which an action is still to be chosen.

    An outcome that terminates leads nowhere: the state it names counts only if an episode gets there alive.
    """
    goes_on = (np.asarray(model.probability) > 0) & ~np.asarray(model.terminated)
    successor = np.asarray(model.next_state)
    seen = np.asarray(model.start) > 0
    frontier = np.flatnonzero(seen)
    while frontier.size:
        ahead = np.unique(successor[frontier][goes_on[frontier]])
        frontier = ahead[~seen[ahead]]
        seen[frontier] = True
    return seen & ~terminal(model)


def ends(model: TabularModel) -> Bool[np.ndarray, " S"]:
    """Finds states from which some policy ends the episode, by a search backwards from where it may end.

    Each possible outcome is looked at once, however long the way is.
    """
    possible = np.asarray(model.probability) > 0
    found = np.any(possible & np.asarray(model.terminated), axis=(1, 2))
    successor = np.asarray(model.next_state)[possible]
    order = np.argsort(successor, kind="stable")
    predecessors = np.nonzero(possible)[0][order]
    first = np.searchsorted(successor[order], np.arange(model.num_states + 1))
    frontier = np.flatnonzero(found)
    while frontier.size:
        counts = first[frontier + 1] - first[frontier]
        rows = np.repeat(first[frontier + 1] - np.cumsum(counts), counts) + np.arange(counts.sum())
        before = np.unique(predecessors[rows])
        frontier = before[~found[before]]
        found[frontier] = True
    return found


def _terms(
    model: TabularModel, values: Values, discount: Float[Array, ""]
) -> tuple[Float[Array, "S A K"], Float[Array, "S A K"]]:
    """Computes (r - (1 - gamma) v(s), gamma (v(s') - v(s))) of each outcome."""
    reward = jnp.asarray(model.reward, jnp.float32)
    gamma = jnp.where(jnp.asarray(model.terminated), 0.0, discount)
    successor = jnp.asarray(model.next_state, jnp.int32)
    v, rest = values.v[:, None, None], values.rest[:, None, None]
    ahead = (values.v[successor] - v) + (values.rest[successor] - rest)
    return (reward - (1.0 - gamma) * v) - (1.0 - gamma) * rest, gamma * ahead
