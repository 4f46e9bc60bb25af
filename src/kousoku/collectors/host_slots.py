"""The slots of environments that run on the host: episodes begin and end, and what is true of each step is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ConfigError, EnvError, error_line
from ..core.host import HostEnv, Leaves


class HostStep(NamedTuple):
    """One step of V slots.

    Attributes:
        obs: before it, in the order of `jax.tree.leaves`.
        next_obs: what the action led to, also where the slot has moved on to a new episode.
        reward, terminated, truncated, ended: [V].
        episode_return, length: [V] of each slot's episode up to this step.
        cut: [V] whether it was truncated here, where the environment would have gone on.
    """

    obs: list[np.ndarray]
    next_obs: list[np.ndarray]
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    ended: np.ndarray
    episode_return: np.ndarray
    length: np.ndarray
    cut: np.ndarray


class HostSlots:
    """V slots of an environment on the host, each in the midst of an episode.

    Attributes:
        obs: what the agent sees now.
        length: [V] of the episodes so far.
    """

    def __init__(self, env: HostEnv, seeds: Sequence[int]) -> None:
        """Makes the environments, one for each seed, and begins an episode in each.

        Raises:
            ConfigError: if the environment cannot be made as it is asked for.
            EnvError: if it fails.
        """
        self._telling = Telling(env.name)
        with Telling(env.name, making=True):
            self._vector = env.make_vector(seeds)
        try:
            self.restart()
        except BaseException:
            self.close()
            raise

    def restart(self) -> None:
        """Begins a new episode in every slot; those that were on their way are forgotten."""
        with self._telling:
            first = self._vector.reset()
        self.obs: Leaves = first
        count = len(first[0])
        self._returns, self.length = np.zeros(count), np.zeros(count, np.int32)

    @property
    def episode_return(self) -> np.ndarray:
        """[V] of the episodes so far, float32; summed up in float64, so that long ones are right."""
        return self._returns.astype(np.float32)

    def step(self, actions: Leaves, cut_at: int | None = None) -> HostStep:
        """Takes one action in each slot; where an episode ends, the next one begins.

        Args:
            actions: [V, ...] as the environment takes them.
            cut_at: steps after which an episode is truncated; None for never.

        Raises:
            EnvError: if an environment fails.
        """
        before = self.obs
        with self._telling:
            next_obs, reward, terminated, truncated = self._vector.step(actions)
        self._returns, length = self._returns + reward, self.length + 1
        episode_return = self.episode_return
        cut = np.zeros(len(length), bool)
        if cut_at is not None:
            cut = (length >= cut_at) & ~terminated & ~truncated
            truncated = truncated | cut
        ended = terminated | truncated
        self.obs, self.length = next_obs, length
        if np.count_nonzero(ended):  # in a fraction of the time of `any`
            self._begin_next(ended)
        ends = terminated, truncated, ended
        return HostStep(list(before), list(next_obs), reward, *ends, episode_return, length, cut)

    def _begin_next(self, ended: np.ndarray) -> None:
        (slots,) = ended.nonzero()
        with self._telling:
            first = self._vector.reset(slots.tolist())
        self.obs, self.length = [leaf.copy() for leaf in self.obs], self.length.copy()
        for leaf, begun in zip(self.obs, first, strict=True):
            leaf[slots] = begun
        self._returns[slots], self.length[slots] = 0.0, 0

    def close(self) -> None:
        """Ends the environments."""
        with self._telling:
            self._vector.close()


class Telling:
    """A context that names the environment in whatever it raises.

    It is no generator, out of which `contextlib` would let a `StopIteration` go as it is.
    """

    def __init__(self, name: str, making: bool = False) -> None:
        """Takes the environment's name, and whether it is being made: a ConfigError then says how it may be."""
        self._name, self._making = name, making

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raises EnvError from what is the environment's own: others' code may raise anything, errors of ours too."""
        told = isinstance(error, EnvError) and str(error).startswith(f"environment {self._name}")
        told = told or (self._making and isinstance(error, ConfigError))
        if isinstance(error, (Exception, SystemExit)) and not told:
            raise EnvError(f"environment {self._name} raised {error_line(error)}") from error
