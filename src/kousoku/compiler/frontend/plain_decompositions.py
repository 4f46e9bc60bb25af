"""Decomposes operations into plainer ones yet, for targets that know few: files of NumPy code and ONNX models.

As `decompositions`, each is written in JAX and traced again; here shapes may be symbolic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..ir import Unsupported

LONGEST = 256
"""Steps of a loop that is unrolled, at most."""

Rewrite = Callable[..., Any]


def has_plain_decomposition(name: str, params: dict[str, Any], inputs: Sequence[Any]) -> bool:
    """Returns whether an operation is read in terms of plainer ones.

    Args:
        name, params, inputs: the operation's.
    """
    return name in REWRITES and not is_plain(name, params, inputs[0].dtype)


def decompose_plainly(name: str, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Returns the closed jaxpr of an operation in terms of plainer ones.

    Raises:
        Unsupported: for a loop of more than `LONGEST` steps.
    """
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in avals]
    return jax.make_jaxpr(lambda *xs: REWRITES[name](*xs, **params))(*shapes)


def is_rows(rank: int, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, **_: Any) -> bool:
    """Returns whether a gather to `rank` axes is of the one form that is written down: `rows`."""
    tail = len(slice_sizes) - 1
    return (
        dimension_numbers.collapsed_slice_dims == (0,)
        and dimension_numbers.start_index_map == (0,)
        and not dimension_numbers.operand_batching_dims
        and tuple(dimension_numbers.offset_dims) == tuple(range(rank - tail, rank))
        and mode == lax.GatherScatterMode.PROMISE_IN_BOUNDS
    )


def rows(operand: Array, index: Array) -> Array:
    """Takes operand[index], for an index in range: the gather that `is_rows` knows."""
    offsets = tuple(range(index.ndim, index.ndim + operand.ndim - 1))
    numbers = lax.GatherDimensionNumbers(offset_dims=offsets, collapsed_slice_dims=(0,), start_index_map=(0,))
    sizes = (1, *operand.shape[1:])
    return lax.gather(operand, index[..., None], numbers, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def gather(
    operand: Array, indices: Array, *, dimension_numbers: Any, slice_sizes: Any, mode: Any, fill_value: Any, **_: Any
) -> Array:
    """Expresses any gather by one of rows: of whole rows, or of single entries at their places in C order.

    Indices out of range are clipped, or lead to the fill value where the mode says so.
    """
    n, sizes = dimension_numbers, operand.shape
    batch = indices.shape[:-1]
    rank = len(batch) + len(n.offset_dims)
    others = [axis for axis in range(rank) if axis not in n.offset_dims]
    window = [d for d in range(operand.ndim) if d not in (*n.collapsed_slice_dims, *n.operand_batching_dims)]
    shape = [
        batch[others.index(i)] if i in others else slice_sizes[window[n.offset_dims.index(i)]] for i in range(rank)
    ]
    last = indices.ndim - 1
    columns = [lax.index_in_dim(indices, k, last, keepdims=False) for k in range(len(n.start_index_map))]
    starts = {d: column.astype(jnp.int32) for d, column in zip(n.start_index_map, columns, strict=True)}
    room = {d: sizes[d] - slice_sizes[d] for d in starts if slice_sizes[d] is not sizes[d]}
    clipped = {d: jnp.clip(starts[d], jnp.int32(0), jnp.int32(most)) for d, most in room.items()}
    if list(room) == [0] and slice_sizes[0] == 1 and others == list(range(len(batch))) and not n.operand_batching_dims:
        found = rows(operand, clipped[0]).reshape(shape)
    else:
        place = jnp.zeros(shape, jnp.int32)
        for d in range(operand.ndim):
            place = place if d == 0 else place * jnp.int32(sizes[d])
            if d in clipped:
                place = place + lax.broadcast_in_dim(clipped[d], shape, others)
            if d in n.operand_batching_dims:
                axis = n.start_indices_batching_dims[n.operand_batching_dims.index(d)]
                place = place + lax.broadcasted_iota(jnp.int32, shape, others[axis])
            if d in window:
                place = place + lax.broadcasted_iota(jnp.int32, shape, n.offset_dims[window.index(d)])
        found = rows(operand.reshape(-1), place)
    if mode != lax.GatherScatterMode.FILL_OR_DROP:
        return found
    inside = jnp.ones(batch, bool)
    for d, start in starts.items():
        inside = inside & (start >= 0) & (start <= sizes[d] - slice_sizes[d])
    fill = _nothing(operand.dtype) if fill_value is None else fill_value
    return jnp.where(lax.broadcast_in_dim(inside, shape, others), found, jnp.asarray(fill, operand.dtype))


def _nothing(dtype: Any) -> Any:
    """Returns what JAX puts where an index is out of range."""
    if jnp.issubdtype(dtype, jnp.inexact):
        return math.nan
    if jnp.issubdtype(dtype, jnp.bool_):
        return True
    return jnp.iinfo(dtype).max if jnp.issubdtype(dtype, jnp.unsignedinteger) else jnp.iinfo(dtype).min


def scan(*args: Array, jaxpr: Any, length: int, num_consts: int, num_carry: int, reverse: bool, **_: Any) -> list[Any]:
    """Unrolls a loop of a known number of steps.

    Raises:
        Unsupported: for more than `LONGEST` steps.
    """
    if length > LONGEST:
        raise Unsupported(f"a scan of {length} steps")
    consts, carry, xs = args[:num_consts], list(args[num_consts:][:num_carry]), args[num_consts + num_carry :]
    body, made = jax.extend.core.jaxpr_as_fun(jaxpr), {}
    for i in reversed(range(length)) if reverse else range(length):
        results = body(*consts, *carry, *(lax.index_in_dim(x, i, keepdims=False) for x in xs))
        carry, made[i] = results[:num_carry], results[num_carry:]
    return [*carry, *(jnp.stack(parts) for parts in zip(*(made[i] for i in range(length)), strict=True))]


def stack(*arrays: Array, axis: int, **_: Any) -> Array:
    """Joins arrays along a new axis."""
    return lax.concatenate([lax.expand_dims(x, (axis,)) for x in arrays], axis)


def integer_pow(x: Array, *, y: int, **_: Any) -> Array:
    """Computes x^y by multiplications."""
    if y < 0:
        return jnp.ones_like(x) / integer_pow(x, y=-y)
    result, square = None, x
    while y:
        if y & 1:
            result = square if result is None else result * square
        square, y = square * square, y >> 1
    return jnp.ones_like(x) if result is None else result


def select_n(which: Array, *cases: Array, **_: Any) -> Array:
    """Chooses among many by choices between two."""
    result = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        result = jnp.where(which <= i, cases[i], result)
    return result


def round_away(x: Array, **_: Any) -> Array:
    """Rounds to the nearest whole number, halves away from zero."""
    return jnp.sign(x) * jnp.floor(jnp.abs(x) + jnp.asarray(0.5, x.dtype))


def is_plain(name: str, params: dict[str, Any], dtype: Any) -> bool:
    """Returns whether an operation stays as it is although there is a rewrite: a choice of two, rounding to even."""
    even = name == "round" and params["rounding_method"] == lax.RoundingMethod.TO_NEAREST_EVEN
    return even or (name == "select_n" and jnp.issubdtype(dtype, jnp.bool_))


def clamp(low: Array, x: Array, high: Array, **_: Any) -> Array:
    """Computes min(max(x, low), high)."""
    return jnp.minimum(jnp.maximum(x, low), high)


REWRITES: Mapping[str, Rewrite] = MappingProxyType(
    {
        "gather": gather,
        "scan": scan,
        "stack": stack,
        "integer_pow": integer_pow,
        "clamp": clamp,
        "select_n": select_n,
        "round": round_away,
        "square": lambda x, **_: x * x,
        "rsqrt": lambda x, **_: jnp.ones_like(x) / jnp.sqrt(x),
        "exp2": lambda x, **_: jnp.exp(x * jnp.asarray(math.log(2.0), x.dtype)),
        "erfc": lambda x, **_: jnp.ones_like(x) - lax.erf(x),
    }
)
