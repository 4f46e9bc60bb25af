"""Maths of evolution strategies: shaped returns, search gradients, ClipUp."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

Number = Float[Array, ""] | float


def centred_ranks(returns: Float[Array, " P"]) -> Float[Array, " P"]:
    """Computes ranks, spread evenly over [-1/2, 1/2]: 1/2 for the largest. Equal returns share their mean rank.

    What is not a number is worst.

    References:
        Salimans et al., Evolution strategies as a scalable alternative to reinforcement learning, arXiv:1703.03864,
        section 2.1 (fitness shaping).

    Examples:
        >>> centred_ranks(jnp.array([3.0, 1.0, 2.0])).tolist(), centred_ranks(jnp.array([5.0, 5.0])).tolist()
        ([0.5, -0.5, 0.0], [0.0, 0.0])
    """
    returns = jnp.where(jnp.isnan(returns), -jnp.inf, returns)
    ordered = jnp.sort(returns)
    below = jnp.searchsorted(ordered, returns, side="left")
    up_to = jnp.searchsorted(ordered, returns, side="right")
    rank = (below + up_to - 1).astype(jnp.float32) / 2.0
    return rank / max(returns.size - 1, 1) - 0.5


def finite_returns(returns: Float[Array, " P"]) -> Float[Array, " P"]:
    """Returns the returns with what is not finite as bad as the worst that is, or 0 where none is.

    Examples:
        >>> finite_returns(jnp.array([3.0, jnp.nan, 1.0, jnp.inf])).tolist()
        [3.0, 1.0, 1.0, 1.0]
    """
    finite = jnp.isfinite(returns)
    worst = jnp.min(jnp.where(finite, returns, jnp.inf))
    return jnp.where(finite, returns, jnp.where(jnp.isfinite(worst), worst, 0.0))


def antithetic_gradient(
    weights: Float[Array, " P"], directions: Float[Array, "P/2 n"], noise_std: Number
) -> Float[Array, " n"]:
    """Computes the search gradient of mirrored candidates, 1 / (P sigma) sum_i (w_i+ - w_i-) epsilon_i.

    Args:
        weights: of the candidates mean + sigma epsilon, then of mean - sigma epsilon.
        directions: epsilon of each pair.
        noise_std: sigma.

    References:
        Salimans et al., arXiv:1703.03864, algorithm 1 (with mirrored sampling, section 2.1).
    """
    plus, minus = jnp.split(weights, 2)
    return (plus - minus) @ directions / (weights.size * jnp.maximum(noise_std, 1e-30))


class ClipUpState(NamedTuple):
    """The state of ClipUp: its velocity."""

    velocity: PyTree[Array]


def clip_up(step_size: Number, max_speed: Number, momentum: Number = 0.9) -> optax.GradientTransformation:
    """Makes ClipUp, v <- clip(momentum v + step_size g / |g|), for ascent: its updates are +v.

    Only a gradient's direction counts; the velocity's norm is clipped to the largest speed.

    Args:
        step_size: alpha; a good one is half the largest speed.
        max_speed: how far parameters move in one update, at most.
        momentum: m.

    References:
        Toklu, Liskowski and Srivastava, ClipUp: a simple and powerful optimizer for distribution-based policy
        evolution, arXiv:2008.02387, algorithm 2.

    Examples:
        >>> ascend = clip_up(0.1, 0.15)
        >>> state = ascend.init(jnp.zeros(2))
        >>> for _ in range(2):
        ...     updates, state = ascend.update(jnp.array([0.0, 9.0]), state)
        >>> round(float(updates[1]), 6)
        0.15
    """

    def init(parameters: PyTree[Array]) -> ClipUpState:
        return ClipUpState(jax.tree.map(jnp.zeros_like, parameters))

    def update(
        gradient: PyTree[Array], state: ClipUpState, parameters: PyTree[Array] | None = None
    ) -> tuple[PyTree[Array], ClipUpState]:
        del parameters
        norm = _norm(gradient)
        scale = jnp.where(norm > 0, step_size / jnp.where(norm > 0, norm, 1.0), 0.0)
        moved = jax.tree.map(lambda v, g: momentum * v + scale * g, state.velocity, gradient)
        speed = _norm(moved)
        clipped = jnp.where(speed > max_speed, max_speed / jnp.where(speed > 0, speed, 1.0), 1.0)
        velocity = jax.tree.map(lambda v: clipped * v, moved)
        return velocity, ClipUpState(velocity)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _norm(tree: PyTree[Array]) -> Float[Array, ""]:
    return jnp.sqrt(sum((jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)), jnp.float32(0.0)))
