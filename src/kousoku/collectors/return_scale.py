"""The scale of returns: what rewards are divided by, so that critics learn values of one size whatever the task."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..ops.across import gather_over
from ..ops.normalisation import EPS, RunningMoments, merge_all, no_moments, observe
from .rollouts import add_reward

Number = float | Float[Array, ""]


class ReturnStatistics(eqx.Module):
    """Statistics of the running discounted return R <- gamma R + r of each of B slots, 0 where an episode begins.

    Attributes:
        running: [B] R of the episode on its way.
        moments: of all R so far, of each slot.
        largest: [B] the largest |R| so far.
    """

    running: Float[Array, "..."]
    moments: RunningMoments
    largest: Float[Array, "..."]


def no_returns(num_slots: int) -> ReturnStatistics:
    """Returns the statistics of B slots before their first step."""
    zeros = jnp.zeros(num_slots, jnp.float32)
    moments = jax.tree.map(lambda x: jnp.broadcast_to(x, (num_slots, *x.shape)), no_moments())
    return ReturnStatistics(zeros, moments, zeros)


def add_rewards(
    statistics: ReturnStatistics, reward: Float[Array, "T B"], ended: Bool[Array, "T B"], discount: Number
) -> ReturnStatistics:
    """Returns the statistics after T more steps of B slots."""
    step = add_reward(discount)
    running, returns = jax.lax.scan(lambda running, row: step(running, *row), statistics.running, (reward, ended))
    moments = jax.vmap(observe)(statistics.moments, returns.T)
    return ReturnStatistics(running, moments, jnp.maximum(statistics.largest, jnp.max(jnp.abs(returns), axis=0)))


def scale_of(statistics: ReturnStatistics, limit: Number, axis: str | None) -> Float[Array, ""]:
    """Returns max(sqrt(Var[R] + epsilon), max |R| / limit), over all slots: returns divided by it are at most `limit`.

    Args:
        statistics: of the slots on this device.
        limit: the largest that a return is to be.
        axis: of devices that share the slots.

    References:
        Lee et al., Hyperspherical normalization for scalable deep reinforcement learning, arXiv:2502.15280, section 4.
    """
    moments, largest = merge_all(statistics.moments), jnp.max(statistics.largest)
    if axis is not None:
        of_devices, largest_of_devices = gather_over((moments, largest), axis)
        moments, largest = merge_all(of_devices), jnp.max(largest_of_devices)
    return jnp.maximum(jnp.sqrt(moments.variance + moments.variance_rest + EPS), largest / limit)
