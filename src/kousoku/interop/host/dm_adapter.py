"""Environments with DeepMind's interface `dm_env` as Gymnasium's.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ...core.errors import ConfigError
from .generators import seed_generators

MOST_CHOICES = 256
"""Up to here whole numbers of an action are choices, for which agents have a distribution; above, they are numbers."""
_LARGEST = int(np.iinfo(np.int32).max)


class DmAdapter(gymnasium.Env[Any, Any]):
    """An environment of `dm_env` as one of Gymnasium's; made again with the seed where its factory takes one.

    A copy of one is seeded by the generators that it holds.
    """

    def __init__(self, factory: Callable[..., Any], copied: bool = False) -> None:
        self._factory, self._copied = factory, copied
        self._seeded = "seed" in inspect.signature(factory).parameters
        self._env = factory(seed=0) if self._seeded else factory()
        self.observation_space = _space("observation", self._env.observation_spec())
        self._action_spec = self._env.action_spec()
        self.action_space = _space("action", self._action_spec)

    @property
    def name(self) -> str:
        """The class of the environment."""
        return type(self._env).__name__

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        del options
        if seed is not None and self._seeded:
            self._env = self._factory(seed=seed)
        elif seed is not None and self._copied:
            seed_generators(self._env, seed)
        return _values(self._env.reset().observation), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        timestep = self._env.step(_action(self._action_spec, action))
        ended = timestep.last()
        terminated = ended and bool(np.all(timestep.discount == 0))
        return _values(timestep.observation), _reward(timestep), terminated, ended and not terminated, {}

    def close(self) -> None:
        self._env.close()


def _space(what: str, spec: Any) -> spaces.Space[Any]:
    """Returns a spec as a space of Gymnasium's.

    Raises:
        ConfigError: for one that has no counterpart.
    """
    if isinstance(spec, Mapping):
        return spaces.Dict({str(name): _space(what, part) for name, part in spec.items()})
    if isinstance(spec, tuple | list):
        return spaces.Tuple([_space(what, part) for part in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(int(spec.num_values))
    dtype: Any = np.dtype(getattr(spec, "dtype", object))
    if dtype.kind not in "bfiu":
        raise ConfigError(f"{what} spec", spec, "use an Array, BoundedArray or DiscreteArray of numbers, or a dict")
    least, most = _ends(dtype)
    dtype = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    low: Any = np.broadcast_to(getattr(spec, "minimum", least), spec.shape).astype(dtype)
    high: Any = np.broadcast_to(getattr(spec, "maximum", most), spec.shape).astype(dtype)
    choices = _choices(low, high) if what == "action" and dtype.kind in "iu" else None
    return spaces.Box(low, high, spec.shape, dtype) if choices is None else choices


def _ends(dtype: np.dtype) -> tuple[Any, Any]:
    """Returns the least and the largest number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)


def _choices(low: np.ndarray, high: np.ndarray) -> spaces.Space[Any] | None:
    """Returns whole numbers to choose from, as a space of indices; None where they have more axes or are many."""
    if low.ndim > 1 or low.size == 0 or max(abs(int(low.min())), abs(int(high.max()))) > _LARGEST:
        return None
    counts = high.astype(np.int64) - low.astype(np.int64) + 1
    if counts.min() < 1 or counts.max() > MOST_CHOICES:
        return None
    if low.ndim == 0:
        return spaces.Discrete(int(counts), start=int(low))
    return spaces.MultiDiscrete(counts, start=low.astype(np.int64))


def _reward(timestep: Any) -> Any:
    """Returns a step's reward as one number: 0 where a first step has none; as it is where it is no number."""
    reward = timestep.reward
    if reward is None and timestep.first():
        return 0.0
    return reward.item() if isinstance(reward, np.ndarray) and reward.size == 1 else reward


def _action(spec: Any, action: Any) -> Any:
    """Returns an action in the form of its spec, each part in its dtype."""
    if isinstance(spec, Mapping):
        return {name: _action(part, action[str(name)]) for name, part in spec.items()}
    if isinstance(spec, tuple | list):
        parts = list(map(_action, spec, action))
        return getattr(spec, "_make", type(spec))(parts)  # a namedtuple takes its parts one by one
    return np.asarray(action, spec.dtype)[()]  # a number is a scalar, which may be a key of a dict


def _values(observation: Any) -> Any:
    """Returns an observation with the names that its space has."""
    if isinstance(observation, Mapping):
        return {str(name): _values(part) for name, part in observation.items()}
    return observation
