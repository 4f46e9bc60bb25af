"""Actions from the host, checked and in the dtypes of our spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ...core.errors import ConfigError
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space, as_array


def as_actions(space: Space, actions: Any, axes: tuple[int, ...]) -> Any:
    """Returns actions as NumPy arrays with so many axes before the space's own, in the space's dtype.

    Boxes' may lie outside their bounds: whole numbers that the dtype may not hold are clipped here, all others later.
    Discrete ones may not.

    Raises:
        ConfigError: for another shape, fractions where whole numbers belong, or whole numbers outside the space.
    """
    if isinstance(space, Dict):
        if not isinstance(actions, Mapping) or set(actions) != set(space.spaces):
            raise ConfigError("action", actions, f"use a dict with {', '.join(map(repr, sorted(space.spaces)))}")
        return {name: as_actions(part, actions[name], axes) for name, part in space.spaces.items()}
    array = as_array(actions)
    dtype = space.dtype
    fractions = dtype.kind == "f"
    if array.shape != (*axes, *space.shape) or array.dtype.kind not in ("iuf" if fractions else "iu"):
        given = f"{array.dtype.name} {list(array.shape)}" if array.shape else actions
        raise ConfigError("action", given, f"use {_wanted(space, axes, fractions)}")
    if isinstance(space, Discrete | MultiDiscrete) and array.size:
        count = space.n if isinstance(space, Discrete) else np.asarray(space.nvec)
        if array.min() < 0 or (array >= count).any():
            worst = array[(array < 0) | (array >= count)][0]
            raise ConfigError("action", int(worst), f"the action space is {space}")
    if isinstance(space, Box) and not fractions and array.dtype != dtype:
        array = np.clip(array, np.asarray(space.low, np.int64), np.asarray(space.high, np.int64))
    return np.asarray(array, dtype, order="C")


def as_one_slots(space: Space, action: Any) -> Any:
    """Returns an action of one environment as those of one slot, with an axis more.

    Raises:
        ConfigError: as `as_actions` does; shapes are told without that axis.
    """
    given = as_actions(space, action, ())
    return jax.tree.map(lambda array: array[None], given) if isinstance(given, dict) else given[None]


def _wanted(space: Box | Discrete | MultiDiscrete, axes: tuple[int, ...], fractions: bool) -> str:
    """Returns in words what an action should be."""
    shape = [*axes, *space.shape]
    if not shape:
        return "a number" if fractions else "a whole number"
    return f"an array like {space.dtype.name} {shape}"
