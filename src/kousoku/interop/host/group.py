"""Several environments in one process, stepped one after the other.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .values import leaves_of, read, written

Rows = list[np.ndarray]


class EnvGroup:
    """V objects with the interface of `gymnasium.Env`: a `kousoku.core.host.HostVector`.

    Each is seeded at its first reset, and goes on with its own randomness at later ones.
    """

    def __init__(self, factory: Callable[[], Any], seeds: Sequence[int]) -> None:
        """Makes one environment for each seed."""
        self._envs: list[Any] = []
        for _ in seeds:
            self._envs.append(factory())
        self._seeds: list[int | None] = list(seeds)
        self._action_space = self._envs[0].action_space
        self._actions, self._observations = leaves_of(self._action_space), leaves_of(self._envs[0].observation_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        begun = []
        for slot in range(len(self._envs)) if slots is None else slots:
            obs, _ = self._envs[slot].reset(seed=self._seeds[slot])
            self._seeds[slot] = None
            begun.append(obs)
        return written(self._observations, begun)

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        theirs = read(self._action_space, self._actions, actions)
        said = [env.step(action) for env, action in zip(self._envs, theirs, strict=True)]
        obs, reward, terminated, truncated, _ = zip(*said, strict=True)
        told = np.array(reward, np.float32), np.array(terminated, bool), np.array(truncated, bool)
        return written(self._observations, obs), *told

    def close(self) -> None:
        for env in self._envs:
            env.close()


class DrawnGroup(EnvGroup):
    """V objects that draw themselves as `gymnasium.Env` does: a `kousoku.core.host.DrawnHostVector`."""

    @property
    def dt(self) -> float | None:
        """Seconds that a frame should be shown, by the environment's `render_fps`."""
        rate = self._envs[0].metadata.get("render_fps")
        return 1.0 / float(rate) if rate else None

    def pixels(self) -> np.ndarray:
        """Draws the first environment."""
        return np.asarray(self._envs[0].render())
