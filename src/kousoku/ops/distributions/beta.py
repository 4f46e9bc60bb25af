"""A Beta distribution on a box."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, digamma
from jaxtyping import Array, Float, PRNGKeyArray

from .base import Distribution, Scalar

MARGIN = 2.0**-22
"""How near to an end of the box, as a share of it, `log_prob` looks: a float32 action on a box tells no more."""


class Beta(Distribution):
    """a = low + (high - low) x, p(x) = prod_i x_i^(alpha_i - 1) (1 - x_i)^(beta_i - 1) / B(alpha_i, beta_i).

    An action is float32 [D]. A policy is best given alpha, beta >= 1 (say 1 + softplus): the density then has one peak
    and is finite; below 1 it grows without bound at an end of the box, and `log_prob` stops at `MARGIN` from there.

    Attributes:
        alpha, beta: above 0, [D].
        low, high: the box, [D].

    References:
        Chou, Maturana and Scherer, Improving stochastic policy gradients in continuous control with deep reinforcement
        learning using the Beta distribution, ICML (2017), section 4. Entropy and divergence: Johnson, Kotz and
        Balakrishnan, Continuous Univariate Distributions 2 (1995), chapter 25.

    Examples:
        >>> policy = Beta(jnp.array([2.0]), jnp.array([2.0]), low=jnp.array([0.0]), high=jnp.array([1.0]))
        >>> round(float(jnp.exp(policy.log_prob(jnp.array([0.5])))), 4)  # 6 x (1 - x)
        1.5
    """

    alpha: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    beta: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    low: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    high: Float[Array, " D"] = eqx.field(converter=jnp.asarray)

    def sample(self, key: PRNGKeyArray) -> Float[Array, " D"]:
        return self._place(jax.random.beta(key, self.alpha, self.beta, self.alpha.shape, self.alpha.dtype))

    def log_prob(self, action: Float[Array, " D"]) -> Scalar:
        """Returns the log-density of an action of the box, finite at its ends; one outside of it counts as the nearest
        end.
        """
        x = jnp.clip((action - self.low) / self._width(), MARGIN, 1.0 - MARGIN)
        kernel = (self.alpha - 1.0) * jnp.log(x) + (self.beta - 1.0) * jnp.log1p(-x)
        return jnp.sum(kernel - betaln(self.alpha, self.beta) - jnp.log(self._width()))

    def entropy(self) -> Scalar:
        """Computes log B(alpha, beta) - (alpha - 1) E[log x] - (beta - 1) E[log(1 - x)] + log(high - low), summed."""
        log_x, log_rest = self._mean_logs()
        kernel = (self.alpha - 1.0) * log_x + (self.beta - 1.0) * log_rest
        return jnp.sum(betaln(self.alpha, self.beta) - kernel + jnp.log(self._width()))

    def mode(self) -> Float[Array, " D"]:
        """Returns the peak of the density; the mean where neither alpha nor beta is above 1."""
        a, b = jnp.maximum(self.alpha - 1.0, 0.0), jnp.maximum(self.beta - 1.0, 0.0)
        peaked = a + b > 0
        mean = self.alpha / (self.alpha + self.beta)
        return self._place(jnp.where(peaked, a / jnp.where(peaked, a + b, 1.0), mean))

    def kl(self, other: Beta) -> Scalar:
        """Computes log B' - log B + (alpha - alpha') E[log x] + (beta - beta') E[log(1 - x)], summed. Both have the
        same box.
        """
        log_x, log_rest = self._mean_logs()
        kernel = (self.alpha - other.alpha) * log_x + (self.beta - other.beta) * log_rest
        return jnp.sum(betaln(other.alpha, other.beta) - betaln(self.alpha, self.beta) + kernel)

    def _mean_logs(self) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """Computes E[log x] = digamma(alpha) - digamma(alpha + beta), and likewise E[log(1 - x)]."""
        total = digamma(self.alpha + self.beta)
        return digamma(self.alpha) - total, digamma(self.beta) - total

    def _width(self) -> Float[Array, " D"]:
        return self.high - self.low

    def _place(self, x: Float[Array, " D"]) -> Float[Array, " D"]:
        """Returns the action of x, never outside the box."""
        return jnp.clip(self.low + self._width() * x, self.low, self.high)
