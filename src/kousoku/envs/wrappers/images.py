"""Images as observations: grey instead of coloured, and of another size."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...core.errors import ConfigError, check_count
from ...core.spaces import Box
from ..fields import flag
from .base import ObservationWrapper, box_of

LUMINANCE = (2125, 7154, 721)
"""Shares of red, green and blue in what looks grey, in parts of 10,000."""


class GrayscaleObservation(ObservationWrapper):
    """A grey image [H, W] instead of one of red, green and blue [H, W, 3], as Gymnasium's GrayscaleObservation.

    grey = 0.2125 red + 0.7154 green + 0.0721 blue, of bytes rounded down. It is computed in whole numbers: Gymnasium's
    rounding of binary fractions makes 254 of white, this 255.

    Attributes:
        keep_dim: whether the image is [H, W, 1].

    References:
        ITU-R Recommendation BT.709, as scikit-image rounds it.
    """

    keep_dim: bool = flag("keep_dim", False)

    def __check_init__(self) -> None:
        space = _image(self)
        if len(space.shape) != 3 or space.shape[2] != 3:
            raise ConfigError("observation_space", space, "GrayscaleObservation needs images [height, width, 3]")
        if np.shape(space.low) or np.shape(space.high):
            raise ConfigError("observation_space", space, "GrayscaleObservation needs one bound for all colours")

    @property
    def observation_space(self) -> Box:
        """Images of one colour."""
        space = _image(self)
        return Box(space.low, space.high, (*space.shape[:2], *([1] * self.keep_dim)), space.dtype)

    def observe(self, obs: Array) -> Array:
        """Returns the image in grey."""
        red, green, blue = LUMINANCE
        if obs.dtype == jnp.uint8:
            wide = obs.astype(jnp.int32)
            grey = ((red * wide[..., 0] + green * wide[..., 1] + blue * wide[..., 2]) // 10_000).astype(jnp.uint8)
        else:
            grey = (red * obs[..., 0] + green * obs[..., 1] + blue * obs[..., 2]) / 10_000
        return grey[..., None] if self.keep_dim else grey


def _size(value: object) -> tuple[int, int]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ConfigError("shape", value, "use (height, width)")
    height, width = (check_count(f"shape[{i}]", n, high=1 << 14) for i, n in enumerate(value))
    return height, width


class ResizeObservation(ObservationWrapper):
    """A smaller image, as Gymnasium's ResizeObservation: each pixel is the mean of the area that it stands for.

    A pixel on an edge counts by the share that lies inside. Bytes are rounded to the nearest number.

    Attributes:
        shape: height and width, neither larger than those of the image [H, W] or [H, W, C].
    """

    shape: tuple[int, int] = eqx.field(static=True, converter=_size)

    def __check_init__(self) -> None:
        space = _image(self)
        if len(space.shape) not in (2, 3):
            raise ConfigError("observation_space", space, "ResizeObservation needs images [height, width, ...]")
        if self.shape[0] > space.shape[0] or self.shape[1] > space.shape[1]:
            raise ConfigError("shape", self.shape, f"use at most {space.shape[:2]}: it makes images smaller")
        if np.shape(space.low) or np.shape(space.high):
            raise ConfigError("observation_space", space, "ResizeObservation needs one bound for all pixels")

    @property
    def observation_space(self) -> Box:
        """Images of the new size."""
        space = _image(self)
        return Box(space.low, space.high, (*self.shape, *space.shape[2:]), space.dtype)

    def observe(self, obs: Array) -> Array:
        """Returns the image in its new size."""
        high, wide = (jnp.asarray(_areas(obs.shape[axis], self.shape[axis])) for axis in (0, 1))
        pixels = obs.astype(jnp.float32)
        mean = _rows(wide, _rows(high, pixels).swapaxes(0, 1)).swapaxes(0, 1)
        if obs.dtype.kind in "iu":
            mean = jnp.round(mean)
        return jnp.clip(mean, *_bounds(_image(self))).astype(obs.dtype)


def _rows(weights: Float[Array, "n N"], image: Float[Array, "N ..."]) -> Float[Array, "n ..."]:
    flat = weights @ image.reshape(image.shape[0], -1)
    return flat.reshape(weights.shape[0], *image.shape[1:])


def _areas(old: int, new: int) -> Float[np.ndarray, "new old"]:
    """Returns the share that each of the old pixels has in each of the new ones; a row sums to 1."""
    edges = np.arange(new + 1) * old / new
    pixels = np.arange(old)
    inside = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return (np.maximum(inside, 0.0) * new / old).astype(np.float32)


def _bounds(space: Box) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)


def _image(wrapper: Any) -> Box:
    """Returns the space of the images inside."""
    return box_of(wrapper, "observation_space", wrapper.env.observation_space)
