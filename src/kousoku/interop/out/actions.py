"""Actions from the host, checked and in the dtypes of our spaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ...core.errors import ConfigError
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space, as_array

UNSIGNED = {4: np.uint32, 8: np.uint64}
"""Whole numbers without a sign, by their bytes: those that hold the counts of every space."""


class ArrayReader:
    """A reader of actions that are arrays, which asks their space once for what each step needs.

    Boxes' actions may lie outside their bounds: whole numbers that the dtype may not hold are clipped here, all others
    later. Discrete ones may not.

    Args:
        space: the actions'.
        nan_ends: whether the environment ends an episode at NaN, as what has diverged; if not, `read` refuses it.
    """

    def __init__(self, space: Box | Discrete | MultiDiscrete, nan_ends: bool = False) -> None:
        self._space, self._shape, self._dtype = space, space.shape, space.dtype
        self._may_be_nan = nan_ends or space.dtype.kind != "f"
        self._fractions = space.dtype.kind == "f"
        self._kinds = "iuf" if self._fractions else "iu"
        self._counts = _counts(space)
        self._ends: tuple[np.ndarray, np.ndarray] | None = None
        if isinstance(space, Box) and not self._fractions:
            self._ends = np.asarray(space.low, np.int64), np.asarray(space.high, np.int64)

    def read(self, actions: Any, axes: tuple[int, ...]) -> Any:
        """Returns actions as NumPy arrays with so many axes before the space's own, in the space's dtype.

        Raises:
            ConfigError: for another shape, NaN, fractions where whole numbers belong, or whole numbers outside.
        """
        array = as_array(actions)
        if array.shape != (*axes, *self._shape) or array.dtype.kind not in self._kinds:
            raise self._refused(actions, array, axes)
        if self._counts is not None and array.size:
            self._check_inside(array, self._counts)
        if array.dtype != self._dtype:
            array = self._in_dtype(array)
        read = np.asarray(array, order="C")
        squares = 0.0 if self._may_be_nan else np.vdot(read, read)  # the quickest look at a few numbers
        if squares != squares:
            place = np.argwhere(np.isnan(read))[0].tolist()
            raise ConfigError(f"action{place or ''}", math.nan, "use a number: after NaN all that follows would be NaN")
        return read

    def _in_dtype(self, array: np.ndarray) -> np.ndarray:
        """Returns numbers of another dtype in the space's."""
        if not self._fractions:
            return (array if self._ends is None else np.clip(array, *self._ends)).astype(self._dtype)
        with np.errstate(over="ignore"):  # what is beyond the dtype's numbers becomes infinite, and is clipped later
            return array.astype(self._dtype)

    def in_jax(self, action: Any) -> Any:
        """Returns an action of one environment for a function in JAX: an array or a number as it is, others as arrays.

        Only its shape is checked, as numbers are not known while a function is traced. To a Box's shape others may be
        broadcast.

        Raises:
            ConfigError: for another shape, or what are no numbers.
        """
        known = isinstance(action, jax.Array) or isinstance(getattr(action, "dtype", None), np.dtype)
        array = action if known else _traced_or_concrete(action)
        numbers = jnp.issubdtype(array.dtype, np.number) or array.dtype == bool
        if not numbers or (array.shape != self._shape and not self._is_spread(array.shape)):
            raise self._refused(action, array, ())
        return action if isinstance(action, int | float) else array

    def _is_spread(self, shape: tuple[int, ...]) -> bool:
        """Returns whether numbers of a shape become those of a Box by being broadcast."""
        if not isinstance(self._space, Box):
            return False
        try:
            return math.prod(np.broadcast_shapes(shape, self._shape)) == math.prod(self._shape)
        except ValueError:
            return False

    def _refused(self, actions: Any, array: Any, axes: tuple[int, ...]) -> ConfigError:
        """Returns the error for what is no array of actions."""
        given = f"{array.dtype.name} {list(array.shape)}" if array.shape else actions
        return ConfigError("action", given, f"use {self._wanted(axes)}")

    def _check_inside(self, array: np.ndarray, counts: int | np.ndarray) -> None:
        """Refuses whole numbers outside 0 .. counts - 1: without their sign, negative ones are very large."""
        whole = array if array.itemsize in UNSIGNED and array.dtype.isnative else np.asarray(array, np.int64)
        unsigned = whole.view(UNSIGNED[whole.itemsize])
        if isinstance(counts, int) and np.maximum.reduce(unsigned, None) < counts:
            return
        outside = unsigned >= counts
        if outside.any():
            worst = array[outside][0]
            raise ConfigError("action", int(worst), f"the action space is {self._space}")

    def _wanted(self, axes: tuple[int, ...]) -> str:
        """Returns in words what an action should be."""
        shape = [*axes, *self._shape]
        if not shape:
            return "a number" if self._fractions else "a whole number"
        return f"an array like {self._dtype.name} {shape}"


class DictReader:
    """A reader of actions that are dicts, by readers of their parts.

    Args:
        space: the actions'.
        nan_ends: as of `ArrayReader`.
    """

    def __init__(self, space: Dict, nan_ends: bool = False) -> None:
        self._parts = {name: action_reader(part, nan_ends) for name, part in space.spaces.items()}

    def read(self, actions: Any, axes: tuple[int, ...]) -> dict[str, Any]:
        """Returns actions as `ArrayReader` does, in a dict.

        Raises:
            ConfigError: for other names, or what one of its parts is not.
        """
        if not isinstance(actions, Mapping) or set(actions) != set(self._parts):
            raise self._refused(actions)
        return {name: part.read(actions[name], axes) for name, part in self._parts.items()}

    def in_jax(self, action: Any) -> dict[str, Any]:
        """Returns an action of one environment as `ArrayReader` does, in a dict; names that are no parts are left out.

        Raises:
            ConfigError: if a part is missing, or is none.
        """
        if not isinstance(action, Mapping) or not set(self._parts) <= set(action):
            raise self._refused(action)
        return {name: part.in_jax(action[name]) for name, part in self._parts.items()}

    def _refused(self, actions: Any) -> ConfigError:
        return ConfigError("action", actions, f"use a dict with {', '.join(map(repr, sorted(self._parts)))}")


def action_reader(space: Space, nan_ends: bool = False) -> ArrayReader | DictReader:
    """Returns a reader of a space's actions; see `ArrayReader` for what `nan_ends` says."""
    return DictReader(space, nan_ends) if isinstance(space, Dict) else ArrayReader(space, nan_ends)


def whole_numbers(space: Space, actions: Any) -> Any:
    """Returns actions with booleans and whole floats as int64, where a space has whole numbers; others as they are."""
    if isinstance(space, Dict):
        known = isinstance(actions, Mapping) and set(actions) == set(space.spaces)
        return {name: whole_numbers(part, actions[name]) for name, part in space.spaces.items()} if known else actions
    array = as_array(actions)
    if array.dtype.kind not in "fb" or space.dtype.kind == "f":
        return actions
    with np.errstate(invalid="ignore"):  # of infinities and NaN, which are no whole numbers
        whole = array.astype(np.int64)
    return whole if np.array_equal(whole, array) else actions


def read_one(reader: ArrayReader | DictReader, action: Any) -> Any:
    """Returns an action of one environment as those of one slot, with an axis more.

    Raises:
        ConfigError: as `read` does; shapes are told without that axis.
    """
    given = reader.read(action, ())
    return jax.tree.map(lambda array: array[None], given) if isinstance(given, dict) else given[None]


def _traced_or_concrete(action: Any) -> Any:
    """Returns what is no array as one: JAX's where it holds numbers that are traced, else NumPy's."""
    if not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(action)):
        return as_array(action)
    try:
        return jnp.asarray(action)
    except (TypeError, ValueError):  # a dict, or a ragged list
        return as_array(None)


def _counts(space: Space) -> int | np.ndarray | None:
    """Returns how many values the actions of a space have, of each number; None for a box's."""
    if isinstance(space, MultiDiscrete):
        return np.asarray(space.nvec, np.uint64)
    return space.n if isinstance(space, Discrete) else None
