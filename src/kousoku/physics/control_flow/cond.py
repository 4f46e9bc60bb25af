"""Branches over structures of numbers: what is hardly ever needed is computed only where it is.

Under `vmap` a kernel skips a branch that no lane of its gang takes; plain JAX computes both and picks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import jax
import numpy as np
from jax import lax

from ...compiler import any_lane
from ..algebra.scalar import Bool, Num

T = TypeVar("T")


def map_nums(tree: Any, change: Callable[[Num], Num]) -> Any:
    """Returns lists, tuples, dictionaries and dataclasses of numbers with `change` applied to each number."""
    if isinstance(tree, Num):
        return change(tree)
    if isinstance(tree, list):
        return [map_nums(x, change) for x in tree]
    if isinstance(tree, tuple):
        parts = [map_nums(x, change) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, dict):
        return {key: map_nums(x, change) for key, x in tree.items()}
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{f.name: map_nums(getattr(tree, f.name), change) for f in fields(tree)})
    return tree


def traced_values(tree: Any) -> dict[int, jax.Array]:
    """Returns each traced value of the tree once, by its identity."""
    found: dict[int, jax.Array] = {}

    def note(n: Num) -> Num:
        if not n.known:
            found[id(n.value)] = n.value
        return n

    map_nums(tree, note)
    return found


def with_values(tree: T, values: dict[int, Any]) -> T:
    """Returns the tree with other values in place of its traced ones, by the identities of the old."""
    return map_nums(tree, lambda n: n if n.known else Num(values[id(n.value)]))


def cond_or_zeros(condition: Bool, make: Callable[[], T]) -> T:
    """Returns make() where the condition holds; elsewhere the same with zeros, or anything, for all traced numbers."""
    if isinstance(condition, bool):
        return make()
    made: list[T] = []

    def taken() -> list[jax.Array]:
        made.append(make())
        return list(traced_values(made[0]).values())

    def skipped() -> list[np.ndarray]:
        if not made:  # under `jax.disable_jit` only one side is run
            jax.eval_shape(taken)
        return [np.zeros((), x.dtype) for x in traced_values(made[0]).values()]

    results = lax.cond(condition.value, taken, skipped)
    return with_values(made[0], dict(zip(traced_values(made[0]), results, strict=True)))


def cond_update(condition: jax.Array, update: Callable[[], Sequence[Num]], old: Sequence[Num], dtype: Any) -> list[Num]:
    """Returns update() where the condition holds for any lane of a gang; elsewhere `old`.

    Where the condition does not hold, update() has to equal `old`, as a sum with zeros does.
    """

    def values(numbers: Sequence[Num]) -> list[Any]:
        return [np.asarray(n.value, dtype) if n.known else n.value for n in numbers]

    return list(map(Num, lax.cond(any_lane(condition), lambda: values(update()), lambda: values(old))))
