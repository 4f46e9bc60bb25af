"""Distributions of returns by their quantiles (QR-DQN), unbatched.

None of these functions stops gradients: their users do.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
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
    return _loss(quantiles, samples, jnp.float32(delta))


@jax.custom_jvp
def _loss(quantiles: Float[Array, " N"], samples: Float[Array, " M"], delta: Float[Array, ""]) -> Float[Array, ""]:
    error, weight = _errors(quantiles, samples)
    return jnp.sum(jnp.mean(weight * jnp.vectorize(huber)(error, delta), axis=1))


@partial(_loss.defjvp, symbolic_zeros=True)
def _loss_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Derives the loss by sums over pairs, of which no array [N, M] is kept for the way back."""
    quantiles, samples, delta = primals
    of_quantiles, of_samples, of_delta = tangents
    error, weight = _errors(quantiles, samples)
    slope = weight * jnp.clip(error, -delta, delta)
    tangent = jnp.float32(0.0)
    if not isinstance(of_quantiles, SymbolicZero):
        tangent -= jnp.mean(slope, axis=1) @ of_quantiles
    if not isinstance(of_samples, SymbolicZero):
        tangent += jnp.sum(slope, axis=0) @ of_samples / samples.shape[0]
    if not isinstance(of_delta, SymbolicZero):
        tangent += jnp.sum(jnp.mean(weight * jnp.maximum(jnp.abs(error) - delta, 0.0), axis=1)) * of_delta
    return _loss(quantiles, samples, delta), tangent


def _errors(
    quantiles: Float[Array, " N"], samples: Float[Array, " M"]
) -> tuple[Float[Array, "N M"], Float[Array, "N M"]]:
    """Returns u of every pair and the weight |tau_i - 1{u < 0}| of its loss."""
    error = samples[None, :] - quantiles[:, None]
    return error, jnp.abs(midpoints(quantiles.shape[0])[:, None] - (error < 0.0).astype(jnp.float32))
