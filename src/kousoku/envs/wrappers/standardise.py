"""Standardised observations: by a mean and a standard deviation that are given."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...core.errors import ConfigError, check_finite, is_number
from ...core.spaces import Box
from .base import ObservationWrapper, box_of


def _numbers(name: str) -> Any:
    def converted(value: Any) -> Any:
        if is_number(value):
            check_finite(name, value)
            return float(value)
        if isinstance(value, (list, tuple, np.ndarray)):
            try:
                given = np.asarray(value, np.float32)
            except (TypeError, ValueError) as error:
                raise ConfigError(name, value, "use numbers") from error
            if not np.isfinite(given).all():
                raise ConfigError(name, value, "use numbers that are finite")
            return given
        if hasattr(value, "dtype"):
            return jnp.asarray(value, jnp.float32)
        raise ConfigError(name, value, "use a number, or an array of the observation's shape")

    return eqx.field(converter=converted)


class StandardiseObservation(ObservationWrapper):
    """Observations less a mean, divided by a standard deviation, both known beforehand: (obs - mean) / std.

    Agents with `normalise_observations` find both out while they learn, as Gymnasium's NormalizeObservation does. This
    is for numbers that are known: from a data set, or from another run.

    Attributes:
        mean: one number, or one for each of the observation's.
        std: likewise, above 0.

    Examples:
        >>> import kousoku as ks
        >>> env = StandardiseObservation(ks.make("MountainCar-v0"), mean=[-0.5, 0.0], std=[0.1, 0.01])
        >>> [round(float(x), 4) for x in env.observe(jnp.array([-0.4, 0.02]))]
        [1.0, 2.0]
    """

    mean: float | Float[Array | np.ndarray, "..."] = _numbers("mean")
    std: float | Float[Array | np.ndarray, "..."] = _numbers("std")

    def __check_init__(self) -> None:
        space = box_of(self, "observation_space", self.env.observation_space)
        for name, value in (("mean", self.mean), ("std", self.std)):
            if np.shape(value) not in ((), space.shape):
                raise ConfigError(name, np.shape(value), f"use one number, or an array of shape {space.shape}")
        if isinstance(self.std, (float, np.ndarray)) and not np.all(np.asarray(self.std) > 0):
            raise ConfigError("std", self.std, "use numbers above 0")

    @property
    def observation_space(self) -> Box:
        """All numbers."""
        shape = box_of(self, "observation_space", self.env.observation_space).shape
        return Box(-math.inf, math.inf, shape)

    def observe(self, obs: Array) -> Float[Array, "..."]:
        """Returns (obs - mean) / std."""
        mean, std = (jnp.broadcast_to(jnp.asarray(x, jnp.float32), obs.shape) for x in (self.mean, self.std))
        return (obs.astype(jnp.float32) - mean) / std
