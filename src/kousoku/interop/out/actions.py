"""Actions from the host, checked and in the dtypes of our spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space, as_array


def as_actions(space: Space, actions: Any, axes: tuple[int, ...]) -> Any:
    """Returns actions as NumPy arrays with so many axes before the space's own, in the space's dtype.

    Boxes' may lie outside their bounds, to which they are clipped later; whole numbers may not.

    Raises:
        ConfigError: for another shape, fractions where whole numbers belong, or whole numbers outside the space.
    """
    if isinstance(space, Dict):
        if not isinstance(actions, Mapping) or set(actions) != set(space.spaces):
            raise ConfigError("action", actions, f"use a dict with {', '.join(map(repr, sorted(space.spaces)))}")
        return {name: as_actions(part, actions[name], axes) for name, part in space.spaces.items()}
    array = as_array(actions)
    kinds = "iuf" if isinstance(space, Box) and space.dtype.kind == "f" else "iu"
    if array.shape != (*axes, *space.shape) or array.dtype.kind not in kinds:
        wanted = f"{space.dtype.name} {[*axes, *space.shape]}"
        raise ConfigError("action", f"{array.dtype.name} {list(array.shape)}", f"use an array like {wanted}")
    if isinstance(space, Discrete | MultiDiscrete) and array.size:
        count = space.n if isinstance(space, Discrete) else np.asarray(space.nvec)
        if array.min() < 0 or (array >= count).any():
            worst = array[(array < 0) | (array >= count)][0]
            raise ConfigError("action", int(worst), f"the action space is {space}")
    return np.ascontiguousarray(array, space.dtype)


def of_one(action: Any) -> Any:
    """Returns an action of one environment as those of one slot, with an axis more."""
    if isinstance(action, Mapping):
        return {name: of_one(part) for name, part in action.items()}
    return as_array(action)[None]
