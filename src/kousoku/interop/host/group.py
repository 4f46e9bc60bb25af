"""Several environments in one process, stepped one after the other.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .exits import exit_text
from .values import leaves_of, read, single, written

Rows = list[np.ndarray]


class EnvGroup:
    """V objects with the interface of `gymnasium.Env`: a `kousoku.core.host.HostVector`.

    Each is seeded at its first reset, and goes on with its own randomness at later ones.
    """

    def __init__(self, factory: Callable[[], Any], seeds: Sequence[int]) -> None:
        """Makes one environment for each seed."""
        self._envs: list[Any] = []
        try:
            for _ in seeds:
                self._envs.append(factory())
        except BaseException:
            self.close()
            raise
        self._seeds: list[int | None] = list(seeds)
        self._action_space = self._envs[0].action_space
        self._actions, self._observations = leaves_of(self._action_space), leaves_of(self._envs[0].observation_space)

    def reset(self, slots: Sequence[int] | None = None) -> Rows:
        begun = []
        try:
            for slot in range(len(self._envs)) if slots is None else slots:
                obs, _ = self._envs[slot].reset(seed=self._seeds[slot])
                self._seeds[slot] = None
                begun.append(obs)
        except SystemExit as error:
            raise RuntimeError(exit_text(error)) from error
        return written(self._observations, begun)

    def step(self, actions: Sequence[np.ndarray]) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        theirs = read(self._action_space, self._actions, actions)
        try:
            said = [env.step(action) for env, action in zip(self._envs, theirs, strict=True)]
        except SystemExit as error:
            raise RuntimeError(exit_text(error)) from error
        obs, reward, terminated, truncated, _ = zip(*said, strict=True)
        ends = single("terminated", terminated, bool), single("truncated", truncated, bool)
        return written(self._observations, obs), single("reward", reward, np.float32), *ends

    def close(self) -> None:
        """Closes all environments, also where one of them fails to."""
        with contextlib.ExitStack() as stack:
            for env in reversed(self._envs):  # the stack is emptied from its end
                stack.callback(env.close)


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
