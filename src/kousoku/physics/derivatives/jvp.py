"""Derivatives inside rules for derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero


def slope(function: Callable[..., Any], given: Any, slopes: Any) -> Any:
    """How the results of `function(*given)` change, in a rule with symbolic zeros."""
    values, tree = jax.tree.flatten(given)
    rates = jax.tree.leaves(slopes)
    moving = [not isinstance(r, SymbolicZero) and r.dtype != jax.dtypes.float0 for r in rates]

    def of_some(moved: list[jax.Array]) -> Any:
        some = iter(moved)
        return function(
            *jax.tree.unflatten(tree, [next(some) if m else v for v, m in zip(values, moving, strict=True)])
        )

    primals, tangents = ([x for x, m in zip(of, moving, strict=True) if m] for of in (values, rates))
    return jax.jvp(of_some, (primals,), (tangents,))[1]
