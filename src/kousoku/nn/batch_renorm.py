"""Batch renormalisation: features scaled by the moments of a minibatch, held near running ones."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32

EPSILON = 1e-3
MOMENTUM = 0.99
MOST_SCALE, MOST_SHIFT = 3.0, 5.0
WARM_UP = 100_000
"""Minibatches of plain batch normalisation, while the running moments settle."""


class BatchRenorm(eqx.Module):
    """y = scale ((x - mean_B) / std_B r + d) + shift; called, with the running moments: scale (x - mean) / std + shift.

    r = clip(std_B / std, 1/3, 3) and d = clip((mean_B - mean) / std, -5, 5) count as given, so that y is what the
    running moments would make of x wherever those are near the minibatch's; r = 1 and d = 0 in the first `WARM_UP`
    minibatches. The running moments move by a hundredth of the way to the minibatch's.

    All of it is float32, and lies in the tree of parameters; gradients by the running part are zero, and
    `with_statistics` puts back what a step of the optimiser does to it.

    Attributes:
        scale, shift: parameters [n].
        mean, variance: running moments [n].
        seen: minibatches so far, up to `WARM_UP`.

    References:
        Ioffe, Batch renormalization, arXiv:1702.03275, algorithm 1. Bhatt et al., CrossQ, arXiv:1902.05605, whose
        constants these are.
    """

    scale: Float32[Array, " n"]
    shift: Float32[Array, " n"]
    mean: Float32[Array, " n"]
    variance: Float32[Array, " n"]
    seen: Float32[Array, ""]

    def __init__(self, size: int) -> None:
        self.scale, self.variance = jnp.ones(size, jnp.float32), jnp.ones(size, jnp.float32)
        self.shift, self.mean = jnp.zeros(size, jnp.float32), jnp.zeros(size, jnp.float32)
        self.seen = jnp.float32(0.0)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.scale * (x - self.mean) * jax.lax.rsqrt(self.variance + EPSILON) + self.shift

    def train(self, x: Float[Array, " n"], axes: tuple[str, ...]) -> tuple[Float[Array, " n"], BatchRenorm]:
        """Returns y of one sample of a minibatch, and the layer with its running moments after it.

        Args:
            x: the sample, under a `vmap` over the minibatch.
            axes: names of the axes that the samples lie on: of that `vmap`, and of devices.
        """
        mean = jax.lax.pmean(x, axes)
        centred = x - mean
        variance = jax.lax.pmean(centred * centred, axes)
        std, running = jnp.sqrt(variance + EPSILON), jnp.sqrt(self.variance + EPSILON)
        settled = self.seen >= WARM_UP
        r = jnp.where(settled, jnp.clip(std / running, 1.0 / MOST_SCALE, MOST_SCALE), 1.0)
        d = jnp.where(settled, jnp.clip((mean - self.mean) / running, -MOST_SHIFT, MOST_SHIFT), 0.0)
        r, d = jax.lax.stop_gradient((r, d))
        moved = (
            MOMENTUM * self.mean + (1.0 - MOMENTUM) * mean,
            MOMENTUM * self.variance + (1.0 - MOMENTUM) * variance,
            jnp.minimum(self.seen + 1.0, WARM_UP),
        )
        y = self.scale * (centred / std * r + d) + self.shift
        return y, eqx.tree_at(_statistics, self, jax.lax.stop_gradient(moved))


def _statistics(layer: BatchRenorm) -> tuple[Any, Any, Any]:
    return layer.mean, layer.variance, layer.seen


def _is_layer(node: Any) -> bool:
    return isinstance(node, BatchRenorm)


def has_statistics(network: Any) -> bool:
    """Returns whether a network, or a part of one, has running moments of what goes through it."""
    return any(map(_is_layer, jax.tree.leaves(network, is_leaf=_is_layer)))


def with_statistics(network: Any, moved: Any) -> Any:
    """Returns a network with the running moments of another one, of the same structure."""

    def taken(layer: Any, other: Any) -> Any:
        return eqx.tree_at(_statistics, layer, _statistics(other)) if _is_layer(layer) else layer

    return jax.tree.map(taken, network, moved, is_leaf=_is_layer)
