"""One environment as dm_env's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.env import Env
from ...core.errors import check_count
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from .gymnasium_env import first
from .stepper import LARGEST_SEED, Stepper, made
from .stepping import ResetRule
from .theirs import derived, required


class DmEnvironment:
    """An environment of ours as `dm_env.Environment`; `to_dm_env` makes it.

    A discount is 0 where the task ended and 1 where the clock ended the episode. The step after the last one of an
    episode begins the next, whatever its action.

    Args:
        env: an environment.
        seed: of everything random.
    """

    def __init__(self, env: Env, seed: int = 0) -> None:
        self.env, self.seed = env, check_count("seed", seed, low=0, high=LARGEST_SEED)
        self._stepper = Stepper(env, 1, ResetRule.DISABLED)
        self._ended = True
        self._dm_env = required("dm_env", "dm-env", "to_dm_env")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.env, self.seed, self._stepper, self._ended)

    def reset(self) -> Any:
        """Begins an episode: returns its first timestep, without reward and discount."""
        result = self._stepper.reset([None if self._stepper.has_begun else self.seed])
        self._ended = False
        return self._dm_env.restart(first(result.obs))

    def step(self, action: Any) -> Any:
        """Takes one action; begins the next episode where the last one has ended.

        Raises:
            ConfigError: for what is no action.
        """
        if self._ended:
            return self.reset()
        result = self._stepper.step_one(action)
        obs, reward = first(result.obs), float(result.reward[0])
        self._ended = bool(result.terminated[0] | result.truncated[0])
        if result.terminated[0]:
            return self._dm_env.termination(reward, obs)
        return (self._dm_env.truncation if self._ended else self._dm_env.transition)(reward, obs)

    def observation_spec(self) -> Any:
        """Returns where observations lie."""
        return self._spec(self._stepper.observation_space, "observation")

    def action_spec(self) -> Any:
        """Returns where actions lie."""
        return self._spec(self._stepper.action_space, "action")

    def _spec(self, space: Space, name: str) -> Any:
        specs = self._dm_env.specs
        match space:
            case Discrete():
                return specs.DiscreteArray(space.n, space.dtype, name)
            case MultiDiscrete():
                return specs.BoundedArray(space.shape, space.dtype, 0, np.asarray(space.nvec) - 1, name)
            case Dict():
                return {part: self._spec(inner, part) for part, inner in space.spaces.items()}
            case Box():
                low, high = (np.asarray(bound, space.dtype) for bound in (space.low, space.high))
                return specs.BoundedArray(space.shape, space.dtype, low, high, name)


def to_dm_env(env: str | Env, *, seed: int = 0, **options: Any) -> Any:
    """Makes a `dm_env.Environment` of an id or an environment of ours.

    Args:
        env: an id, or an environment.
        seed: of everything random.
        options: of an environment by id; `max_episode_steps` is a time limit in the place of its own.

    Raises:
        ConfigError: for an unknown id or option, or without dm_env.
    """
    theirs = required("dm_env", "dm-env", "to_dm_env").Environment
    return derived(DmEnvironment, theirs)(made(env, **options), seed)


def _restored(env: Env, seed: int, stepper: Stepper, ended: bool) -> Any:
    """Returns an environment that goes on where another one was."""
    found = to_dm_env(env, seed=seed)
    found._stepper, found._ended = stepper, ended
    return found
