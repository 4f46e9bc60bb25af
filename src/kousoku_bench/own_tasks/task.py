"""A task with a policy by hand that solves it well, and what both earn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kousoku.core.env import Env
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep


class Task(Env):
    """An environment that knows a good policy."""

    @abstractmethod
    def expert(self, obs: Any) -> Array:
        """Returns what a person who knows the task would do."""


class NumbersTask(Task):
    """A task whose observation is `width` numbers of any size."""

    width: eqx.AbstractVar[int]

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (self.width,))


def told(obs: Array, reward: Any, terminated: Any = False) -> Timestep:
    """Returns the time step of an observation; time limits are no matter of a task."""
    return Timestep(obs, jnp.asarray(reward, jnp.float32), jnp.asarray(terminated, bool), jnp.bool_(False))


def returns_of(task: Task, policy: Callable[[Any, Array], Any], episodes: int, seed: int = 0) -> Float[Array, " n"]:
    """Plays episodes of a policy.

    Args:
        task: with a time limit.
        policy: (observation, key) -> action.
        episodes: how many.
        seed: of all randomness.

    Returns:
        The undiscounted return of each.
    """
    limit = task.time_limit
    assert limit is not None

    def episode(key: Array) -> Float[Array, ""]:
        reset_key, loop_key = jax.random.split(key)
        state, first = task.reset(reset_key)

        def step(at: tuple[Any, Any, Bool[Array, ""]], key: Array) -> tuple[Any, Any]:
            state, obs, over = at
            act_key, step_key = jax.random.split(key)
            state, timestep = task.step(step_key, state, policy(obs, act_key))
            return (state, timestep.obs, over | timestep.terminated), jnp.where(over, 0.0, timestep.reward)

        begin = state, first.obs, jnp.bool_(False)
        return jnp.sum(jax.lax.scan(step, begin, jax.random.split(loop_key, limit))[1])

    return jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(seed), episodes))
