"""Several environments in one process, stepped one after the other.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .values import Reader, Writer

Rows = list[np.ndarray]


class Group:
    """V objects with the interface of `gymnasium.Env`: a `kousoku.core.host.HostVector`.

    Each is seeded at its first reset, and goes on with its own randomness at later ones.
    """

    def __init__(self, factory: Callable[[], Any], seeds: Sequence[int]) -> None:
        """Makes one environment for each seed."""
        self._envs: list[Any] = []
        for _ in seeds:
            self._envs.append(factory())
        self._seeds: list[int | None] = list(seeds)
        self._writer = Writer(self._envs[0].observation_space)
        self._reader = Reader(self._envs[0].action_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        chosen = range(len(self._envs)) if slots is None else slots
        rows = self._writer.empty(len(chosen))
        for row, slot in enumerate(chosen):
            obs, _ = self._envs[slot].reset(seed=self._seeds[slot])
            self._seeds[slot] = None
            self._writer.write(rows, row, obs)
        return rows

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        count = len(self._envs)
        rows, reward = self._writer.empty(count), np.empty(count, np.float32)
        terminated, truncated = np.empty(count, bool), np.empty(count, bool)
        for i, env in enumerate(self._envs):
            obs, reward[i], terminated[i], truncated[i], _ = env.step(self._reader.read(actions, i))
            self._writer.write(rows, i, obs)
        return rows, reward, terminated, truncated

    def close(self) -> None:
        for env in self._envs:
            env.close()
