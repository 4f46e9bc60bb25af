"""Gradient steps, with the gradient clipped by its global norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from ...compiler import backends, on_arrays
from ...nn.hyperspherical import with_unit_weights
from ...ops.across import mean_over
from ...ops.trees import as_vector

Vector = Float[Array, " P"]


def gradient_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function (parameters, ...) -> (gradient, parts) of a loss (parameters, ...) -> (value, parts).

    It is compiled with vectors along its arrays.
    """
    return on_arrays(jax.grad(loss, has_aux=True))


def gradient_when_due(
    gradient: Callable[[], tuple[Any, Any]], learned: Any, kept: Any, due: Bool[Array, ""], delay: int
) -> tuple[Any, Any]:
    """Returns a gradient and what comes beside it; where no step is due, zeros and what was kept, uncomputed.

    Args:
        gradient: computes both.
        learned: the parameters that the gradient is of.
        kept: what stands beside the zeros.
        due: whether a step is.
        delay: every how many-th update is; 1 for each.
    """
    if delay == 1:
        return gradient()
    return jax.lax.cond(due, gradient, lambda: (jax.tree.map(jnp.zeros_like, learned), kept))


def gradient_vector(gradient: Any) -> Vector:
    """Returns a gradient as one vector; several travel between devices as such, with what is told beside them."""
    return as_vector(gradient) if backends.current().joins_slowly else ravel_pytree(gradient)[0]


def init_optimiser(network: Any, optimiser: Any) -> Any:
    """Makes the optimiser's state before the first step."""
    return optimiser.init(ravel_pytree(network)[0])


def apply_gradients(
    network: Any,
    optimiser: Any,
    state: Any,
    gradient: Any,
    learning_rate: Float[Array, ""],
    max_norm: float | Array | None,
    axis: str | None = None,
    weight_decay: float | Array | None = None,
) -> tuple[Any, Any, Float[Array, ""]]:
    """Takes one step, network - learning_rate * update(clipped gradient); tells the norm that the gradient had.

    Layers whose weights have unit length have it after the step, too.

    The optimiser sees all parameters as one vector, so that a step has a few long operations instead of a few for each
    of a network's many small arrays.

    Args:
        network: the parameters, a tree of float32 arrays.
        optimiser: an optax transformation.
        state: the optimiser's, as `init_optimiser` makes it.
        gradient: a tree like the network, or its vector; each device's own, of which the mean is taken.
        learning_rate: what updates are multiplied by.
        max_norm: as of `clip_by_global_norm`.
        axis: of the devices.
        weight_decay: parameters, but for scalars such as a temperature, shrink by learning_rate times this; None for
            not at all.

    References:
        Loshchilov and Hutter, Decoupled weight decay regularization, arXiv:1711.05101, algorithm 2.
    """
    parameters, unravel = ravel_pytree(network)
    flat, norm = clip_by_global_norm(mean_over(gradient_vector(gradient), axis), max_norm)
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
        update, state = optimiser.update(flat, state, parameters)
    changes = unravel(update)
    if weight_decay is not None:
        changes = jax.tree.map(lambda u, p: u + weight_decay * p if p.ndim else u, changes, network)
    moved = jax.tree.map(lambda p, u: p - learning_rate * u, network, changes)
    return with_unit_weights(moved), state, norm


def clip_by_global_norm(gradient: Vector, max_norm: float | Array | None) -> tuple[Vector, Float[Array, ""]]:
    """Scales a gradient down to a norm of at most `max_norm`, None for no limit; tells the norm that it had.

    References:
        Pascanu et al., On the difficulty of training recurrent neural networks, arXiv:1211.5063, algorithm 1.
    """
    norm = jnp.sqrt(jnp.sum(gradient * gradient))
    if max_norm is None:
        return gradient, norm
    return gradient * jnp.minimum(1.0, max_norm / (norm + 1e-6)), norm
