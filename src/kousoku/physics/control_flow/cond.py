"""Branches around numbers: what is seldom needed is computed only where it is.

Under `vmap` a kernel skips a branch that none of its group of lanes takes; plain JAX computes both and picks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import jax
import numpy as np
from jax import lax

from ...compiler.somewhere import somewhere
from ..algebra.scalar import Num, Truth

T = TypeVar("T")


def mapped(tree: Any, change: Callable[[Num], Num]) -> Any:
    """Lists, tuples, dictionaries and dataclasses of numbers, with other numbers."""
    if isinstance(tree, Num):
        return change(tree)
    if isinstance(tree, list):
        return [mapped(x, change) for x in tree]
    if isinstance(tree, tuple):
        parts = [mapped(x, change) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, dict):
        return {key: mapped(x, change) for key, x in tree.items()}
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{f.name: mapped(getattr(tree, f.name), change) for f in fields(tree)})
    return tree


def unknown(tree: Any) -> dict[int, jax.Array]:
    """Each number of the tree that is not known, once."""
    found: dict[int, jax.Array] = {}

    def note(n: Num) -> Num:
        if not n.known:
            found[id(n.value)] = n.value
        return n

    mapped(tree, note)
    return found


def replaced(tree: T, numbers: dict[int, Any]) -> T:
    """The tree with other numbers in place of those that are not known."""
    return mapped(tree, lambda n: n if n.known else Num(numbers[id(n.value)]))


def only(where: Truth, make: Callable[[], T]) -> T:
    """What is made, where it is wanted; elsewhere zeros in place of all numbers that are not known, or anything."""
    if isinstance(where, bool):
        return make()
    made: list[T] = []

    def taken() -> list[jax.Array]:
        made.append(make())
        return list(unknown(made[0]).values())

    def skipped() -> list[np.ndarray]:
        if not made:  # under `jax.disable_jit` only one side is run
            jax.eval_shape(taken)
        return [np.zeros((), x.dtype) for x in unknown(made[0]).values()]

    results = lax.cond(where, taken, skipped)
    return replaced(made[0], dict(zip(unknown(made[0]), results, strict=True)))


def changed(where: jax.Array, change: Callable[[], Sequence[Num]], old: Sequence[Num], dtype: Any) -> list[Num]:
    """Numbers, changed where the condition holds; elsewhere the change has to be none, as of a sum by zeros."""

    def values(numbers: Sequence[Num]) -> list[Any]:
        return [np.asarray(n.value, dtype) if n.known else n.value for n in numbers]

    return list(map(Num, lax.cond(somewhere(where), lambda: values(change()), lambda: values(old))))
