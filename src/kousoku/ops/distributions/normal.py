"""A normal distribution with a diagonal covariance."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .base import Distribution, Scalar

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Normal(Distribution):
    """p(a) = prod_i exp(-z_i^2 / 2) / (sqrt(2 pi) scale_i), z = (a - loc) / scale; an action is float32 [D].

    Actions are unbounded: an environment with a box clips them, and the learner keeps what was sampled, not what was
    clipped, so that the log-probability is that of the sample.

    Attributes:
        loc: the mean [D].
        scale: the standard deviation [D], above 0.

    References:
        Williams, Machine Learning 8 (1992), section 6; Kullback, Information Theory and Statistics (1959), chapter 9,
        for the divergence.

    Examples:
        >>> policy = Normal(jnp.zeros(2), jnp.ones(2))
        >>> round(float(policy.log_prob(jnp.zeros(2))), 4)  # -log(2 pi)
        -1.8379
    """

    loc: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    scale: Float[Array, " D"] = eqx.field(converter=jnp.asarray)

    def sample(self, key: PRNGKeyArray) -> Float[Array, " D"]:
        return self.loc + self.scale * jax.random.normal(key, self.loc.shape, self.loc.dtype)

    def log_prob(self, action: Float[Array, " D"]) -> Scalar:
        """Computes -sum_i [z_i^2 / 2 + log(scale_i) + log(2 pi) / 2]."""
        return jnp.sum(self.log_densities(action))

    def log_densities(self, action: Float[Array, " D"]) -> Float[Array, " D"]:
        """Returns the terms of `log_prob`, one for each component."""
        z = (action - self.loc) / self.scale
        return -0.5 * z * z - jnp.log(self.scale) - HALF_LOG_TWO_PI

    def entropy(self) -> Scalar:
        """Computes sum_i [log(scale_i) + log(2 pi e) / 2]."""
        return jnp.sum(jnp.log(self.scale) + (HALF_LOG_TWO_PI + 0.5))

    def mode(self) -> Float[Array, " D"]:
        """Returns the mean."""
        return self.loc

    def kl(self, other: Normal) -> Scalar:
        """Computes sum_i [(r_i^2 - 1) / 2 - log(r_i) + (loc_i - loc'_i)^2 / (2 scale'_i^2)], r = scale / scale'."""
        ratio = self.scale / other.scale
        shift = (self.loc - other.loc) / other.scale
        return jnp.sum(0.5 * (ratio - 1.0) * (ratio + 1.0) - jnp.log(ratio) + 0.5 * shift * shift)
