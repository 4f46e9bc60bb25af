"""Values of Gymnasium's spaces as flat lists of arrays, in the order in which `jax.tree.leaves` has ours.

Processes that only step environments import this: it needs no JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ...core.dtypes import narrowed
from ...core.errors import shorten
from ...export.runtime import are_whole, within_32_bits
from .texts import as_texts, coded, codes_of, is_text, text_of


class Leaf(NamedTuple):
    """One array of the values of a space.

    Attributes:
        path: the names, or places of a Tuple, that lead to it.
        space: what it is an element of: no Dict and no Tuple.
        shape, dtype: of ours.
        start: their first whole number, which is taken off theirs; None where it is 0, or they are no indices.
        count: how many whole numbers there are, of indices; None of others.
        what: what its values are called in messages.
        codes: the index of each character, of texts; None of others.
    """

    path: tuple[Any, ...]
    space: Any
    shape: tuple[int, ...]
    dtype: np.dtype
    start: Any
    count: Any = None
    what: str = "observation"
    codes: Mapping[str, int] | None = None


def leaves_of(space: Any, path: tuple[Any, ...] = ()) -> list[Leaf]:
    """Returns the arrays that values of a space consist of.

    Raises:
        TypeError: for a space that has no counterpart of ours, naming it.
    """
    if isinstance(space, spaces.Dict):
        return [leaf for name in _in_order(space.spaces) for leaf in leaves_of(space.spaces[name], (*path, name))]
    if isinstance(space, spaces.Tuple):
        places = sorted(range(len(space.spaces)), key=str)
        return [leaf for place in places for leaf in leaves_of(space.spaces[place], (*path, place))]
    index = np.dtype(np.int32)
    if isinstance(space, spaces.Discrete):
        return [Leaf(path, space, (), index, int(space.start) or None, int(space.n))]
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        start = np.asarray(space.start, np.int64)
        return [Leaf(path, space, space.shape, index, start if start.any() else None, space.nvec.astype(np.uint64))]
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return [Leaf(path, space, space.shape, index, None, 2)]
    if isinstance(space, spaces.Box) and space.dtype.kind in "fiub":
        return [Leaf(path, space, space.shape, narrowed(space.dtype), None)]
    if is_text(space):
        text = text_of(space)
        return [Leaf(path, text, (text.max_length,), index, None, codes=codes_of(text))]
    told = " ".join(repr(space).split())
    usable = "use Box, Discrete, MultiDiscrete or MultiBinary of one axis, Text to observe, Dict or Tuple"
    raise TypeError(f"{told} has no counterpart: {usable}")


def _in_order(names: Iterable[Any]) -> list[Any]:
    """Returns the keys of a Dict in their order.

    Raises:
        TypeError: if they have none.
    """
    try:
        return sorted(names)
    except TypeError as error:
        told = ", ".join(map(repr, names))
        raise TypeError(f"its keys {told} have no order: use texts alone") from error


def picker(path: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Returns what takes the part of a value at a path."""

    def pick(value: Any) -> Any:
        for name in path:
            value = value[name]
        return value

    return pick


def batched(leaves: list[Leaf], value: Any) -> list[np.ndarray]:
    """Returns observations that come together, each part [V, ...] or V texts, as new arrays.

    Raises:
        ValueError: for indices or texts outside their space.
    """
    return _copied(leaves, _parts(leaves, value))


def _parts(leaves: list[Leaf], value: Any) -> list[Any]:
    """Returns the parts of observations that come together, those of texts as indices of their characters."""
    found = [picker(leaf.path)(value) for leaf in leaves]
    return [
        part if leaf.codes is None else _coded(leaf, as_texts(part)) for leaf, part in zip(leaves, found, strict=True)
    ]


def _copied(leaves: list[Leaf], parts: list[Any]) -> list[np.ndarray]:
    return [np.array(_ours(leaf, np.asarray(part))) for leaf, part in zip(leaves, parts, strict=True)]


def _coded(leaf: Leaf, texts: Any) -> np.ndarray:
    """Returns V texts as the indices of their characters, [V, ...]."""
    return coded(f"an {leaf.what}{_place(leaf)}", texts, leaf.codes or {}, leaf.shape[0])


def _place(leaf: Leaf) -> str:
    """Returns where a part is, as one would write it."""
    return "".join(f"[{name!r}]" for name in leaf.path)


def observed(leaves: list[Leaf], count: int, value: Any) -> list[np.ndarray]:
    """Returns what V environments observe, as `batched` does.

    Raises:
        ValueError: for another shape than that of so many, or indices or texts outside their space.
    """
    parts = _parts(leaves, value)
    for leaf, part in zip(leaves, parts, strict=True):
        shape, needed = np.shape(part), (count, *leaf.shape)
        if shape != needed:
            raise ValueError(f"its {leaf.what}{_place(leaf)} has the shape {shape}, and {needed} is needed")
    return _copied(leaves, parts)


def told_of(count: int, reward: Any, terminated: Any, truncated: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rewards and ends of V environments that come together as new arrays, float32 and bool [V].

    Raises:
        ValueError: for another shape, or what is no number.
    """
    named = {"reward": (reward, np.float32), "terminated": (terminated, bool), "truncated": (truncated, bool)}
    made = []
    for what, (values, dtype) in named.items():
        if np.shape(values) != (count,):
            raise ValueError(f"its {what} has the shape {np.shape(values)}, and {(count,)} is needed")
        array = np.asarray(values)
        _check_told(what, array, dtype)
        made.append(np.array(array, dtype))
    return tuple(made)


def unbatched(space: Any, leaves: list[Leaf], arrays: Any) -> Any:
    """Returns actions of V environments, [V, ...] each, as a vector of them takes them together."""
    return _gathered(space, {leaf.path: _theirs(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)})


def written(leaves: list[Leaf], values: Sequence[Any]) -> list[np.ndarray]:
    """Returns observations of V environments as new arrays, [V, ...] each.

    Raises:
        ValueError: if one has another shape than its space, or an index or a text lies outside it.
    """
    return [_ours(leaf, _stacked(leaf, values)) for leaf in leaves]


def single(what: str, numbers: Sequence[Any], dtype: Any) -> np.ndarray:
    """Returns one number of each of V environments, [V]; what is one number may have axes of length 1.

    Raises:
        ValueError: for what is none, or several.
    """
    array = np.array(numbers)
    if array.ndim == 1 and array.dtype.kind in ("b" if dtype is bool else "biuf"):
        return array.astype(dtype, copy=False)
    if array.ndim > 1:
        if array[0].size != 1:
            raise ValueError(f"its {what} has the shape {array.shape[1:]}, and has to be one number")
        array = array.reshape(len(numbers))
    _check_told(what, array, dtype)
    return array.astype(dtype, copy=False)


def _check_told(what: str, array: np.ndarray, dtype: Any) -> None:
    """Refuses rewards that are no numbers, and flags that are neither truth values nor numbers nor None, for False.

    Raises:
        ValueError: with the first such.
    """
    wrong = _no_numbers(array)
    if dtype is bool:
        wrong = [each for each in wrong if each is not None]
    if not wrong and dtype is bool and array.dtype.kind == "f":
        wrong = array[np.isnan(array)].tolist()
    if wrong:
        needed = "True or False" if dtype is bool else "a number"
        raise ValueError(f"its {what} is {shorten(wrong[0])}, and has to be {needed}")


def _no_numbers(array: np.ndarray) -> list[Any]:
    """Returns what is no number in an array: texts, dates and complex numbers, and objects that hold none."""
    kind = array.dtype.kind
    if kind in "biuf" or (kind == "V" and array.dtype.isbuiltin == 2):  # of another package, such as bfloat16
        return []
    return array.ravel().tolist() if kind != "O" else [each for each in array.flat if not _is_number(each)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (Real, Decimal)) or np.asarray(value).dtype.kind in "biuf"


def _stacked(leaf: Leaf, values: Sequence[Any]) -> np.ndarray:
    """Returns one part of V observations as a new array of theirs, [V, ...].

    Raises:
        ValueError: if one has another shape than its space, or a text lies outside it.
    """
    parts = values if not leaf.path else list(map(picker(leaf.path), values))
    if leaf.codes is not None:
        return _coded(leaf, parts)
    shapes = (np.shape(part) for part in parts)
    try:
        array = np.array(parts)
    except ValueError:  # they have different shapes
        array = np.empty(())
    if array.shape != (len(parts), *leaf.shape):
        wrong = next(shape for shape in shapes if shape != leaf.shape)
        raise ValueError(f"an observation has the shape {wrong}, and its space the shape {leaf.shape}")
    return array


def _ours(leaf: Leaf, theirs: np.ndarray) -> np.ndarray:
    """Returns their numbers in our dtype: indices from 0, other whole numbers as near as 32 bits have them.

    Raises:
        ValueError: for indices outside their space, fractions, or what is no number.
    """
    if wrong := _no_numbers(theirs):
        raise ValueError(f"an {leaf.what}{_place(leaf)} has {shorten(wrong[0])}, which is no number")
    if theirs.dtype.kind == "O":
        theirs = theirs.astype(np.float64)
    if leaf.count is not None:
        return _indices(leaf, theirs)
    if leaf.space.dtype.kind in "iu" and theirs.dtype != leaf.dtype:
        theirs = _whole(leaf, theirs)
    return theirs.astype(leaf.dtype, copy=False)


def _whole(leaf: Leaf, theirs: np.ndarray) -> np.ndarray:
    """Returns whole numbers that the dtype of ours holds.

    Raises:
        ValueError: for fractions, or numbers that a dtype of at most 16 bits does not hold.
    """
    if theirs.dtype.kind == "f":
        _refuse(leaf, theirs, ~are_whole(theirs))
    if leaf.space.dtype.itemsize > 2:
        return within_32_bits(theirs)
    most = np.iinfo(leaf.dtype)
    _refuse(leaf, theirs, (theirs < most.min) | (theirs > most.max))
    return theirs


def _indices(leaf: Leaf, theirs: np.ndarray) -> np.ndarray:
    """Returns their indices from 0.

    Raises:
        ValueError: for one outside its space, or a fraction.
    """
    if theirs.dtype.kind == "f":
        _refuse(leaf, theirs, ~are_whole(theirs))
    ours = theirs.astype(np.int64, copy=False)
    ours = ours if leaf.start is None else ours - leaf.start
    _refuse(leaf, theirs, ours.view(np.uint64) >= leaf.count)  # numbers below 0 are the largest of these
    return ours.astype(leaf.dtype)


def _refuse(leaf: Leaf, theirs: np.ndarray, wrong: np.ndarray) -> None:
    if wrong.any():
        fix = "" if leaf.count is not None else "; give it in the space's dtype, or let the space tell what it is"
        raise ValueError(f"an {leaf.what} has {float(theirs[wrong][0]):.12g}, which is not in {leaf.space}{fix}")


def read(space: Any, leaves: list[Leaf], arrays: Sequence[np.ndarray]) -> list[Any]:
    """Returns one action for each of V environments, as it takes them, from arrays [V, ...]."""
    parts = [_theirs(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)]
    if not leaves[0].path:
        return list(parts[0])
    paths = [leaf.path for leaf in leaves]
    return [_gathered(space, dict(zip(paths, of_one, strict=True))) for of_one in zip(*parts, strict=True)]


def _theirs(leaf: Leaf, array: np.ndarray) -> np.ndarray:
    """Returns whole numbers or fractions as their space has them, and within it."""
    theirs = (array if leaf.start is None else array + leaf.start).astype(leaf.space.dtype)
    if theirs.dtype.kind != "f" or theirs.dtype.itemsize <= array.dtype.itemsize:
        return theirs
    return np.clip(theirs, leaf.space.low, leaf.space.high)  # the nearest float32 may lie beyond a bound


def _gathered(space: Any, parts: dict[tuple[Any, ...], Any], path: tuple[Any, ...] = ()) -> Any:
    """Returns the value of a space whose arrays are given by their paths."""
    if isinstance(space, spaces.Dict):
        return {name: _gathered(part, parts, (*path, name)) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_gathered(part, parts, (*path, place)) for place, part in enumerate(space.spaces))
    return parts[path]
