"""The one place where episodes end and begin: time limits, auto-reset, the true successor."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..core.env import Env
from ..core.timestep import Transition
from ..ops.trees import select


class Lane(eqx.Module):
    """One environment between two steps.

    Attributes:
        env_state: the environment's own state.
        obs: what the agent sees now.
        episode_step: steps taken in this episode.
        episode_return: undiscounted sum of this episode's rewards.
    """

    env_state: Any
    obs: PyTree[Array]
    episode_step: Int[Array, ""]
    episode_return: Float[Array, ""]


class EpisodeEnd(eqx.Module):
    """Whether the step just taken ended an episode, and that episode's return and length so far."""

    ended: Bool[Array, ""]
    episode_return: Float[Array, ""]
    length: Int[Array, ""]


def begin(env: Env, key: PRNGKeyArray) -> Lane:
    """A lane at the start of its first episode."""
    env_state, timestep = env.reset(key)
    return Lane(env_state, timestep.obs, jnp.int32(0), jnp.float32(0.0))


def advance(env: Env, lane: Lane, action: PyTree[Array], key: PRNGKeyArray) -> tuple[Lane, Transition, EpisodeEnd]:
    """Take one action; if that ends the episode, begin the next one from a fresh start.

    The transition's `next_obs` is what the action led to, also when the lane has moved on to a new episode. An episode
    that reaches the time limit is truncated; one that ends by itself on that very step is both.
    """
    step_key, reset_key = jax.random.split(key)
    env_state, timestep = env.step(step_key, lane.env_state, action)
    length = lane.episode_step + 1
    episode_return = lane.episode_return + timestep.reward
    truncated = timestep.truncated if env.time_limit is None else timestep.truncated | (length >= env.time_limit)
    ended = timestep.terminated | truncated
    transition = Transition(
        lane.obs, action, timestep.reward, timestep.terminated, truncated, timestep.obs, timestep.info
    )
    fresh_state, fresh = env.restart(reset_key, env_state)
    next_lane = select(
        ended,
        Lane(fresh_state, fresh.obs, jnp.int32(0), jnp.float32(0.0)),
        Lane(env_state, timestep.obs, length, episode_return),
    )
    return next_lane, transition, EpisodeEnd(ended, episode_return, length)
