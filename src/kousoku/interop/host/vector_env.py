"""A vector of Gymnasium's that somebody has made, as one that training steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from ...core.errors import ConfigError
from .group import Rows
from .values import batched, leaves_of, unbatched


def check_masks(name: str, env: Any) -> None:
    """Refuses a vector whose environments cannot begin episodes one by one, by the option `reset_mask`.

    Without it, what an episode's last action led to would be lost, or a step would be taken that does nothing.

    Raises:
        ConfigError: saying how to make it.
    """
    mode = env.metadata.get("autoreset_mode")
    known = isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv)
    if mode == AutoresetMode.DISABLED or (mode == AutoresetMode.NEXT_STEP and known):
        return
    fix = f"its autoreset mode is {mode}; make it with gymnasium.vector.AutoresetMode.DISABLED"
    raise ConfigError("env", name, fix)


def check_size(what: str, there: int, slots: int) -> None:
    """Refuses a vector, or another such thing, with more or fewer environments than training has slots.

    Raises:
        ConfigError: with both numbers.
    """
    if there != slots:
        fix = f"the agents have {slots} slots in all; make a {what} of as many, or say how one environment is made"
        raise ConfigError(f"num_envs of the {what}", there, fix)


class GymnasiumVector:
    """A `kousoku.core.host.HostVector` of a `gymnasium.vector.VectorEnv`, which whoever made it closes."""

    def __init__(self, env: Any, seeds: Sequence[int]) -> None:
        """Takes a vector.

        Raises:
            ConfigError: if it has another number of environments than there are seeds.
        """
        check_size("vector", env.num_envs, len(seeds))
        self._env, self._seeds = env, list(seeds)
        self._observations = leaves_of(env.single_observation_space)
        self._actions = leaves_of(env.single_action_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        if slots is None:
            seeds, self._seeds = self._seeds, [None] * len(self._seeds)
            return batched(self._observations, self._env.reset(seed=seeds)[0])
        mask = np.zeros(len(self._seeds), bool)
        mask[list(slots)] = True
        obs, _ = self._env.reset(options={"reset_mask": mask})
        return [leaf[list(slots)] for leaf in batched(self._observations, obs)]

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        theirs = unbatched(self._env.single_action_space, self._actions, actions)
        obs, reward, terminated, truncated, _ = self._env.step(theirs)
        told = np.array(reward, np.float32), np.array(terminated, bool), np.array(truncated, bool)
        return batched(self._observations, obs), *told

    def close(self) -> None:
        pass
