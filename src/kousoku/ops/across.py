"""Means and sums over the devices of a named axis.

A tree travels as one vector: on a processor, devices wait for each other as long for one number as for thousands.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.flatten_util import ravel_pytree


def mean_over(tree: Any, axis_name: str | None) -> Any:
    """Averages a tree of means, of equally many samples on each device, over devices; without an axis, itself."""
    if axis_name is None:
        return tree
    flat, unravel = ravel_pytree(tree)
    return unravel(jax.lax.pmean(flat, axis_name))


def sum_over(tree: Any, axis_name: str | None) -> Any:
    """Sums a tree of sums on each device over the devices; without an axis, itself. Whole numbers stay exact."""
    if axis_name is None:
        return tree
    leaves, structure = jax.tree.flatten(tree)
    for dtype in sorted({leaf.dtype for leaf in leaves}, key=str):
        chosen = [i for i, leaf in enumerate(leaves) if leaf.dtype == dtype]
        flat, unravel = ravel_pytree([leaves[i] for i in chosen])
        for i, leaf in zip(chosen, unravel(jax.lax.psum(flat, axis_name)), strict=True):
            leaves[i] = leaf
    return jax.tree.unflatten(structure, leaves)
