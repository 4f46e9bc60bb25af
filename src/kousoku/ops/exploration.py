"""Exploration: an action from action values, by unbatched functions of one state's row.

Each takes the key of this decision and uses every random bit once: the coin that decides whether to explore and the
word that picks the action come from separate 32-bit draws.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

ActionValues = Float[Array, " A"]
Action = Int[Array, ""]


def unit_interval(word: UInt32[Array, "*n"]) -> Float[Array, "*n"]:
    """Returns a float32 in [0, 1) from the upper 24 bits of a word: every value exactly representable."""
    return (word >> jnp.uint32(8)).astype(jnp.float32) * jnp.float32(2.0**-24)


def uniform_index(word: UInt32[Array, ""], n: Int[Array, ""] | int) -> Action:
    """Returns an index in 0 .. n-1, n < 2**16: floor(word * n / 2**32), whose bias is below n / 2**32."""
    n = jnp.asarray(n).astype(jnp.uint32)
    high, low = word >> jnp.uint32(16), word & jnp.uint32(0xFFFF)
    return ((high * n + (low * n >> jnp.uint32(16))) >> jnp.uint32(16)).astype(jnp.int32)


def index_below(word: UInt32[Array, ""], n: Int[Array, ""]) -> Action:
    """Returns an index in 0 .. n-1 for any n: floor(word * n / 2**32), the upper half of a 64-bit product.

    `uniform_index` does the same for n < 2**16 with half the work.
    """
    n = n.astype(jnp.uint32)
    half, low = jnp.uint32(16), jnp.uint32(0xFFFF)
    word_high, word_low, n_high, n_low = word >> half, word & low, n >> half, n & low
    middle = word_high * n_low + (word_low * n_low >> half)
    return (word_high * n_high + (middle >> half) + ((word_low * n_high + (middle & low)) >> half)).astype(jnp.int32)


def index_of(word: UInt32[Array, ""], n: Int[Array, ""], most: int) -> Action:
    """Returns an index in 0 .. n-1, where n is known to be at most `most`."""
    return uniform_index(word, n) if most < 1 << 16 else index_below(word, n)


def pick(mask: Array, word: UInt32[Array, ""]) -> Action:
    """Picks one of the positions where `mask` is true, each with the same probability."""
    mask = mask.astype(jnp.int32)
    k = index_of(word, jnp.sum(mask, dtype=jnp.int32), mask.shape[0])
    return jnp.sum(jnp.cumsum(mask, dtype=jnp.int32) <= k, dtype=jnp.int32)


def is_greedy(q: ActionValues) -> Array:
    """Tells which actions have the maximal value; NaN counts as the lowest value."""
    q = jnp.where(jnp.isnan(q), -jnp.inf, q)
    return q == jnp.max(q)


def random_argmax(q: ActionValues, word: UInt32[Array, ""]) -> Action:
    """Picks an action of maximal value; ties are broken uniformly at random. NaN counts as the lowest value."""
    return pick(is_greedy(q), word)


def greedy(key: PRNGKeyArray, q: ActionValues) -> Action:
    """Picks argmax_a q(a), ties broken uniformly."""
    return random_argmax(q, jax.random.bits(key, (), jnp.uint32))


def epsilon_greedy(key: PRNGKeyArray, q: ActionValues, epsilon: Float[Array, ""] | float) -> Action:
    """Picks any action with probability epsilon, otherwise a greedy one; never one of value -inf beside others.

    References:
        Sutton and Barto (2nd ed.), section 2.2.

    Examples:
        >>> int(epsilon_greedy(jax.random.key(0), jnp.array([0.0, 1.0, 0.5]), 0.0))
        1
    """
    coin, word = jax.random.bits(key, (2,), jnp.uint32)
    explore = unit_interval(coin) < epsilon
    return pick((explore & (q != -jnp.inf)) | is_greedy(q), word)


def softmax(key: PRNGKeyArray, q: ActionValues, temperature: Float[Array, ""] | float) -> Action:
    """Picks an action with probability proportional to exp(q / temperature).

    References:
        Sutton and Barto (2nd ed.), equation 2.11.
    """
    return jax.random.categorical(key, softmax_logits(q, temperature)).astype(jnp.int32)


def upper_confidence_values(q: ActionValues, counts: Int[Array, " A"], c: Float[Array, ""] | float) -> ActionValues:
    """Computes q(a) + c sqrt(ln t / N(a)), t = sum of N; infinite for an action never taken.

    References:
        Sutton and Barto (2nd ed.), equation 2.10.
    """
    total = jnp.maximum(jnp.sum(counts), 1).astype(jnp.float32)
    bonus = c * jnp.sqrt(jnp.log(total) / jnp.maximum(counts, 1).astype(jnp.float32))
    return jnp.where(counts == 0, jnp.inf, q + bonus)


def upper_confidence_bound(
    key: PRNGKeyArray, q: ActionValues, counts: Int[Array, " A"], c: Float[Array, ""] | float
) -> Action:
    """Picks an action of maximal upper confidence value; actions never taken come first, ties at random."""
    return greedy(key, upper_confidence_values(q, counts, c))


def greedy_probabilities(q: ActionValues) -> Float[Array, " A"]:
    """Computes pi(a): uniform over the actions of maximal value."""
    best = is_greedy(q).astype(jnp.float32)
    return best / jnp.sum(best)


def upper_confidence_probabilities(
    q: ActionValues, counts: Int[Array, " A"], c: Float[Array, ""] | float
) -> Float[Array, " A"]:
    """Computes pi(a) of `upper_confidence_bound`: uniform over its maximisers."""
    return greedy_probabilities(upper_confidence_values(q, counts, c))


def epsilon_greedy_probabilities(q: ActionValues, epsilon: Float[Array, ""] | float) -> Float[Array, " A"]:
    """Computes pi(a): epsilon spread over all actions, the rest over the greedy ones."""
    return epsilon / q.shape[0] + (1.0 - epsilon) * greedy_probabilities(q)


def softmax_probabilities(q: ActionValues, temperature: Float[Array, ""] | float) -> Float[Array, " A"]:
    """Computes pi(a) = exp(q(a)/T) / sum_b exp(q(b)/T), finite for any finite q; see `softmax_logits` for T = 0."""
    return jax.nn.softmax(softmax_logits(q, temperature))


def softmax_logits(q: ActionValues, temperature: Float[Array, ""] | float) -> ActionValues:
    """Computes (q(a) - max_b q(b)) / T: the policy of q / T, but neither overflow nor rounding at the best action.

    Where T is 0, or so small that processors take it for 0, it is the limit: all actions of maximal value are equally
    likely, all others are not taken.
    """
    below = q - jnp.max(q)
    vanishes = temperature < jnp.finfo(jnp.float32).tiny
    limit = vanishes | jnp.isneginf(below)  # what may not be taken is not taken at an infinite temperature either
    return jnp.where(limit, jnp.where(below < 0, -jnp.inf, below), below / jnp.where(vanishes, 1.0, temperature))
