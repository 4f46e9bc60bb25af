"""One step down a gradient, with a limit on its norm."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...nn import Network


def limited(gradient: Any, max_norm: float | Array | None) -> tuple[Any, Float[Array, ""]]:
    """The gradient scaled down to a global norm of at most `max_norm`, and the norm that it had.

    References:
        Pascanu et al., On the difficulty of training recurrent neural networks, arXiv:1211.5063, algorithm 1.
    """
    norm = jnp.sqrt(sum((jnp.sum(g * g) for g in jax.tree.leaves(gradient)), jnp.float32(0.0)))
    if max_norm is None:
        return gradient, norm
    factor = jnp.minimum(1.0, max_norm / (norm + 1e-6))
    return jax.tree.map(lambda g: g * factor, gradient), norm


def descend(
    network: Network, optimiser: Any, state: Any, gradient: Any, learning_rate: Float[Array, ""]
) -> tuple[Network, Any]:
    """The network and the optimiser's state after one step: network - learning_rate * update(gradient)."""
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
        updates, state = optimiser.update(gradient, state, network)
    return jax.tree.map(lambda p, u: p - learning_rate * u, network, updates), state
