"""Minari's data sets as ours."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np

from ..core.dataset import Dataset
from ..core.errors import ConfigError
from ..core.spaces import Space
from .host.spaces import our_space
from .host.values import batched, leaves_of


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
    spaces = {name: our_space(name, getattr(data, name)) for name in ("observation_space", "action_space")}
    seen, taken = (_Reader(name, getattr(data, name), ours) for name, ours in spaces.items())
    episodes = [_transitions(seen, taken, episode) for episode in data.iterate_episodes() if len(episode.rewards)]
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
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = str(error).strip().splitlines()[0]
        raise ConfigError("dataset", id, f"minari: {why}; `minari download {id}` fetches it") from error


class _Reader:
    """A reader of the values of a space of theirs as arrays of ours: indices from 0, a Tuple as a dict.

    Attributes:
        what: the name of their space, for messages.
        leaves: the arrays of their space.
        structure: the tree of ours.
    """

    def __init__(self, what: str, theirs: Any, ours: Space) -> None:
        self.what, self.leaves = what, leaves_of(theirs)
        self.structure = jax.tree.structure(jax.eval_shape(ours.sample, jax.eval_shape(lambda: jax.random.key(0))))

    def __call__(self, values: Any) -> Any:
        """Returns T values that come together, [T, ...] each part.

        Raises:
            ConfigError: for what is not in the space.
        """
        try:
            return jax.tree.unflatten(self.structure, batched(self.leaves, values))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ConfigError(f"dataset's {self.what}", ..., f"it has other values: {error}") from error


def _transitions(observations: _Reader, actions: _Reader, episode: Any) -> dict[str, Any]:
    """Returns one episode of Minari's as the arrays of a data set."""
    terminated, truncated = (np.array(ends, bool) for ends in (episode.terminations, episode.truncations))
    broken_off = np.zeros_like(truncated)
    broken_off[-1] = not (terminated[-1] or truncated[-1])
    seen = observations(episode.observations)
    return {
        "obs": jax.tree.map(lambda x: x[:-1], seen),
        "action": actions(episode.actions),
        "reward": np.asarray(episode.rewards),
        "terminated": terminated,
        "truncated": truncated | broken_off,
        "next_obs": jax.tree.map(lambda x: x[1:], seen),
        "broken_off": broken_off,
    }
