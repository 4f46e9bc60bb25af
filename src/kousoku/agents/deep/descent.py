"""Steps down a gradient, with a limit on its norm."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from ...nn import Network
from ...ops.across import mean_over

Vector = Float[Array, " P"]


def begin(network: Network, optimiser: Any) -> Any:
    """The optimiser's state before the first step."""
    return optimiser.init(ravel_pytree(network)[0])


def descend(
    network: Network,
    optimiser: Any,
    state: Any,
    gradient: Any,
    learning_rate: Float[Array, ""],
    max_norm: float | Array | None,
    axis: str | None = None,
) -> tuple[Network, Any, Float[Array, ""]]:
    """One step, network - learning_rate * update(limited gradient), and the norm that the gradient had.

    The optimiser sees all parameters as one vector, so that a step has a few long operations instead of a few for each
    of a network's many small arrays.

    Args:
        network: the parameters.
        optimiser: an optax transformation.
        state: the optimiser's, as `begin` makes it.
        gradient: a tree like the network; each device's own, of which the mean is taken.
        learning_rate: what updates are multiplied by.
        max_norm: as of `limited`.
        axis: of the devices.
    """
    flat, unravel = ravel_pytree(gradient)
    flat, norm = limited(mean_over(flat, axis), max_norm)
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
        update, state = optimiser.update(flat, state, ravel_pytree(network)[0])
    return jax.tree.map(lambda p, u: p - learning_rate * u, network, unravel(update)), state, norm


def limited(gradient: Vector, max_norm: float | Array | None) -> tuple[Vector, Float[Array, ""]]:
    """The gradient scaled down to a norm of at most `max_norm`, and the norm that it had; None for no limit.

    References:
        Pascanu et al., On the difficulty of training recurrent neural networks, arXiv:1211.5063, algorithm 1.
    """
    norm = jnp.sqrt(jnp.sum(gradient * gradient))
    if max_norm is None:
        return gradient, norm
    return gradient * jnp.minimum(1.0, max_norm / (norm + 1e-6)), norm
