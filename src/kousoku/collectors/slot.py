"""The one place where episodes end and begin: time limits, auto-reset, the true successor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..core.collector import EpisodeEnd, SlotFunctions
from ..core.env import Env
from ..core.timestep import Timestep, Transition
from ..nn import clip_to
from ..ops.long_sums import add, rest_for
from ..ops.schedules import counted
from ..ops.trees import select
from .env_kernel import env_kernel, partition_env


class EnvSlot(eqx.Module):
    """One environment between two steps: when its episode ends, the next one begins in the same slot.

    Attributes:
        env_state: the environment's own state.
        obs: what the agent sees now.
        episode_step: the episode's clock, which the time limit goes by: its age as it began, and steps taken in it.
        episode_return: undiscounted sum of this episode's rewards.
        whole: whether the clock began at 0, as it does in every slot but for first episodes (see `at_staggered_ages`);
            None where it does in those, too.
        return_rest: what rounding has taken from the return; None where episodes are short (see `ops.long_sums`).
    """

    env_state: Any
    obs: PyTree[Array]
    episode_step: Int[Array, ""]
    episode_return: Float[Array, ""]
    whole: Bool[Array, ""] | None = None
    return_rest: Float[Array, ""] | None = None


def begin(env: Env, key: PRNGKeyArray) -> EnvSlot:
    """Makes a slot at the start of its first episode."""
    env_state, timestep = env.reset(key)
    return EnvSlot(env_state, timestep.obs, jnp.int32(0), jnp.float32(0.0), return_rest=rest_for(env.time_limit))


def at_staggered_ages(slots: EnvSlot, time_limit: int) -> EnvSlot:
    """Sets the clocks of B slots, [B, ...], that are to begin: slot i's to floor(i L / B), where L is the time limit.

    Episodes that begin together and end by the clock alone end together for ever: no return for L - 1 steps, then B of
    them, and a policy that learns from one part of the episode at a time. At staggered ages B / L end at each step. A
    first episode that the clock cuts short is truncated as any other, but it is not whole.
    """
    ages = staggered_ages(slots.episode_step.shape[0], time_limit)
    return jax.vmap(_at_age)(slots, jnp.asarray(ages, jnp.int32))


def staggered_ages(count: int, time_limit: int) -> np.ndarray:
    """Returns the ages at which the first episodes of so many slots begin, [B]."""
    return np.arange(count, dtype=np.int64) * time_limit // count


def _at_age(slot: EnvSlot, age: Int[Array, ""]) -> EnvSlot:
    return EnvSlot(slot.env_state, slot.obs, age, slot.episode_return, age == 0, slot.return_rest)


def take_step(
    env: Env, slot: EnvSlot, action: PyTree[Array], key: PRNGKeyArray
) -> tuple[EnvSlot, Transition, EpisodeEnd]:
    """Takes one action and stays where it led, also at the end of an episode.

    An episode that reaches the time limit is truncated; one that ends by itself on that very step is both.
    """
    env_state, timestep = env.step(key, slot.env_state, action)
    length = counted(slot.episode_step)
    episode_return, rest = add(slot.episode_return, slot.return_rest, timestep.reward)
    truncated = timestep.truncated
    if env.time_limit is not None:
        out = env.is_out_of_time(env_state, length) | ~timestep.terminated
        truncated |= (length >= env.time_limit) & out
    ended = timestep.terminated | truncated
    transition = Transition(
        slot.obs, action, timestep.reward, timestep.terminated, truncated, timestep.obs, timestep.info
    )
    after = EnvSlot(env_state, timestep.obs, length, episode_return, slot.whole, rest)
    return after, transition, EpisodeEnd(ended, episode_return, length, slot.whole)


def begin_next(env: Env, slot: EnvSlot, key: PRNGKeyArray) -> tuple[EnvSlot, Timestep]:
    """Begins the slot's next episode from a fresh start. No derivative goes from one episode to the next."""
    reset_state, reset = env.restart(key, jax.lax.stop_gradient(slot.env_state))
    whole = None if slot.whole is None else jnp.array(True)
    rest = None if slot.return_rest is None else jnp.float32(0.0)
    return EnvSlot(reset_state, reset.obs, jnp.int32(0), jnp.float32(0.0), whole, rest), reset


def advance(
    env: Env, slot: EnvSlot, action: PyTree[Array], key: PRNGKeyArray
) -> tuple[EnvSlot, Transition, EpisodeEnd]:
    """Takes one action; if that ends the episode, begins the next one from a fresh start.

    The transition's `next_obs` is what the action led to, also when the slot has moved on to a new episode.
    """
    step_key, reset_key = jax.random.split(key)
    after, transition, end = take_step(env, slot, action, step_key)
    fresh, _ = begin_next(env, after, reset_key)
    return select(end.ended, fresh, after), transition, end


def advance_clipped(
    env: Env, slot: EnvSlot, action: PyTree[Array], key: PRNGKeyArray
) -> tuple[EnvSlot, Transition, EpisodeEnd]:
    """Takes a step under an action that is clipped to its bounds."""
    return advance(env, slot, clip_to(env.action_space, action), key)


def told_to_agent(made: Transition, action: PyTree[Array], extras: Any) -> Transition:
    """Returns transitions, [...] or [B, ...], with the action as the agent chose it and with its extras."""
    where = lambda t: (t.action, t.extras)  # noqa: E731
    return eqx.tree_at(where, made, (action, extras), is_leaf=lambda x: x is None)


def plain_slots(env: Env) -> SlotFunctions:
    """Returns an environment's slot functions as they are: for code that is compiled as a whole."""
    return SlotFunctions(
        partial(begin, env), partial(advance_clipped, env), lambda function: partial(function, env), env.time_limit
    )


def kernel_slots(env: Env) -> SlotFunctions:
    """Returns an environment's slot functions compiled by the kernel, for use within a program of XLA's."""
    arrays, structure = partition_env(env)

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return partial(env_kernel(function, structure), arrays)

    return SlotFunctions(compiled(begin), compiled(advance_clipped), compiled, env.time_limit)
