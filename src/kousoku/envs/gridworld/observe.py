"""Observations of a GridWorld: what an agent sees of its state."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ...core.spaces import Box, Discrete, MultiDiscrete, Space
from .layout import CLIFF, GOAL, PIT, WALL, GridLayout

OBSERVATIONS: tuple[str, ...] = ("index", "coordinates", "one_hot", "window")
WINDOW_CHANNELS = (WALL, GOAL, PIT, CLIFF)


def observation_space(kind: str, height: int, width: int, radius: int) -> Space:
    """Returns the space of each kind of observation."""
    if kind == "coordinates":
        return MultiDiscrete((height, width))
    if kind == "one_hot":
        return Box(0.0, 1.0, (height * width,))
    if kind == "window":
        return Box(0.0, 1.0, (2 * radius + 1, 2 * radius + 1, len(WINDOW_CHANNELS)))
    return Discrete(height * width)


def channels(layout: GridLayout, radius: int) -> Float[np.ndarray, "Hp Wp C"]:
    """Returns one plane for each of wall, goal, pit and cliff, with a frame of walls as wide as the window's radius."""
    planes = np.stack([layout.where(glyph) for glyph in WINDOW_CHANNELS], axis=-1).astype(np.float32)
    padded = np.pad(planes, ((radius, radius), (radius, radius), (0, 0)))
    frame = np.pad(np.zeros((layout.height, layout.width), np.float32), radius, constant_values=1.0)
    padded[..., 0] = np.maximum(padded[..., 0], frame)
    return padded


def observe(
    kind: str, cell: Int[Array, ""], width: int, num_cells: int, planes: Float[Array, "Hp Wp C"], radius: int
) -> Array:
    """Returns the observation of one cell: its index, (row, column), a one-hot vector, or the window around it."""
    if kind == "index":
        return cell
    row, column = cell // width, cell % width
    if kind == "coordinates":
        return jnp.stack([row, column]).astype(jnp.int32)
    if kind == "one_hot":
        return (jnp.arange(num_cells, dtype=jnp.int32) == cell).astype(jnp.float32)
    size = 2 * radius + 1
    rows = jnp.asarray(planes)
    return lax.dynamic_slice(rows, (row, column, jnp.zeros_like(row)), (size, size, rows.shape[-1]))
