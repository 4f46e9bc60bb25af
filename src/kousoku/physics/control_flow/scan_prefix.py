"""A scan over the first few of many rows, with derivatives forward and reverse.

JAX has no reverse mode for a loop of unknown length. So the derivative is that of a scan over all rows, in which those
beyond the prefix change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import eval_jaxpr

from ..derivatives.jvp import jvp_symbolic_zeros
from .empty import empty_unbatched

Body = Callable[[Any, Any], tuple[Any, Any]]


def scan_prefix(length: jax.Array, rows: Any, init: Any, body: Body) -> tuple[Any, Any]:
    """Computes `jax.lax.scan(body, init, rows)` over the first `length` rows alone.

    Args:
        length: int32, at most as many as there are rows.
        rows: arrays [most, ...]. Beyond `length` they may hold anything.
        init: the first carry.
        body: (carry, row) -> (carry, blocks): blocks are arrays [e, ...]. It may close over anything. Its derivative
            is to be finite also for rows of zeros, which stand for those beyond the prefix; and it is to have no
            branches, as under `vmap` JAX stops gradients in those of a derivative's rule.

    Returns:
        The last carry, and the blocks one after the other, [most * e, ...]: beyond those that were made, anything.
    """
    most = jax.tree.leaves(rows)[0].shape[0]
    row = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)
    closed, shapes = jax.make_jaxpr(body, return_shape=True)(init, row)
    tree = jax.tree.structure(shapes)

    def apply(consts: Any, carry: Any, row: Any) -> tuple[Any, Any]:
        return jax.tree.unflatten(tree, eval_jaxpr(closed.jaxpr, consts, *jax.tree.leaves((carry, row))))

    @jax.custom_jvp
    def result(length: jax.Array, rows: Any, init: Any, consts: Any) -> tuple[Any, Any]:
        def step(i: jax.Array, found: tuple[Any, Any]) -> tuple[Any, Any]:
            carry, blocks = apply(consts, found[0], jax.tree.map(lambda x: x[i], rows))
            return carry, jax.tree.map(partial(_write_block, i), found[1], blocks)

        undefined = jax.tree.map(lambda x: empty_unbatched((most * x.shape[0], *x.shape[1:]), x.dtype), shapes[1])
        return lax.fori_loop(jnp.int32(0), length, step, (init, undefined))

    def over_all(length: jax.Array, rows: Any, init: Any, consts: Any) -> tuple[Any, Any]:
        active = jnp.arange(most, dtype=jnp.int32) < length
        rows = jax.tree.map(lambda x: jnp.where(active.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.zeros_like(x)), rows)

        def step(carry: Any, given: tuple[jax.Array, Any]) -> tuple[Any, Any]:
            after, blocks = apply(consts, carry, given[1])
            return jax.tree.map(partial(jnp.where, given[0]), after, carry), blocks

        carry, blocks = lax.scan(step, init, (active, rows))
        return carry, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), blocks)

    @partial(result.defjvp, symbolic_zeros=True)
    def rule(primals: Any, tangents: Any) -> Any:
        return result(*primals), jvp_symbolic_zeros(over_all, primals, tangents)

    return result(length, rows, init, closed.consts)


def _write_block(i: jax.Array, into: jax.Array, block: jax.Array) -> jax.Array:
    return lax.dynamic_update_slice_in_dim(into, block, i * jnp.int32(block.shape[0]), 0)
