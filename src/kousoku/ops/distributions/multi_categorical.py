"""Several independent choices at once."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.errors import ConfigError
from .base import Distribution, Scalar
from .categorical import Categorical


class MultiCategorical(Distribution):
    """p(a) = prod_i p_i(a_i), each p_i a `Categorical`; an action is int32 [D].

    Attributes:
        logits: those of all D choices after one another, [sum of sizes]; finite or -inf, of each choice one finite.
        sizes: how many actions each choice has; static.

    Raises:
        ConfigError: if the sizes do not add up to the number of logits.

    Examples:
        >>> policy = MultiCategorical(jnp.array([0.0, 1.0, 2.0, 0.0, 0.0]), sizes=(2, 3))
        >>> policy.mode().tolist()
        [1, 0]
    """

    logits: Float[Array, " L"] = eqx.field(converter=jnp.asarray)
    sizes: tuple[int, ...] = eqx.field(static=True, converter=tuple)

    def __check_init__(self) -> None:
        if min(self.sizes, default=0) < 1 or sum(self.sizes) != self.logits.shape[0]:
            fix = f"use sizes of at least 1 that add up to the {self.logits.shape[0]} logits"
            raise ConfigError("MultiCategorical.sizes", self.sizes, fix)

    def choices(self) -> list[Categorical]:
        """Returns the D distributions of one choice each."""
        ends = [sum(self.sizes[: i + 1]) for i in range(len(self.sizes))]
        return [Categorical(self.logits[end - n : end]) for n, end in zip(self.sizes, ends, strict=True)]

    def sample(self, key: PRNGKeyArray) -> Int[Array, " D"]:
        keys = jax.random.split(key, len(self.sizes))
        return jnp.stack([choice.sample(k) for choice, k in zip(self.choices(), keys, strict=True)])

    def log_prob(self, action: Int[Array, " D"]) -> Scalar:
        """Computes sum_i log p_i(a_i)."""
        return _total([choice.log_prob(action[i]) for i, choice in enumerate(self.choices())])

    def entropy(self) -> Scalar:
        """Returns the sum of the choices' entropies: they are independent."""
        return _total([choice.entropy() for choice in self.choices()])

    def mode(self) -> Int[Array, " D"]:
        """Returns each choice's most probable action."""
        return jnp.stack([choice.mode() for choice in self.choices()])

    def kl(self, other: MultiCategorical) -> Scalar:
        """Returns the sum of the choices' divergences."""
        return _total([p.kl(q) for p, q in zip(self.choices(), other.choices(), strict=True)])


def _total(terms: list[Scalar]) -> Scalar:
    return jnp.sum(jnp.stack(terms))
