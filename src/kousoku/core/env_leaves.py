"""The leaves of an environment: its numbers, which no program knows beforehand, and the rest, which shapes programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from .env import Env

FIX = "make it structure, eqx.field(static=True)"
NO_HASH = "which has no hash to know a compiled program by"
DECIDES = f"decides what Python does, as `if`, `range` or a shape do, so it has to be known: {FIX}"


def is_traced(leaf: Any) -> bool:
    """Returns whether a leaf is an array or a number, which a compiled program takes as an argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind not in "OSUV"
    return eqx.is_array_like(leaf) and not isinstance(leaf, str | bytes)


def unhashable_leaves(env: Env) -> Iterator[str]:
    """Gives one line for each field by which no program can be known: a set, an array of text, a static array."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(env):
        if is_traced(leaf):
            continue
        if isinstance(leaf, np.ndarray):
            yield f"{field_of(path)} is an array of {leaf.dtype}: use numbers, or a tuple in a static field"
        elif not has_hash(leaf):
            yield f"{field_of(path)} is a {type(leaf).__name__}, {NO_HASH}: use a tuple or a frozenset"
    for field, value in static_fields(env):
        if isinstance(value, np.ndarray | jax.Array):
            yield f"{field} is an array in a static field: make it a leaf, or a tuple of numbers"


def large_numbers(env: Env) -> Iterator[str]:
    """Gives one line for each whole number that no program can take."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(env):
        if isinstance(leaf, int) and not _fits(leaf):
            yield f"{field_of(path)} is {leaf}, which int32 does not hold: use a float, or a static field"


def _fits(number: int) -> bool:
    """Returns whether an array of JAX's integers holds a number."""
    most = np.iinfo(jax.dtypes.canonicalize_dtype(np.int64))
    return most.min <= number <= most.max


def has_hash(value: Any) -> bool:
    """Returns whether a value can be hashed, with all that it holds."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def static_fields(part: Any, inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yields name and value of each static field of a module and of the modules in it."""
    for each in fields(part):
        value = getattr(part, each.name)
        if each.metadata.get("static"):
            yield inside + each.name, value
        elif isinstance(value, eqx.Module):
            yield from static_fields(value, f"{inside}{each.name}.")


def deciding_numbers(env: Env, use: Callable[..., Any], *args: Any) -> list[str]:
    """Returns the fields whose numbers have to be known where an environment is used: in an `if`, a `range`, a shape.

    Args:
        env: the environment.
        use: what traces it, of the environment and `args`.
        args: arrays, or their shapes.
    """
    numbers, structure = eqx.partition(env, is_traced)
    leaves, tree = jax.tree_util.tree_flatten_with_path(numbers)
    values = [leaf for _, leaf in leaves]

    def has_to_know(traced: list[int]) -> bool:
        def used(unknown: list[Any], *args: Any) -> None:
            given = dict(enumerate(values)) | dict(zip(traced, unknown, strict=True))
            use(eqx.combine(jax.tree.unflatten(tree, list(given.values())), structure), *args)

        try:
            jax.eval_shape(used, [values[i] for i in traced], *args)
        except Exception:  # of any kind: it is the user's code
            return True
        return False

    return [field_of(leaves[i][0]) for i in culprits(list(range(len(values))), has_to_know)]


def culprits(numbers: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """Returns those of some numbers with which something fails, by halves: most are innocent.

    >>> culprits(list(range(100)), lambda some: 7 in some or 60 in some)
    [7, 60]
    """
    if not numbers or not fails(numbers):
        return []
    half = len(numbers) // 2
    return numbers if len(numbers) == 1 else [*culprits(numbers[:half], fails), *culprits(numbers[half:], fails)]


def shaping_numbers(env: Env, name: str) -> Iterator[str]:
    """Gives one line for each number that a space or the time limit needs, which are known before a program is."""
    for field in deciding_numbers(env, lambda known: _known(getattr(known, name))):
        yield f"{name} depends on {field}, which environments of one program may differ in: {FIX}, of plain numbers"


def _known(value: Any) -> Any:
    """Returns a space, or a time limit as a number of Python's.

    Raises:
        jax.errors.TracerIntegerConversionError: for a number that is traced.
    """
    return operator.index(value) if isinstance(value, Tracer) else value


def field_of(path: tuple[Any, ...]) -> str:
    """Returns where a leaf lies, as a name with dots."""
    return jax.tree_util.keystr(path).lstrip(".")
