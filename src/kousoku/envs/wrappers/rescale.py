"""Rescaling: actions or observations of a box in another range, number by number."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError
from ...core.spaces import Bound, Box
from ...core.timestep import Timestep
from ...core.wrapper import Wrapper
from ..fields import convert_fields
from .base import ObservationWrapper, box_of, known_space, structural


class _Line(NamedTuple):
    """The line that leads from one box to another, number by number: y = slope x + offset."""

    slope: np.ndarray
    offset: np.ndarray

    def at(self, x: Array) -> Float[Array, "..."]:
        """Returns y at x, float32; a slope that float32 has no digits for, of a box that is as wide, in two factors."""
        flat = np.abs(self.slope) < np.finfo(np.float32).tiny
        if (flat & (self.slope != 0.0)).any():
            scale = np.where(flat, 2.0**-64, 1.0)
            return _Line(self.slope / scale, self.offset).at(x.astype(jnp.float32) * scale.astype(np.float32))
        return x.astype(jnp.float32) * self.slope.astype(np.float32) + self.offset.astype(np.float32)


def _line(source: Box, target: Box) -> _Line:
    """Returns the line from one box to another; where an end is infinite, the numbers are only moved."""
    (low, high), (new_low, new_high) = _ends(source), _ends(target)
    below, above = np.isfinite(new_low), np.isfinite(new_high)
    both = below & above & (high > low)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(both, (new_high - new_low) / (high - low), np.where(below & above, 0.0, 1.0))
        offset = np.where(below, new_low - slope * low, np.where(above, new_high - slope * high, 0.0))
    return _Line(slope, offset)


def _ends(box: Box) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.broadcast_to(np.asarray(box.low, np.float64), box.shape),
        np.broadcast_to(np.asarray(box.high, np.float64), box.shape),
    )


def _range(source: Box, low_name: str, low: Bound, high_name: str, high: Bound) -> Box:
    """Returns the box of the new range, float32.

    Raises:
        ConfigError: for bounds of another shape, in the wrong order, or finite where the old ones are not.
    """
    for name, bound, old in ((low_name, low, source.low), (high_name, high, source.high)):
        if np.shape(bound) not in ((), source.shape):
            raise ConfigError(name, bound, f"use one number, or as many as the space has: {list(source.shape)}")
        if np.any(np.isinf(bound) != np.isinf(old)):
            raise ConfigError(name, bound, f"make it infinite where the old bound is, and only there: {old}")
    if np.any(np.asarray(low) >= np.asarray(high)):
        raise ConfigError(high_name, high, f"use more than {low_name}, which is {low}")
    return Box(low, high, source.shape, np.dtype(np.float32))


class RescaleAction(Wrapper):
    """Actions in another range, such as [-1, 1], as Gymnasium's RescaleAction.

    Attributes:
        min_action: least action of the new range, one number or one for each entry.
        max_action: largest action.

    Examples:
        >>> import kousoku as ks
        >>> env = RescaleAction(ks.make("Pendulum-v1"), -1.0, 1.0)
        >>> env.action_space, env.inner_action(jnp.array([0.5])).tolist()
        (Box(low=-1.0, high=1.0, shape=(1,)), [1.0])
    """

    min_action: Bound = structural("min_action")
    max_action: Bound = structural("max_action")

    def __check_init__(self) -> None:
        space = box_of(self, "action_space", self.env.action_space)
        _range(space, "min_action", self.min_action, "max_action", self.max_action)

    @property
    def action_space(self) -> Box:
        """The new range."""
        return Box(self.min_action, self.max_action, self._inside.shape)

    def step(self, key: PRNGKeyArray, state: Any, action: Float[Array, "..."]) -> tuple[Any, Timestep]:
        """Takes one action."""
        return self.env.step(key, state, self.inner_action(action))

    def inner_action(self, action: Float[Array, "..."]) -> Float[Array, "..."]:
        """Returns the action in the old range."""
        inside = self._inside
        return jnp.clip(_line(self.action_space, inside).at(action), *_float32(inside)).astype(inside.dtype)

    @property
    def _inside(self) -> Box:
        return box_of(self, "action_space", self.env.action_space)


class RescaleObservation(ObservationWrapper):
    """Observations in another range, such as [0, 1], as Gymnasium's RescaleObservation.

    Attributes:
        min_obs: least observation of the new range, one number or one for each entry; infinite where the old one is.
        max_obs: largest observation.
        inside: the old range.

    Examples:
        >>> import kousoku as ks
        >>> env = RescaleObservation(ks.make("MountainCar-v0"), 0.0, 1.0)
        >>> env.observe(jnp.array([-1.2, 0.07])).tolist()
        [0.0, 1.0]
    """

    min_obs: Bound = structural("min_obs")
    max_obs: Bound = structural("max_obs")
    inside: Box = known_space()

    def __post_init__(self) -> None:
        convert_fields(self)
        self.inside = box_of(self, "observation_space", self.env.observation_space)
        _range(self.inside, "min_obs", self.min_obs, "max_obs", self.max_obs)

    @property
    def observation_space(self) -> Box:
        """The new range."""
        return Box(self.min_obs, self.max_obs, self.inside.shape)

    def observe(self, obs: Array) -> Float[Array, "..."]:
        """Returns the observation in the new range."""
        space = self.observation_space
        return jnp.clip(_line(self.inside, space).at(obs), *_float32(space))


def _float32(box: Box) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of a box: a sum of rounded numbers may pass them by a rounding."""
    low, high = _ends(box)
    return low.astype(np.float32), high.astype(np.float32)
