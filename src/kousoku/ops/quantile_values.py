"""Distributions of returns by their quantiles (QR-DQN), unbatched.

None of these functions stops gradients: their users do.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from .losses import huber


def midpoints(n: int) -> Float[Array, " n"]:
    """Returns the levels (2 i - 1) / (2 n), i = 1 .. n, whose quantiles are as near to a distribution as n numbers are.

    References:
        Dabney et al., arXiv:1710.10044, lemma 2.

    Examples:
        >>> midpoints(2).tolist()
        [0.25, 0.75]
    """
    return (jnp.arange(n, dtype=jnp.float32) + 0.5) / n


def quantile_huber(
    quantiles: Float[Array, " N"], samples: Float[Array, " M"], delta: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Computes sum over i of mean over j of |tau_i - 1{u < 0}| L(u), u = samples_j - quantiles_i, L Huber's loss.

    Without Huber's rounding off (a delta near 0) it is least at the quantiles of the samples at `midpoints`.

    Args:
        quantiles: what is learned, one for each midpoint.
        samples: of the distribution, equally likely, such as r + gamma theta'.
        delta: the error from which on L is linear.

    References:
        Dabney, Rowland, Bellemare and Munos, Distributional reinforcement learning with quantile regression,
        arXiv:1710.10044, equation 10 and algorithm 1.

    Examples:
        >>> float(quantile_huber(jnp.array([0.0]), jnp.array([2.0, -1.0]), 1.0))
        0.5
    """
    error = samples[None, :] - quantiles[:, None]
    weight = jnp.abs(midpoints(quantiles.shape[0])[:, None] - (error < 0.0).astype(jnp.float32))
    return jnp.sum(jnp.mean(weight * _huber(error, delta), axis=1))


def _huber(error: Float[Array, "N M"], delta: float | Float[Array, ""]) -> Float[Array, "N M"]:
    return jnp.vectorize(lambda u: huber(u, delta))(error)
