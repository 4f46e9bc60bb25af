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
DECIDES = f"decides what Python does, as `if`, `range` or a shape do, so it has to be known: {FIX}"


def is_traced(leaf: Any) -> bool:
    """Tells whether a leaf is an array or a number, which a compiled program takes as an argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind not in "OSUV"
    return eqx.is_array_like(leaf) and not isinstance(leaf, str | bytes)


def unhashable_leaves(part: Any, is_argument: Callable[[Any], bool] = is_traced) -> Iterator[str]:
    """Gives one line for each field by which no compiled program can be known: a set, a static dict, an array of text.

    Args:
        part: an environment or an agent.
        is_argument: tells which leaves a program takes as arguments.
    """
    leaves = ((_field(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(part))
    for field, leaf in leaves:
        if isinstance(leaf, np.ndarray | jax.Array) and not is_argument(leaf):
            yield f"{field} is an array of {leaf.dtype}: use other numbers, or a tuple in a static field"
        elif not is_argument(leaf):
            yield from _without_hash(field, leaf)
    for field, value in _static_fields(part):
        if isinstance(value, np.ndarray | jax.Array):
            yield f"{field} is an array in a static field: make it a leaf, or a tuple of numbers"
        else:
            yield from _without_hash(field, value)


def _without_hash(field: str, value: Any) -> Iterator[str]:
    try:
        hash(value)
    except TypeError:
        kind = type(value).__name__
        fix = "use plain numbers and text in it" if kind == "tuple" else "use a tuple or a frozenset"
        yield f"{field} is a {kind}, which has no hash to know a compiled program by: {fix}"


def _static_fields(part: Any, inside: str = "") -> Iterator[tuple[str, Any]]:
    """Yields name and value of each static field of a module and of the modules in it."""
    for each in fields(part):
        value = getattr(part, each.name)
        if each.metadata.get("static"):
            yield inside + each.name, value
        elif isinstance(value, eqx.Module):
            yield from _static_fields(value, f"{inside}{each.name}.")


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

    if not has_to_know(list(range(len(values)))):
        return []
    return [_field(leaves[i][0]) for i in range(len(values)) if has_to_know([i])]


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


def _field(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path).lstrip(".")
