"""Estimates beside returns: what an agent expected of its actions, and the discounted return that followed them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..core.agent import Estimate
from ..core.collector import EpisodeEnd, EstimateSums
from ..core.timestep import Transition
from ..ops.trees import select

UNSEEN = 0.01
"""The weight that a time limit may have in the return of a state that counts: what follows it is not seen."""


def no_sums(num_slots: int) -> EstimateSums:
    """Returns the sums of B slots before their first step."""
    return EstimateSums(*(jnp.zeros(num_slots, jnp.float32) for _ in range(4)))


def estimates_of(agent: Any, agent_state: Any, made: Transition) -> Estimate | None:
    """Returns what an agent expects of the actions of T steps of B slots, [T, B]; None of one that expects nothing."""
    of_each = jax.vmap(jax.vmap(lambda obs, action: agent.estimate(agent_state, obs, action)))
    return of_each(made.obs, made.action)


def add_steps(
    sums: EstimateSums,
    estimates: Estimate,
    made: Transition,
    end: EpisodeEnd,
    counts: Bool[Array, "T B"],
    discount: float | Float[Array, ""],
) -> tuple[EstimateSums, EstimateSums]:
    """Adds T steps of B slots to the sums of the episodes on their way.

    The returns that follow are summed as they come: a reward r_k adds w_k r_k to the sum of all G_t, where
    w_k = gamma w_{k-1} + [state k counts]. A bonus is of the state, before the action: gamma w_{k-1} times it are
    added, to the returns of earlier states alone. Where a step is truncated, the agent's own estimate stands for its
    reward and all that would have followed.

    Args:
        sums: [B] of the episodes on their way.
        estimates: [T, B] of each step.
        made, end: [T, B] the steps.
        counts: whether a step's state counts.
        discount: gamma.

    Returns:
        The sums of the episodes on their way, 0 of new ones; and [T, B] those of the episodes that ended, 0 elsewhere.
    """

    def step(sums: EstimateSums, row: tuple[Any, ...]) -> tuple[EstimateSums, EstimateSums]:
        estimate, reward, cut, ended, counts = row
        counted = counts.astype(jnp.float32)
        earlier = discount * sums.weight
        weight = earlier + counted
        followed = sums.followed + weight * jnp.where(cut, estimate.value, reward)
        if estimate.bonus is not None:
            followed = followed + earlier * estimate.bonus
        after = EstimateSums(sums.states + counted, sums.estimate + counted * estimate.value, followed, weight)
        nothing = jax.tree.map(jnp.zeros_like, after)
        either = jax.vmap(select)
        return either(ended, nothing, after), either(ended, after, nothing)

    cut = made.truncated & ~made.terminated
    return jax.lax.scan(step, sums, (estimates, made.reward, cut, end.ended, counts))


def counted_states(
    end: EpisodeEnd, time_limit: int | None, discount: float | Float[Array, ""], learning: Bool[Array, ""]
) -> Bool[Array, "T B"]:
    """Tells of which steps the states count: of those of an agent that learns, with enough time before the time limit.

    There is enough where gamma^(steps left) is at most `UNSEEN`, or half of the limit where that is less.

    Args:
        end: [T, B] of the steps.
        time_limit: of episodes; None for none.
        discount: gamma.
        learning: whether the agent had begun to learn before these steps.
    """
    everywhere = jnp.broadcast_to(learning, end.ended.shape)
    if time_limit is None:
        return everywhere
    decay = -jnp.log(jnp.maximum(jnp.asarray(discount, jnp.float32), jnp.finfo(jnp.float32).tiny))
    needed = jnp.minimum(-math.log(UNSEEN) / jnp.maximum(decay, 1e-9), 0.5 * time_limit)
    left = jnp.float32(time_limit + 1) - end.length.astype(jnp.float32)
    return everywhere & (left >= needed)
