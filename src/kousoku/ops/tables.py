"""Reading and writing one entry of a table that a loop carries.

Dynamic slices instead of indexing: inside a compiled loop they update the table in place, and under `vmap` they become
one gather or scatter over the batch. Indices out of range are clamped, as everywhere in JAX; `check_env` and the
checked loop (`loop="python"`) refuse them instead.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Shaped


def row(table: Shaped[Array, "S A"], s: Int[Array, ""]) -> Shaped[Array, " A"]:
    """Returns table[s]."""
    return lax.dynamic_index_in_dim(table, s, axis=0, keepdims=False)


def entry(table: Shaped[Array, "S A"], s: Int[Array, ""], a: Int[Array, ""]) -> Shaped[Array, ""]:
    """Returns table[s, a]."""
    return lax.dynamic_slice(table, (s, a), (1, 1))[0, 0]


def put(table: Shaped[Array, "S A"], s: Int[Array, ""], a: Int[Array, ""], value: Shaped[Array, ""]) -> Array:
    """Returns the table with [s, a] replaced."""
    return lax.dynamic_update_slice(table, value[None, None].astype(table.dtype), (s, a))


def add(table: Shaped[Array, "S A"], s: Int[Array, ""], a: Int[Array, ""], value: Shaped[Array, ""]) -> Array:
    """Returns the table with `value` added to [s, a]."""
    return put(table, s, a, entry(table, s, a) + value.astype(table.dtype))


def filled(states: int, actions: int, value: Float[Array, ""] | float) -> Float[Array, "S A"]:
    """Returns a float32 table with one value everywhere."""
    return jnp.full((states, actions), value, jnp.float32)
