"""Means and sums over the devices of a named axis.

A tree travels as one vector: on a processor, devices wait for each other as long for one number as for thousands.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
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
    if len({leaf.dtype for leaf in jax.tree.leaves(tree)}) > 1:  # to wait once: a sum over devices is of one dtype
        return jax.tree.map(lambda x: jnp.sum(x, axis=0, dtype=x.dtype), gather_over(tree, axis_name))
    flat, unravel = ravel_pytree(tree)
    return unravel(lax.psum(flat, axis_name))


def gather_over(tree: Any, axis_name: str) -> Any:
    """Stacks the trees of numbers of all devices, [D, ...], of whatever dtypes; the same on all of them.

    Their bits are added up, each device's in a row of its own: JAX knows of sums alone that all devices have the same.
    """
    leaves, structure = jax.tree.flatten(tree)
    words = [lax.bitcast_convert_type(leaf, jnp.uint32) for leaf in leaves]
    rows = jnp.arange(lax.axis_size(axis_name))[:, None] == lax.axis_index(axis_name)
    own = jnp.concatenate([word.reshape(-1) for word in words])[None]
    every = lax.psum(jnp.where(rows, own, jnp.uint32(0)), axis_name)
    parts = jnp.split(every, np.cumsum([word.size for word in words])[:-1], axis=1)
    stacked = [
        lax.bitcast_convert_type(part.reshape(-1, *word.shape), leaf.dtype)
        for part, word, leaf in zip(parts, words, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, stacked)
