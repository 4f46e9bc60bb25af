"""Sums of more numbers than 32 bits hold: a float as a sum and what it lacks, a count as two digits.

A sum of ten million times 0.1 in float32 is 9 % off, for each addition is rounded to the sum's last place; over 2^24 a
count of ones stands still. So numbers are summed for a few steps only, and these sums are carried over into wide ones.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

DIGIT = 30
"""Bits of a count's lower digit."""
TOGETHER = 64
"""Numbers that are summed up at a time: their sum is off by as many half units of its last place at most."""


class WideSums(eqx.Module):
    """Sums of float32 and counts of int32, each as a pair.

    Attributes:
        high: of floats the sum, rounded; of counts the multiples of 2^30.
        low: what is to be added to it.
    """

    high: Any
    low: Any


def wide_zeros(sums: Any) -> WideSums:
    """Returns wide sums of nothing; `sums` is a tree of arrays of which each will be carried over."""
    zeros = jax.tree.map(jnp.zeros_like, sums)
    return WideSums(zeros, zeros)


def carry_over(sums: Any, wide: WideSums) -> tuple[Any, WideSums]:
    """Returns zeros in the place of sums, and wide sums with these added.

    References:
        Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965): the compensated sum.
    """
    leaves, structure = jax.tree.flatten(sums)
    pairs = zip(leaves, jax.tree.leaves(wide.high), jax.tree.leaves(wide.low), strict=True)
    added = [_added(*each) for each in pairs]
    high, low = (jax.tree.unflatten(structure, [pair[i] for pair in added]) for i in (0, 1))
    return jax.tree.map(jnp.zeros_like, sums), WideSums(high, low)


def _added(value: Array, high: Array, low: Array) -> tuple[Array, Array]:
    value = value + low
    if jnp.issubdtype(value.dtype, jnp.integer):
        return high + (value >> DIGIT), value & ((1 << DIGIT) - 1)
    rounded = high + value
    return rounded, jnp.where(jnp.isfinite(rounded), value - (rounded - high), 0.0)


def total(sums: Any, wide: WideSums) -> Any:
    """Returns sums and wide sums together, NumPy, as float64 and int64."""
    return jax.tree.map(_total, sums, wide.high, wide.low)


def _total(value: Any, high: Any, low: Any) -> np.ndarray:
    kind = np.int64 if np.issubdtype(value.dtype, np.integer) else np.float64
    value, high, low = (np.asarray(x).astype(kind) for x in (value, high, low))
    return np.asarray((high << DIGIT) + low + value if kind is np.int64 else high + low + value)


def sum_of(values: Array, axes: int) -> Array:
    """Returns the sum over the first axes, of a few numbers at a time."""
    if not axes:
        return values
    flat = values.reshape((-1, *values.shape[axes:]))
    while flat.shape[0] > TOGETHER:
        padded = jnp.pad(flat, [(0, -flat.shape[0] % TOGETHER)] + [(0, 0)] * (flat.ndim - 1))
        flat = jnp.sum(padded.reshape((-1, TOGETHER, *flat.shape[1:])), axis=1, dtype=flat.dtype)
    return jnp.sum(flat, axis=0, dtype=flat.dtype)
