"""A vector of Gymnasium's that somebody has made, as one that training steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from ...core.errors import ConfigError
from .group import Rows
from .values import leaves_of, observed, told_of, unbatched


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


def check_texts(name: str, env: Any) -> None:
    """Refuses a vector whose processes share memory for texts, which Gymnasium reads before the first and never again.

    Raises:
        ConfigError: saying how to make it.
    """
    says = any(leaf.codes is not None for leaf in leaves_of(env.single_observation_space))
    if says and getattr(env.unwrapped, "shared_memory", False):
        fix = "Gymnasium does not renew texts in memory that is shared; make it with shared_memory=False"
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
        self._env, self._count = env, len(seeds)
        self._seeds: list[int] | None = list(seeds)
        self._observations = leaves_of(env.single_observation_space)
        self._actions = leaves_of(env.single_action_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        if slots is None:
            seeds, self._seeds = self._seeds, None
            # The interface takes one seed; a list of them is an extension of these two.
            several = isinstance(self._env.unwrapped, SyncVectorEnv | AsyncVectorEnv)
            seed = seeds if several or seeds is None else seeds[0]
            return observed(self._observations, self._count, self._env.reset(seed=seed)[0])
        mask = np.zeros(self._count, bool)
        mask[list(slots)] = True
        obs, _ = self._env.reset(options={"reset_mask": mask})
        return [leaf[list(slots)] for leaf in observed(self._observations, self._count, obs)]

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        theirs = unbatched(self._env.single_action_space, self._actions, actions)
        obs, reward, terminated, truncated, _ = self._env.step(theirs)
        return observed(self._observations, self._count, obs), *told_of(self._count, reward, terminated, truncated)

    def close(self) -> None:
        pass
