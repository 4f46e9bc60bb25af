"""Derivatives inside rules for derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero


def jvp_symbolic_zeros(function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Returns the tangents of `function(*primals)`, in a rule with symbolic zeros.

    It is `jax.jvp` with respect to all arguments whose tangent is no such zero.

    Args:
        function: what is differentiated.
        primals: its arguments, any tree.
        tangents: theirs, a tree of the same structure of arrays and symbolic zeros.
    """
    values, tree = jax.tree.flatten(primals)
    rates = jax.tree.leaves(tangents)
    moving = [not isinstance(r, SymbolicZero) and r.dtype != jax.dtypes.float0 for r in rates]

    def of_moving(moved: list[jax.Array]) -> Any:
        some = iter(moved)
        return function(
            *jax.tree.unflatten(tree, [next(some) if m else v for v, m in zip(values, moving, strict=True)])
        )

    moving_values, moving_rates = ([x for x, m in zip(of, moving, strict=True) if m] for of in (values, rates))
    return jax.jvp(of_moving, (moving_values,), (moving_rates,))[1]
