"""Losses of one sample, to be minimised, and what a learner reports about them.

A minibatch is a `vmap` and a mean. None of these functions stops gradients: their users do.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Scalar = Float[Array, ""]
Number = Float[Array, ""] | float
ROUNDING = float(np.finfo(np.float32).eps)


def clipped_surrogate(log_ratio: Scalar, advantage: Scalar, clip: Number) -> Scalar:
    """Computes -min(r A, clamp(r, 1 - clip, 1 + clip) A), r = exp(log_ratio).

    Args:
        log_ratio: log pi(a|s) - log pi_old(a|s).
        advantage: A.
        clip: epsilon.

    References:
        Schulman et al., Proximal policy optimization algorithms, arXiv:1707.06347, equation 7, with the opposite sign.

    Examples:
        >>> float(clipped_surrogate(jnp.log(jnp.float32(2.0)), jnp.float32(1.0), 0.25))
        -1.25
    """
    ratio = jnp.exp(log_ratio)
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * advantage)


def was_clipped(log_ratio: Scalar, clip: Number) -> Bool[Array, ""]:
    """Returns whether |exp(log_ratio) - 1| > clip; its mean is the fraction that PPO clips."""
    return jnp.abs(jnp.expm1(log_ratio)) > clip


def approx_kl(log_ratio: Scalar) -> Scalar:
    """Computes (r - 1) - log r, r = exp(log_ratio): an unbiased estimate of KL(pi_old || pi), never negative.

    The action was drawn from pi_old, and log_ratio = log pi(a|s) - log pi_old(a|s).

    References:
        Schulman, Approximating KL divergence (2020), http://joschu.net/blog/kl-approx.html, the estimator k3.
    """
    return jnp.expm1(log_ratio) - log_ratio


def squared(error: Scalar) -> Scalar:
    """Computes error^2 / 2, whose derivative is the error."""
    return 0.5 * error * error


def expectile(error: Scalar, level: Number) -> Scalar:
    """Computes |level - [error < 0]| error^2: the value that is least for is the `level` expectile, the mean for 1/2.

    Args:
        error: target minus estimate.
        level: tau in (0, 1); near 1 estimates that are too high cost little, so that the best are come near.

    References:
        Newey and Powell, Asymmetric least squares estimation and testing, Econometrica 55 (1987).
        Kostrikov, Nair and Levine, arXiv:2110.06169, equation 4.

    Examples:
        >>> float(expectile(jnp.float32(2.0), 0.75)), float(expectile(jnp.float32(-2.0), 0.75))
        (3.0, 1.0)
    """
    return jnp.where(error < 0, 1.0 - level, level) * error * error


def huber(error: Scalar, delta: Number) -> Scalar:
    """Computes error^2 / 2 where |error| <= delta, delta (|error| - delta / 2) beyond: the derivative stops at +-delta.

    References:
        Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35 (1964).

    Examples:
        >>> [float(huber(jnp.float32(e), 1.0)) for e in (0.5, -3.0)]
        [0.125, 2.5]
    """
    size = jnp.abs(error)
    near = jnp.minimum(size, delta)
    return near * (size - 0.5 * near)  # where delta is infinite, too


def clipped_value_loss(value: Scalar, old_value: Scalar, target: Scalar, clip: Number) -> Scalar:
    """Computes max[(V - G)^2, (V_old + clamp(V - V_old, -clip, clip) - G)^2] / 2.

    Args:
        value, old_value: V of the network being trained, and of the one that gathered the data.
        target: G.
        clip: how far V may profitably move; in the units of the values.

    References:
        Engstrom et al., Implementation matters in deep policy gradients, arXiv:2005.12729, section 3; it comes from
        OpenAI's code of arXiv:1707.06347, not from its text.

    Examples:
        >>> float(clipped_value_loss(jnp.float32(3.0), jnp.float32(0.0), jnp.float32(3.0), 1.0))
        2.0
    """
    near = old_value + jnp.clip(value - old_value, -clip, clip)
    return jnp.maximum(squared(value - target), squared(near - target))


def explained_variance(
    values: Float[Array, "*N"], targets: Float[Array, "*N"], *, axis_name: str | None = None
) -> Scalar:
    """Computes 1 - Var[G - V] / Var[G]: 1 for a perfect V, 0 for a constant one; 0 where the targets do not vary.

    Args:
        axis_name: of the devices that each hold as many of the samples.

    Examples:
        >>> float(explained_variance(jnp.zeros(3), jnp.array([1.0, 2.0, 3.0])))
        0.0
    """
    both = jnp.stack([targets.reshape(-1), (targets - values).reshape(-1)])
    total, unexplained = jax.vmap(partial(_centred, axis_name=axis_name))(both)[1]
    largest = jnp.max(jnp.abs(targets))
    largest = largest if axis_name is None else jax.lax.pmax(largest, axis_name)
    varies = total > (ROUNDING * largest) ** 2
    return jnp.where(varies, 1.0 - unexplained / jnp.where(varies, total, 1.0), 0.0)


def standardised(x: Float[Array, "*N"], eps: Number = 1e-8, *, axis_name: str | None = None) -> Float[Array, "*N"]:
    """Computes (x - mean) / sqrt(s^2 + eps^2), s the population's standard deviation (divisor N): advantages of a
    minibatch.

    Args:
        x: samples, or those of one device.
        eps: its square is added to the variance, so that equal samples are not divided by 0.
        axis_name: of the devices that each hold as many of the samples.

    References:
        Andrychowicz et al., What matters in on-policy reinforcement learning?, arXiv:2006.05990 (advantage
        normalisation).
    """
    centred, variance = _centred(x, axis_name)
    return centred / jnp.sqrt(variance + eps * eps)


def _centred(x: Float[Array, "*N"], axis_name: str | None) -> tuple[Float[Array, "*N"], Scalar]:
    """Returns x minus its mean, and its variance.

    The mean is taken off twice, so that equal numbers become 0, whatever was rounded in adding them up. Devices centre
    their own parts first, and meet once: each part is then moved by the distance of its mean from theirs together.
    """
    mean = jnp.mean(x)
    rest = jnp.mean(x - mean)
    centred = x - mean - rest
    variance = jnp.mean(centred * centred)
    if axis_name is None:
        return centred, variance
    means, rests, variances = jax.lax.all_gather(jnp.stack([mean, rest, variance]), axis_name).T
    offset = means - jnp.mean(means) + rests
    offset = offset - jnp.mean(offset)
    return centred + offset[jax.lax.axis_index(axis_name)], jnp.mean(variances + offset * offset)
