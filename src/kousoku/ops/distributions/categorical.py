"""One of A actions."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .base import Distribution, Scalar


class Categorical(Distribution):
    """p(a) = exp(l_a) / sum_b exp(l_b), a in 0 .. A-1, as an int32 scalar.

    Attributes:
        logits: l [A], finite or -inf (an action that must not be taken); at least one is finite.

    References:
        Huang and Ontanon, A closer look at invalid action masking in policy gradient algorithms, arXiv:2006.14171.

    Examples:
        >>> policy = Categorical(jnp.array([0.0, -jnp.inf, 0.0]))
        >>> [round(float(policy.log_prob(jnp.int32(a))), 4) for a in range(3)]
        [-0.6931, -inf, -0.6931]
    """

    logits: Float[Array, " A"] = eqx.field(converter=jnp.asarray)

    def log_probs(self) -> Float[Array, " A"]:
        """Returns log p(a) of every action."""
        return jax.nn.log_softmax(self.logits)

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def log_prob(self, action: Int[Array, ""]) -> Scalar:
        """Returns log p(a), -inf for an action that is not there.

        A comparison with every index instead of indexing: its derivative is a product, not a scatter.
        """
        log_p = self.log_probs()
        chosen = jnp.arange(log_p.shape[0], dtype=action.dtype) == action
        return jnp.where(jnp.any(chosen), jnp.sum(jnp.where(chosen, log_p, 0.0)), -jnp.inf)

    def entropy(self) -> Scalar:
        """Computes -sum_a p log p, where 0 log 0 = 0."""
        log_p = self.log_probs()
        return -jnp.sum(jnp.exp(log_p) * jnp.where(jnp.isneginf(log_p), 0.0, log_p))

    def mode(self) -> Int[Array, ""]:
        """Returns the most probable action, the first of them in a tie."""
        return jnp.argmax(self.logits).astype(jnp.int32)

    def kl(self, other: Categorical) -> Scalar:
        """Computes sum_a p (log p - log q): infinite where `self` takes an action that `other` never takes."""
        log_p = self.log_probs()
        p = jnp.exp(log_p)
        return jnp.sum(p * jnp.where(p > 0, log_p - other.log_probs(), 0.0))
