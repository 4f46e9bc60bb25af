"""Environments under random actions, whose loop lies inside one function of one lane: what a kernel is made for."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, UInt32

from kousoku.collectors.slot import EnvSlot, advance, begin
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Discrete
from kousoku.ops.exploration import uniform_index, unit_interval
from kousoku.ops.long_sums import add
from kousoku.ops.trees import select

BLOCK = 8


class RolloutState(eqx.Module):
    """One environment, and what its random steps have brought.

    Attributes:
        slot: the environment.
        reward: of all steps.
        episodes: that ended.
    """

    slot: EnvSlot
    reward: Float[Array, ""]
    episodes: Int[Array, ""]


def begin_rollout(env: Env, key: PRNGKeyArray) -> RolloutState:
    """Returns the state before the first step."""
    return RolloutState(begin(env, key), jnp.float32(0.0), jnp.int32(0))


def random_rollout(
    env: Env, steps: int, ahead: bool, key: PRNGKeyArray, call: Int[Array, ""], rollout: RolloutState
) -> RolloutState:
    """Takes random actions for a number of steps; every episode that ends is followed by one from a new random start.

    Every random bit comes from threefry, and is used once. A block of eight steps draws its actions together: one
    word serves them all where actions are discrete. With `ahead` it also draws, once, the start that follows should an
    episode end: enough, because no episode of the classic environments is shorter than eight steps, so that no two end
    in one block. Without, `advance` draws a start where one is needed, as everywhere else in this library.

    Args:
        env: with a Discrete or Box action space.
        steps: a multiple of eight.
        ahead: whether starts are drawn ahead.
        key: of this slot.
        call: how many times this slot was here before.
        rollout: before the steps.
    """
    action_key, start_key = jax.random.split(jax.random.fold_in(key, call))
    count = steps // BLOCK
    words = jax.random.bits(action_key, (count, 1 if isinstance(env.action_space, Discrete) else BLOCK), jnp.uint32)

    def block(rollout: RolloutState, drawn: tuple[Array, PRNGKeyArray]) -> tuple[RolloutState, None]:
        fresh = begin(env, drawn[1])

        def step(rollout: RolloutState, given: tuple[PyTree, Array]) -> tuple[RolloutState, None]:
            action, number = given
            if ahead:
                return _step(env, rollout, action, fresh, drawn[1]), None
            slot, taken, end = advance(env, rollout.slot, action, jax.random.fold_in(drawn[1], number))
            return _counted(rollout, slot, taken.reward, end.ended), None

        chosen = actions(env.action_space, drawn[0])
        return jax.lax.scan(step, rollout, (chosen, jnp.arange(BLOCK, dtype=jnp.int32)))

    return jax.lax.scan(block, rollout, (words, jax.random.split(start_key, count)))[0]


def _step(env: Env, rollout: RolloutState, action: PyTree, fresh: EnvSlot, key: PRNGKeyArray) -> RolloutState:
    """Takes one step; `fresh` is where the next episode starts."""
    slot = rollout.slot
    env_state, timestep = env.step(key, slot.env_state, action)
    length = slot.episode_step + 1
    ended = timestep.terminated | timestep.truncated
    if env.time_limit is not None:
        ended |= length >= env.time_limit
    episode_return, rest = add(slot.episode_return, slot.return_rest, timestep.reward)
    going = EnvSlot(env_state, timestep.obs, length, episode_return, return_rest=rest)
    return _counted(rollout, select(ended, fresh, going), timestep.reward, ended)


def _counted(rollout: RolloutState, slot: EnvSlot, reward: Array, ended: Array) -> RolloutState:
    return RolloutState(slot, rollout.reward + reward, rollout.episodes + ended.astype(jnp.int32))


def actions(space: Any, words: UInt32[Array, " n"]) -> Array:
    """Returns a block's random actions.

    Discrete(n), from one word w: the leading digits of w / 2**32 to the base n, of which each has a bias below
    n**8 / 2**32. Box: one word each, uniform between its bounds.
    """
    if isinstance(space, Discrete):
        powers = jnp.array([space.n**i % 2**32 for i in range(BLOCK)], jnp.uint32)
        return jax.vmap(lambda word: uniform_index(word, space.n))(words * powers)
    if not isinstance(space, Box):
        raise NotImplementedError(f"random actions of {space}")
    low, high = (jnp.broadcast_to(jnp.asarray(end, jnp.float32), (1, *space.shape)) for end in (space.low, space.high))
    return low + (high - low) * jnp.reshape(unit_interval(words), (BLOCK, *([1] * len(space.shape))))
