"""Values of Gymnasium's spaces as flat lists of arrays, in the order in which `jax.tree.leaves` has ours.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

WIDEST = {"f": np.dtype(np.float32), "i": np.dtype(np.int32), "u": np.dtype(np.int32)}


class Leaf(NamedTuple):
    """One array of the values of a space.

    Attributes:
        path: the names, or places of a Tuple, that lead to it.
        space: what it is an element of: no Dict and no Tuple.
        shape, dtype: of ours.
        start: their first whole number, which is taken off theirs; None where it is 0, or they are no indices.
    """

    path: tuple[Any, ...]
    space: Any
    shape: tuple[int, ...]
    dtype: np.dtype
    start: Any


def leaves_of(space: Any, path: tuple[Any, ...] = ()) -> list[Leaf]:
    """Returns the arrays that values of a space consist of.

    Raises:
        TypeError: for a space that has no counterpart of ours, naming it.
    """
    if isinstance(space, spaces.Dict):
        return [leaf for name in sorted(space.spaces) for leaf in leaves_of(space.spaces[name], (*path, name))]
    if isinstance(space, spaces.Tuple):
        places = sorted(range(len(space.spaces)), key=str)
        return [leaf for place in places for leaf in leaves_of(space.spaces[place], (*path, place))]
    index = np.dtype(np.int32)
    if isinstance(space, spaces.Discrete):
        return [Leaf(path, space, (), index, int(space.start) or None)]
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        start = np.asarray(space.start, np.int64)
        return [Leaf(path, space, space.shape, index, start if start.any() else None)]
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return [Leaf(path, space, space.shape, index, None)]
    if isinstance(space, spaces.Box) and space.dtype.kind in "fiu":
        return [Leaf(path, space, space.shape, narrowed(space.dtype), None)]
    told = " ".join(repr(space).split())
    raise TypeError(f"{told} has no counterpart: use Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple")


def narrowed(dtype: np.dtype) -> np.dtype:
    """Returns the dtype that numbers of another have here: at most 32 bits, whole ones with a sign where they had."""
    return dtype if dtype.itemsize <= 2 and dtype.kind in "iu" else WIDEST[dtype.kind]


def picker(path: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Returns what takes the part of a value at a path."""

    def pick(value: Any) -> Any:
        for name in path:
            value = value[name]
        return value

    return pick


def batched(leaves: list[Leaf], value: Any) -> list[np.ndarray]:
    """Returns observations that come together, each part [V, ...], as new arrays."""
    parts = [(leaf, np.asarray(picker(leaf.path)(value))) for leaf in leaves]
    return [np.array(part if leaf.start is None else part - leaf.start, leaf.dtype) for leaf, part in parts]


def unbatched(space: Any, leaves: list[Leaf], arrays: Any) -> Any:
    """Returns actions of V environments, [V, ...] each, as a vector of them takes them together."""
    parts = {
        leaf.path: (array if leaf.start is None else array + leaf.start).astype(leaf.space.dtype)
        for leaf, array in zip(leaves, arrays, strict=True)
    }
    return _gathered(space, parts)


class Writer:
    """Writes observations into the rows of new arrays."""

    def __init__(self, space: Any) -> None:
        self.leaves = leaves_of(space)
        self._pick = [picker(leaf.path) if leaf.path else None for leaf in self.leaves]

    def empty(self, count: int) -> list[np.ndarray]:
        """Returns arrays for so many observations."""
        return [np.empty((count, *leaf.shape), leaf.dtype) for leaf in self.leaves]

    def write(self, arrays: list[np.ndarray], row: int, value: Any) -> None:
        """Writes one observation.

        Raises:
            ValueError: if it has another shape than its space.
        """
        for array, leaf, pick in zip(arrays, self.leaves, self._pick, strict=True):
            part = value if pick is None else pick(value)
            if np.shape(part) != leaf.shape:
                told = f"an observation has the shape {np.shape(part)}, and its space the shape {leaf.shape}"
                raise ValueError(told)
            array[row] = part if leaf.start is None else part - leaf.start


class Reader:
    """Makes actions of a space from the rows of arrays."""

    def __init__(self, space: Any) -> None:
        self.space, self.leaves = space, leaves_of(space)

    def read(self, arrays: Any, row: int) -> Any:
        """Returns one action as the environment takes it."""
        parts = {leaf.path: self._part(leaf, array[row]) for leaf, array in zip(self.leaves, arrays, strict=True)}
        return _gathered(self.space, parts)

    @staticmethod
    def _part(leaf: Leaf, value: Any) -> Any:
        if isinstance(leaf.space, spaces.Discrete):
            return leaf.space.dtype.type(int(value) + (leaf.start or 0))
        return (value if leaf.start is None else value + leaf.start).astype(leaf.space.dtype)


def _gathered(space: Any, parts: dict[tuple[Any, ...], Any], path: tuple[Any, ...] = ()) -> Any:
    """Returns the value of a space whose arrays are given by their paths."""
    if isinstance(space, spaces.Dict):
        return {name: _gathered(part, parts, (*path, name)) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_gathered(part, parts, (*path, place)) for place, part in enumerate(space.spaces))
    return parts[path]
