"""Estimates beside returns: what an agent expected of its actions, and the discounted return that followed them."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core.agent import Estimate
from ..core.collector import EpisodeEnd, EstimateSums
from ..core.errors import ConfigError
from ..core.timestep import Transition
from ..ops.trees import select

EVERY = 7
"""Iterations of which one asks the agent for estimates: all would take DQN a seventh of its time. It is a prime number,
so that episodes of one length are asked at all their steps."""
UNSEEN = 0.01
"""The weight that a time limit may have in the return of a state that counts: what follows it is not seen."""


class RunningEstimates(eqx.Module):
    """The estimates of B slots, and what followed them in the episodes on their way.

    Attributes:
        sums: [B] over the states of the present episode.
        latest: [B] what the agent expected last.
    """

    sums: EstimateSums
    latest: Estimate


def estimates_of(agent: Any, agent_state: Any, made: Transition) -> Any:
    """Returns what an agent expects of the actions of T steps of B slots, an `Estimate` [T, B], or None for nothing."""
    of_each = jax.vmap(jax.vmap(lambda obs, action: agent.estimate(agent_state, obs, action)))
    return of_each(made.obs, made.action)


def begin(agent: Any, agent_state: Any, made: Transition) -> RunningEstimates | None:
    """Returns the comparison of B slots before their first step; None of an agent that expects nothing.

    Args:
        agent, agent_state: whose estimates they are.
        made: the shapes of an iteration's steps, [T, B].
    """
    expects = jax.eval_shape(partial(estimates_of, agent), agent_state, made)
    if expects is None:
        return None
    if not isinstance(expects, Estimate) or any(x.shape != made.reward.shape for x in jax.tree.leaves(expects)):
        fix = "give a kousoku.Estimate of numbers, or None"
        raise ConfigError(f"{type(agent).__name__}.estimate", jax.tree.map(lambda x: str(x.dtype), expects), fix)
    num_slots = made.reward.shape[1]
    sums = EstimateSums(*(jnp.zeros(num_slots, jnp.float32) for _ in range(4)))
    return RunningEstimates(sums, jax.tree.map(lambda x: jnp.zeros(num_slots, x.dtype), expects))


def add_steps(
    before: RunningEstimates,
    estimates: Estimate,
    made: Transition,
    end: EpisodeEnd,
    counts: Bool[Array, "T B"],
    discount: float | Float[Array, ""],
) -> tuple[RunningEstimates, EstimateSums]:
    """Adds T steps of B slots to the sums of the episodes on their way.

    The returns that follow are summed as they come: a reward r_k adds w_k r_k to the sum of all G_t, where
    w_k = gamma w_{k-1} + [state k counts]. A bonus is of the state, before the action: gamma w_{k-1} times it are
    added, to the returns of earlier states alone. Where a step is truncated, the agent's estimate stands for all that
    would have followed.

    Args:
        before: of the episodes on their way.
        estimates: [T, B] of each step, or the latest.
        made, end: [T, B] the steps.
        counts: whether a step's state counts.
        discount: gamma.

    Returns:
        The comparison after the steps; and [T, B] the sums of the episodes that ended, 0 elsewhere.
    """

    def step(sums: EstimateSums, row: tuple[Any, ...]) -> tuple[EstimateSums, EstimateSums]:
        estimate, reward, cut, ended, counts = row
        counted = counts.astype(jnp.float32)
        earlier = discount * sums.weight
        weight = earlier + counted
        followed = sums.followed + weight * (reward + jnp.where(cut, discount * estimate.value, 0.0))
        if estimate.bonus is not None:
            followed = followed + earlier * estimate.bonus
        after = EstimateSums(sums.states + counted, sums.estimate + counted * estimate.value, followed, weight)
        nothing = jax.tree.map(jnp.zeros_like, after)
        either = jax.vmap(select)
        return either(ended, nothing, after), either(ended, after, nothing)

    cut = made.truncated & ~made.terminated
    sums, told = jax.lax.scan(step, before.sums, (estimates, made.reward, cut, end.ended, counts))
    return RunningEstimates(sums, jax.tree.map(lambda x: x[-1], estimates)), told


def compare(
    agent: Any,
    agent_state: Any,
    before: RunningEstimates,
    made: Transition,
    end: EpisodeEnd,
    iteration: Int[Array, ""],
    counts: Bool[Array, "T B"],
    discount: float | Float[Array, ""],
    scale: float | Float[Array, ""],
) -> tuple[RunningEstimates, EstimateSums]:
    """Returns what `add_steps` does, with estimates in every `EVERY`-th iteration, whose states count, or the latest.

    Args:
        agent, agent_state: whose estimates they are.
        before: of the episodes on their way.
        made, end: [T, B] the steps.
        iteration: how many were made before.
        counts: of which steps the states may count.
        discount: gamma.
        scale: of the rewards that the agent learned its values from: estimates are multiplied by it.
    """
    asked = iteration % EVERY == 0

    def known() -> Estimate:
        return jax.tree.map(lambda x: scale * x, estimates_of(agent, agent_state, made))

    def latest() -> Estimate:
        return jax.tree.map(lambda x: jnp.broadcast_to(x, made.reward.shape), before.latest)

    return add_steps(before, jax.lax.cond(asked, known, latest), made, end, counts & asked, discount)


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
