"""Flat observations: any space as one vector."""

from __future__ import annotations

import math

import equinox as eqx
import numpy as np
from jaxtyping import Array, PyTree

from ...core.errors import ConfigError, check_count
from ...core.flat import flat_size, flattened
from ...core.spaces import Bound, Box, Dict, Space
from .base import ObservationWrapper, box_of

MOST = 1 << 24
"""Numbers of one flat observation, 64 MiB of them."""


class FlattenObservation(ObservationWrapper):
    """One vector of all that is observed, as Gymnasium's FlattenObservation.

    A number of a Discrete space becomes one-hot, those of a MultiDiscrete space one after the other; arrays are
    flattened in row-major order; what is in a Dict follows in the order of the names. The vector is of float32, or of
    the dtype of a Box where there is nothing else.

    Examples:
        >>> import jax.numpy as jnp
        >>> import kousoku as ks
        >>> env = FlattenObservation(ks.make("CustomGrid-v0", map="S.G"))
        >>> env.observation_space, env.observe(jnp.int32(1)).tolist()
        (Box(low=0.0, high=1.0, shape=(3,)), [0.0, 1.0, 0.0])
    """

    def __check_init__(self) -> None:
        size = flat_size(self.env.observation_space)
        if size > MOST:
            fix = f"a flat one has {size} numbers, more than {MOST}: use an environment with fewer states"
            raise ConfigError("observation_space", self.env.observation_space, fix)

    @property
    def observation_space(self) -> Box:
        """A vector."""
        space = self.env.observation_space
        low, high = map(_shortened, _ends(space))
        return Box(low, high, (flat_size(space),), space.dtype if isinstance(space, Box) else np.float32)

    def observe(self, obs: PyTree[Array]) -> Array:
        """Returns the observation as one vector."""
        space = self.env.observation_space
        return obs.reshape(-1) if isinstance(space, Box) else flattened(space, obs)


def _ends(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Returns the bounds of each number of a flat observation."""
    if isinstance(space, Dict):
        parts = [_ends(space.spaces[name]) for name in sorted(space.spaces)]
        return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])
    if isinstance(space, Box):
        low, high = (np.broadcast_to(np.asarray(end), space.shape).ravel() for end in (space.low, space.high))
        return low, high
    return np.zeros(flat_size(space)), np.ones(flat_size(space))


def _shortened(end: np.ndarray) -> Bound:
    """Returns one bound for all where all have the same."""
    return float(end[0]) if end.size and (end == end[0]).all() else tuple(end.tolist())


def _shape(value: object) -> tuple[int, ...]:
    listed = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(check_count(f"shape[{i}]", n) for i, n in enumerate(listed))


class ReshapeObservation(ObservationWrapper):
    """The same numbers in another shape, row-major, as Gymnasium's ReshapeObservation.

    Attributes:
        shape: the new one.

    Examples:
        >>> import kousoku as ks
        >>> ReshapeObservation(ks.make("CartPole-v1"), (2, 2)).observation_space.shape
        (2, 2)
    """

    shape: tuple[int, ...] = eqx.field(static=True, converter=_shape)

    def __check_init__(self) -> None:
        space = box_of(self, "observation_space", self.env.observation_space)
        if math.prod(self.shape) != math.prod(space.shape):
            raise ConfigError("shape", self.shape, f"use one of {math.prod(space.shape)} numbers, as {space.shape} is")

    @property
    def observation_space(self) -> Box:
        """The same bounds in the new shape."""
        space = box_of(self, "observation_space", self.env.observation_space)
        low, high = (_reshaped(end, self.shape) for end in (space.low, space.high))
        return Box(low, high, self.shape, space.dtype)

    def observe(self, obs: Array) -> Array:
        """Returns the observation in the new shape."""
        return obs.reshape(self.shape)


def _reshaped(end: object, shape: tuple[int, ...]) -> object:
    array = np.asarray(end)
    return array.reshape(shape) if array.shape else float(array)
