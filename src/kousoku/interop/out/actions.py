"""Actions from the host, checked and in the dtypes of our spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ...core.errors import ConfigError
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space, as_array


class ActionReader:
    """A reader of a space's actions, which asks the space once for what each step needs.

    Boxes' actions may lie outside their bounds: whole numbers that the dtype may not hold are clipped here, all others
    later. Discrete ones may not.

    Args:
        space: the actions'.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._parts: dict[str, ActionReader] | None = None
        if isinstance(space, Dict):
            self._parts = {name: ActionReader(part) for name, part in space.spaces.items()}
        else:
            self._shape, self._dtype = space.shape, space.dtype
            self._fractions = space.dtype.kind == "f"
            self._kinds = "iuf" if self._fractions else "iu"
            self._clips = isinstance(space, Box) and not self._fractions
            self._counts = _counts(space)

    def read(self, actions: Any, axes: tuple[int, ...]) -> Any:
        """Returns actions as NumPy arrays with so many axes before the space's own, in the space's dtype.

        Raises:
            ConfigError: for another shape, fractions where whole numbers belong, or whole numbers outside the space.
        """
        if self._parts is not None:
            return self._read_parts(self._parts, actions, axes)
        array = as_array(actions)
        if array.shape != (*axes, *self._shape) or array.dtype.kind not in self._kinds:
            given = f"{array.dtype.name} {list(array.shape)}" if array.shape else actions
            raise ConfigError("action", given, f"use {self._wanted(axes)}")
        if self._counts is not None and array.size:
            self._check_inside(array, self._counts)
        if self._clips and array.dtype != self._dtype:
            assert isinstance(self._space, Box)
            array = np.clip(array, np.asarray(self._space.low, np.int64), np.asarray(self._space.high, np.int64))
        return np.asarray(array, self._dtype, order="C")

    def read_one(self, action: Any) -> Any:
        """Returns an action of one environment as those of one slot, with an axis more.

        Raises:
            ConfigError: as `read` does; shapes are told without that axis.
        """
        given = self.read(action, ())
        return jax.tree.map(lambda array: array[None], given) if isinstance(given, dict) else given[None]

    @staticmethod
    def _read_parts(parts: dict[str, ActionReader], actions: Any, axes: tuple[int, ...]) -> dict[str, Any]:
        if not isinstance(actions, Mapping) or set(actions) != set(parts):
            raise ConfigError("action", actions, f"use a dict with {', '.join(map(repr, sorted(parts)))}")
        return {name: part.read(actions[name], axes) for name, part in parts.items()}

    def _check_inside(self, array: np.ndarray, counts: int | np.ndarray) -> None:
        """Refuses whole numbers outside 0 .. counts - 1: without their sign, negative ones are very large."""
        outside = np.asarray(array, np.int64).view(np.uint64) >= counts
        if outside.any():
            worst = array[outside][0]
            raise ConfigError("action", int(worst), f"the action space is {self._space}")

    def _wanted(self, axes: tuple[int, ...]) -> str:
        """Returns in words what an action should be."""
        shape = [*axes, *self._shape]
        if not shape:
            return "a number" if self._fractions else "a whole number"
        return f"an array like {self._dtype.name} {shape}"


def _counts(space: Space) -> int | np.ndarray | None:
    """Returns how many values the actions of a space have, of each number; None for a box's."""
    if isinstance(space, MultiDiscrete):
        return np.asarray(space.nvec, np.uint64)
    return space.n if isinstance(space, Discrete) else None
