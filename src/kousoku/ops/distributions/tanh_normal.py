"""A normal distribution squashed into a box."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array, Float, PRNGKeyArray

from .base import Distribution, Scalar
from .normal import HALF_LOG_TWO_PI, Normal

MARGIN = 2.0**-10
"""The share of half a box, at either end, over which `log_prob` spreads the probability of all that lies beyond."""

EDGE = math.atanh(1.0 - MARGIN)

NODES = 16
REACH = 5.0
"""The nodes of the entropy's quadrature: this many, to this many standard deviations on either side."""


class TanhNormal(Distribution):
    """a = low + (high - low) (1 + tanh(x)) / 2, where x is normal; an action is float32 [D].

    With u = tanh(x) and half = (high - low) / 2, component by component,

        log p(a) = log N(x; loc, scale) - log(1 - u^2) - log(half),  log(1 - u^2) = 2 (log 2 - x - softplus(-2 x)).

    Near the box's ends a float32 action no longer tells what x was: all of x > 9 becomes a = high. Where u is within
    `MARGIN` of an end, `log_prob` is therefore the logarithm of the mean density there,
    P(x > atanh(1 - MARGIN)) / (MARGIN half), and likewise at the other end. So the density integrates to 1 wherever the
    mean lies, and the logarithm and its gradient are finite and right for an action exactly at a bound.
    `sample_and_log_prob` knows x and uses the first formula everywhere.

    Attributes:
        loc, scale: mean and standard deviation of x, [D]; scale is above 0.
        low, high: the box, [D].

    References:
        Haarnoja et al., Soft actor-critic, arXiv:1801.01290, appendix C (equation 21). Hoffman et al., Acme,
        arXiv:2006.00979, also gives the ends of the box the mean density of what lies beyond.

    Differs from the paper: the treatment of the ends; any box instead of [-1, 1].

    Examples:
        >>> policy = TanhNormal(jnp.zeros(1), jnp.ones(1), low=jnp.array([0.0]), high=jnp.array([4.0]))
        >>> policy.mode().tolist()
        [2.0]
        >>> bool(jnp.isfinite(policy.log_prob(jnp.array([4.0]))))
        True
    """

    loc: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    scale: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    low: Float[Array, " D"] = eqx.field(converter=jnp.asarray)
    high: Float[Array, " D"] = eqx.field(converter=jnp.asarray)

    def sample(self, key: PRNGKeyArray) -> Float[Array, " D"]:
        return self._squash(self._normal().sample(key))

    def log_prob(self, action: Float[Array, " D"]) -> Scalar:
        """Returns the log-density of an action of the box; one outside of it counts as the nearest end."""
        u = (action - 0.5 * (self.low + self.high)) / self._half()
        inside = jnp.clip(u, -1.0 + MARGIN, 1.0 - MARGIN)
        x = jnp.arctanh(inside)
        within = self._normal().log_densities(x) - log_slope(x)
        beyond = log_ndtr((jnp.sign(u) * self.loc - EDGE) / self.scale) - math.log(MARGIN)
        return jnp.sum(jnp.where(u == inside, within, beyond) - jnp.log(self._half()))

    def sample_and_log_prob(self, key: PRNGKeyArray) -> tuple[Float[Array, " D"], Scalar]:
        """Draws an action and its log-density, from x itself: exact, and differentiable, however near to an end."""
        return self.of_noise(jax.random.normal(key, self.loc.shape, self.loc.dtype))

    def of_noise(self, noise: Float[Array, " D"]) -> tuple[Float[Array, " D"], Scalar]:
        """Returns the action of x = loc + scale noise, and its log-density: a draw, if the noise is standard normal."""
        x = self.loc + self.scale * noise
        log_p = -0.5 * noise * noise - jnp.log(self.scale) - HALF_LOG_TWO_PI - log_slope(x) - jnp.log(self._half())
        return self._squash(x), jnp.sum(log_p)

    def entropy(self) -> Scalar:
        """Computes the entropy of x plus E[log(1 - u^2)] + log(half), the expectation by quadrature.

        It has no closed form. The trapezoidal rule over `NODES` points of the normal's range is deterministic and
        differentiable; per component it is within 1e-5 for scale <= 1, 1e-3 for scale <= 2 and 1e-2 for scale <= 3.
        (Written out term by term it compiles to one loop: a sixth of the time of a sum over an axis.)
        """
        z = np.linspace(-REACH, REACH, NODES)
        weights = np.exp(-0.5 * z * z) / np.sum(np.exp(-0.5 * z * z))
        entropy = HALF_LOG_TWO_PI + 0.5 + jnp.log(self.scale) + jnp.log(self._half())
        for node, weight in zip(z.tolist(), weights.tolist(), strict=True):
            entropy += weight * log_slope(self.loc + self.scale * node)
        return jnp.sum(entropy)

    def mode(self) -> Float[Array, " D"]:
        """Returns the median, the image of `loc`. (The density may be highest at both ends of the box at once.)"""
        return self._squash(self.loc)

    def kl(self, other: TanhNormal) -> Scalar:
        """Returns the divergence of the two normals: squashing is one to one. Both have the same box."""
        return self._normal().kl(other._normal())

    def _normal(self) -> Normal:
        return Normal(self.loc, self.scale)

    def _half(self) -> Float[Array, " D"]:
        return 0.5 * (self.high - self.low)

    def _squash(self, x: Float[Array, " D"]) -> Float[Array, " D"]:
        """Returns the action of x, never outside the box."""
        action = 0.5 * (self.low + self.high) + self._half() * jnp.tanh(x)
        return jnp.clip(action, self.low, self.high)


@jax.custom_jvp
def log_slope(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Computes log(1 - tanh(x)^2) = 2 (log 2 - x - softplus(-2 x)), finite for every finite x; its derivative is
    -2 tanh(x).
    """
    return 2.0 * (math.log(2.0) - x - jax.nn.softplus(-2.0 * x))


log_slope.defjvps(lambda tangent, _, x: -2.0 * jnp.tanh(x) * tangent)
