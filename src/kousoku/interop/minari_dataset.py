"""Minari's data sets as ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..core.dataset import Dataset
from ..core.errors import ConfigError
from ..core.spaces import Dict, Space
from .host.spaces import our_space


def from_minari(data: Any) -> Dataset:
    """Returns a data set of Minari's as ours: its episodes one after the other, true successors included.

    An episode whose recording breaks off is truncated there. Nothing is downloaded: `minari download ID` does that.

    Args:
        data: the id of one that lies on this machine, such as "mujoco/hopper/medium-v0"; or a `minari.MinariDataset`.

    Raises:
        ConfigError: if Minari is not installed or has no such data set here, a space has no counterpart, or the arrays
            are no transitions; and for what is no data set of Minari's.
    """
    if isinstance(data, str):
        data = _loaded(data)
    if not hasattr(data, "iterate_episodes"):
        raise ConfigError("dataset", type(data).__name__, "give a minari.MinariDataset, or the id of one")
    observations, actions = (
        our_space("observation_space", data.observation_space),
        our_space("action_space", data.action_space),
    )
    episodes = [_transitions(observations, actions, episode) for episode in data.iterate_episodes()]
    if not episodes:
        raise ConfigError("dataset", getattr(data, "id", None), "it has no episode")
    parts = [_concatenated(part) for part in zip(*episodes, strict=True)]
    env = data.spec.env_spec.id if data.spec.env_spec is not None else None
    return Dataset(*parts, observation_space=observations, action_space=actions, env=env)


def _loaded(id: str) -> Any:
    try:
        minari = importlib.import_module("minari")
    except ImportError:
        raise ConfigError("from_minari", "no minari", "pip install 'kousoku[minari]'") from None
    try:
        return minari.load_dataset(id)
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = str(error).strip().splitlines()[0]
        raise ConfigError("dataset", id, f"minari: {why}; `minari download {id}` fetches it") from error


def _transitions(observations: Space, actions: Space, episode: Any) -> tuple[Any, ...]:
    """Returns obs, action, reward, terminated, truncated and next_obs of one episode of Minari's."""
    terminated, truncated = (np.array(ends, bool) for ends in (episode.terminations, episode.truncations))
    truncated[-1] |= not terminated[-1]
    return (
        _rows(observations, episode.observations, slice(None, -1)),
        _rows(actions, episode.actions, slice(None)),
        np.asarray(episode.rewards),
        terminated,
        truncated,
        _rows(observations, episode.observations, slice(1, None)),
    )


def _rows(space: Space, value: Any, rows: slice) -> Any:
    if isinstance(space, Dict):
        return {name: _rows(part, value[name], rows) for name, part in space.spaces.items()}
    return np.asarray(value)[rows]


def _concatenated(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], dict):
        return {name: _concatenated(tuple(part[name] for part in parts)) for name in parts[0]}
    return np.concatenate(parts)
