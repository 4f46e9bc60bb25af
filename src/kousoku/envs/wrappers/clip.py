"""Clipping: rewards and actions that are cut at bounds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import Box
from ...core.timestep import Timestep
from ...core.wrapper import Wrapper
from ..fields import Number, one_number
from .base import box_of, model_of, panels_of


def _end(name: str) -> Any:
    def converted(value: Any) -> Number:
        return one_number(name, value)

    return eqx.field(converter=converted)


class ClipReward(Wrapper):
    """Rewards that are cut at two bounds, as Gymnasium's ClipReward; Atari's are, to [-1, 1].

    Attributes:
        min_reward: the lower bound; it may be infinite.
        max_reward: the upper bound.

    References:
        Mnih et al., Human-level control through deep reinforcement learning, Nature 518 (2015), methods.

    Examples:
        >>> import jax
        >>> import kousoku as ks
        >>> env = ClipReward(ks.make("CliffWalking-v1"), -10.0, 0.0)
        >>> state, _ = env.reset(jax.random.key(0))
        >>> float(env.step(jax.random.key(1), state, jnp.int32(1))[1].reward)  # over the cliff, which costs 100
        -10.0
    """

    min_reward: Number = _end("min_reward")
    max_reward: Number = _end("max_reward")

    def __check_init__(self) -> None:
        low, high = self.min_reward, self.max_reward
        if isinstance(low, float) and isinstance(high, float) and not low < high:
            raise ConfigError("max_reward", high, f"use more than min_reward, which is {low:g}")

    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Timestep]:
        """Takes one action; its reward is clip(reward, min_reward, max_reward)."""
        state, timestep = self.env.step(key, state, action)
        low, high = (jnp.asarray(end, jnp.float32) for end in (self.min_reward, self.max_reward))
        reward = jnp.clip(timestep.reward, low, high)
        return state, Timestep(timestep.obs, reward, timestep.terminated, timestep.truncated, timestep.info)

    def model(self) -> TabularModel:
        """Returns the exact model of the environment inside with clipped rewards."""
        model = model_of(self.env)
        reward = np.clip(np.asarray(model.reward), np.asarray(self.min_reward), np.asarray(self.max_reward))
        return dataclasses.replace(model, reward=reward)

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states of the environment inside lie in a picture."""
        return panels_of(self.env)


class ClipAction(Wrapper):
    """Any numbers as actions, which are cut at the bounds, as Gymnasium's ClipAction.

    The loops here clip every action already: this is for a policy that is to see no bounds.

    Examples:
        >>> import kousoku as ks
        >>> env = ClipAction(ks.make("Pendulum-v1"))
        >>> env.action_space, env.inner_action(jnp.array([7.0])).tolist()
        (Box(low=-inf, high=inf, shape=(1,)), [2.0])
    """

    def __check_init__(self) -> None:
        self._bounded()

    @property
    def action_space(self) -> Box:
        """All numbers."""
        space = self._bounded()
        return Box(-math.inf, math.inf, space.shape, space.dtype)

    def step(self, key: PRNGKeyArray, state: Any, action: Float[Array, "..."]) -> tuple[Any, Timestep]:
        """Takes one action, clipped."""
        return self.env.step(key, state, self.inner_action(action))

    def inner_action(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Returns the action within its bounds."""
        space = self._bounded()
        low, high = (np.broadcast_to(np.asarray(end, space.dtype), space.shape) for end in (space.low, space.high))
        return jnp.clip(action, low, high)

    def _bounded(self) -> Box:
        space = box_of(self, "action_space", self.env.action_space)
        if space.dtype.kind != "f":
            raise ConfigError("action_space", space, "ClipAction needs one of floating point numbers")
        return space
