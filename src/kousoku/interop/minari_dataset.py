"""Minari's data sets as ours."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np

from ..core.dataset import Dataset
from ..core.errors import ConfigError
from ..core.spaces import Space, element_like
from .host.spaces import our_space
from .host.values import leaves_of, observed


def from_minari(data: Any) -> Dataset:
    """Returns a data set of Minari's as ours: its episodes one after the other, true successors included.

    An episode whose recording breaks off is truncated there. Nothing is downloaded: `minari download ID` does that.

    Args:
        data: the id of one that lies on this machine, such as "mujoco/hopper/medium-v0"; or a `minari.MinariDataset`.

    Raises:
        ConfigError: if Minari is not installed or has no such data set here, a space has no counterpart, or the arrays
            are no transitions or damaged, naming the episode; and for what is no data set of Minari's.
    """
    if isinstance(data, str):
        data = _loaded(data)
    if not hasattr(data, "iterate_episodes"):
        raise ConfigError("dataset", type(data).__name__, "give a minari.MinariDataset, or the id of one")
    names = ("observation_space", "action_space")
    spaces = {name: our_space(name, getattr(data, name), acts=name == "action_space") for name in names}
    readers = [_Reader(name, getattr(data, name), ours) for name, ours in spaces.items()]
    episodes = [arrays for arrays in _episodes(data, *readers) if len(arrays["reward"])]
    if not episodes:
        raise ConfigError("dataset", getattr(data, "id", None), "it has no episode with a step")
    arrays = jax.tree.map(lambda *parts: np.concatenate(parts), *episodes)
    if not arrays["broken_off"].any():
        del arrays["broken_off"]
    env = data.spec.env_spec.id if data.spec.env_spec is not None else None
    return Dataset(
        **arrays,
        observation_space=spaces["observation_space"],
        action_space=spaces["action_space"],
        env=env,
    )


def _loaded(id: str) -> Any:
    try:
        minari = importlib.import_module("minari")
    except ImportError:
        raise ConfigError("from_minari", "no minari", "pip install 'kousoku[minari]'") from None
    try:
        return minari.load_dataset(id)
    except Exception as error:  # of any kind: Minari's, h5py's and Arrow's
        why = (str(error).strip() or repr(error)).splitlines()[0]
        raise ConfigError("dataset", id, f"minari: {why}; `minari download {id}` fetches it") from error


class _Reader:
    """A reader of the values of a space of theirs as arrays of ours: indices from 0, a Tuple as a dict.

    Attributes:
        what: the name of their space, for messages.
        leaves: the arrays of their space.
        structure: the tree of ours.
    """

    def __init__(self, what: str, theirs: Any, ours: Space) -> None:
        self.what = what
        self.leaves = [leaf._replace(what=what.removesuffix("_space")) for leaf in leaves_of(theirs)]
        self.structure = jax.tree.structure(element_like(ours))

    def __call__(self, count: int, values: Any) -> Any:
        """Returns so many values that come together, [count, ...] each part.

        Raises:
            ConfigError: for another number of them, or what is not in the space.
        """
        try:
            return jax.tree.unflatten(self.structure, observed(self.leaves, count, values))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            why = str(error) if isinstance(error, ValueError) else repr(error)
            raise ConfigError(f"dataset's {self.what}", ..., f"it has other values: {why}") from error


def _episodes(data: Any, observations: _Reader, actions: _Reader) -> list[dict[str, Any]]:
    """Returns the arrays of all episodes.

    Raises:
        ConfigError: for one that cannot be read, or whose arrays are no transitions, naming it.
    """
    made: list[dict[str, Any]] = []
    try:
        for episode in data.iterate_episodes():
            made.append(_transitions(observations, actions, episode))
    except Exception as error:  # of any kind: Minari's, h5py's and Arrow's
        indices = getattr(data, "episode_indices", None)
        which = len(made) if indices is None or len(made) >= len(indices) else indices[len(made)]
        own = isinstance(error, ConfigError)
        field, why = (error.field, error.fix) if own else ("dataset", f"it cannot be read, {error!r}")
        raise ConfigError(field, getattr(data, "id", None), f"episode {which}: {why}") from error
    return made


def _transitions(observations: _Reader, actions: _Reader, episode: Any) -> dict[str, Any]:
    """Returns one episode of Minari's, of T steps, as the arrays of a data set.

    Raises:
        ConfigError: for arrays of other lengths than T, or T + 1 of observations.
    """
    count = len(episode.rewards)
    for name in ("rewards", "terminations", "truncations"):
        shape = np.shape(getattr(episode, name))
        if shape != (count,):
            raise ConfigError(f"dataset's {name}", ..., f"their shape is {shape}, and {(count,)} is needed")
    terminated, truncated = (np.array(ends, bool) for ends in (episode.terminations, episode.truncations))
    broken_off = np.zeros_like(truncated)
    broken_off[-1:] = ~(terminated[-1:] | truncated[-1:])
    seen = observations(count + 1, episode.observations)
    return {
        "obs": jax.tree.map(lambda x: x[:-1], seen),
        "action": actions(count, episode.actions),
        "reward": np.asarray(episode.rewards),
        "terminated": terminated,
        "truncated": truncated | broken_off,
        "next_obs": jax.tree.map(lambda x: x[1:], seen),
        "broken_off": broken_off,
    }
