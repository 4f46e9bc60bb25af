"""Priorities of what a replay buffer keeps: each slot has a sum tree of its own, which goes with it to its device."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core.timestep import Transition
from ..ops.sum_tree import empty_trees, leaf_at, roots, weights_at, with_weights

SMALLEST = 1e-6
"""What is added to each error, so that whatever is kept is drawn now and then."""

Places = Int[Array, "G n"]


class PrioritisedData(eqx.Module):
    """A prioritised replay buffer.

    Attributes:
        kept: the transitions, [B, C, ...].
        trees: p^alpha of each, in a sum tree for each slot.
        largest: [B] the largest p^alpha so far, the same number for each slot.
    """

    kept: Transition
    trees: Float[Array, "B two_C"]
    largest: Float[Array, " B"]


def empty_data(kept: Transition) -> PrioritisedData:
    """Returns a buffer without priorities, since nothing is in it; the first transitions have priority 1."""
    num_slots, capacity = kept.reward.shape
    return PrioritisedData(kept, empty_trees(num_slots, capacity), jnp.ones(num_slots, jnp.float32))


def with_new(data: PrioritisedData, kept: Transition, at: Int[Array, ""], count: int) -> PrioritisedData:
    """Returns the buffer with `count` new transitions of each slot from time `at` on, as likely as any ever was."""
    num_slots = data.largest.shape[0]
    slot = jnp.repeat(jnp.arange(num_slots, dtype=jnp.int32), count)
    time = jnp.tile(at + jnp.arange(count, dtype=jnp.int32), num_slots)
    return PrioritisedData(kept, with_weights(data.trees, slot, time, jnp.repeat(data.largest, count)), data.largest)


def draw(
    data: PrioritisedData, key: PRNGKeyArray, shape: tuple[int, int], beta: Float[Array, ""], axis: str | None
) -> tuple[Places, Places, Float[Array, "G n"]]:
    """Draws (slot, time, importance weight) of the transitions of some minibatches, in proportion to p^alpha.

    P(i) = p_i^alpha / sum over k of p_k^alpha; w_i = (N P(i))^-beta / max over the minibatch of w_j. A minibatch of n
    has one transition of each of n parts of the sum that are equally large.

    Devices that share the slots draw each its share of a minibatch from its own slots: P(i) is then in proportion to
    the sum of its device, and the weights are by that.

    Args:
        data: the buffer, or one device's part of it.
        key: of this round, and device.
        shape: how many minibatches, and how large each is on this device.
        beta: how far the weights make up for the draws: 1 for all the way.
        axis: of the devices.

    References:
        Schaul et al., Prioritized experience replay, arXiv:1511.05952, equation 1 and section 3.4.
    """
    ends = jnp.cumsum(roots(data.trees))
    parts = jax.lax.broadcasted_iota(jnp.float32, shape, 1)
    mass = (parts + jax.random.uniform(key, shape, jnp.float32)) / shape[1] * ends[-1]
    before = mass[..., None] >= ends[None, None, :-1]
    slot = jnp.sum(before, axis=-1, dtype=jnp.int32)
    start = jnp.concatenate([jnp.zeros(1, jnp.float32), ends[:-1]]).at[slot].get(mode="promise_in_bounds")
    time = leaf_at(data.trees, slot, jnp.maximum(mass - start, 0.0))
    probability = weights_at(data.trees, slot, time) / ends[-1]
    least = jnp.min(probability, axis=1, keepdims=True)
    least = least if axis is None else jax.lax.pmin(least, axis)
    return slot, time, (probability / least) ** -beta


def with_errors(
    data: PrioritisedData,
    slot: Places,
    time: Places,
    errors: Float[Array, "G n"],
    alpha: Any,
    learned: Any,
    axis: str | None,
) -> PrioritisedData:
    """Returns the buffer with p_i = |error_i| + a little of what was drawn: of several errors of one, the largest.

    Args:
        data: before.
        slot, time: what was drawn.
        errors: of the updates made.
        alpha: the exponent of priorities.
        learned: whether any update was made; if not, all is as it was.
        axis: of the devices.
    """
    powered = (jnp.abs(errors) + SMALLEST) ** alpha
    largest = jnp.max(powered)
    largest = largest if axis is None else jax.lax.pmax(largest, axis)
    written = jnp.where(learned, slot, data.largest.shape[0]).reshape(-1)
    return PrioritisedData(
        data.kept,
        with_weights(data.trees, written, time.reshape(-1), powered.reshape(-1)),
        jnp.where(learned, jnp.maximum(data.largest, largest), data.largest),
    )
