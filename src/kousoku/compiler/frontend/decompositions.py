"""Decomposes operations into others: what they mean, in JAX.

A definition is a function of the operation's parameters that makes a function of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from ..ir import Unsupported
from . import linear_algebra

WINDOW = 64

Function = Callable[..., Any]


def decompose(name: str, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Returns the closed jaxpr of an operation in terms of plainer ones."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        return _closed(DECOMPOSITIONS[name](**params), avals)


def has_decomposition(name: str, params: dict[str, Any]) -> bool:
    """Returns whether an operation is read in terms of plainer ones."""
    return name in DECOMPOSITIONS and (name != "reshape" or params["dimensions"] is not None)


def reshape(*, new_sizes: Sequence[int], dimensions: Sequence[int], **_: Any) -> Function:
    """Decomposes a reshape that orders axes first into a transpose and a plain reshape."""
    return lambda x: lax.reshape(lax.transpose(x, dimensions), new_sizes)


def expanded(*, _prim: Any, **_: Any) -> Function:
    """Decomposes what JAX 0.12 makes of an operation on its higher level, such as `nonzero`."""
    return lambda *values: jax.tree.leaves(_prim.expand(*jax.tree.unflatten(_prim.in_tree, values)))


def mulhi(**_: Any) -> Function:
    """Decomposes the upper half of a product of integers, into 64-bit products or those of halves."""

    def function(x: Any, y: Any) -> Any:
        bits = x.dtype.itemsize * 8
        half = bits // 2
        x_high, y_high = x >> half, y >> half
        mask = jnp.asarray((1 << half) - 1, x.dtype)
        x_low, y_low = x & mask, y & mask
        carry = lax.shift_right_logical(x_low * y_low, jnp.asarray(half, x.dtype))
        middle = x_high * y_low + carry
        other = x_low * y_high + (middle & mask)
        return x_high * y_high + (middle >> half) + (other >> half)

    return function


def one_minus_square(**_: Any) -> Function:
    """Decomposes 1 - x^2 into (1 + x) (1 - x)."""
    return lambda x: (1 + x) * (1 - x)


def polynomial(**_: Any) -> Function:
    """Decomposes a polynomial by Horner's rule; coefficients from the lowest degree up."""
    return lambda x, *coefficients: reduce(lambda total, c: total * x + c, coefficients[::-1])


def log2(**_: Any) -> Function:
    """Decomposes log2(x) into log(x) / log(2)."""
    return lambda x: lax.log(x) * jnp.asarray(1.4426950408889634, x.dtype)


def cumlogsumexp(*, axis: int, reverse: bool, **_: Any) -> Function:
    """Decomposes the running log of the sum of exponentials into a scan."""

    def function(x: Any) -> Any:
        def step(total: Any, row: Any) -> tuple[Any, Any]:
            total = jnp.logaddexp(total, row)
            return total, total

        rows = jnp.moveaxis(x, axis, 0)
        start = jnp.full(rows.shape[1:], -jnp.inf, x.dtype)
        return jnp.moveaxis(lax.scan(step, start, rows, reverse=reverse)[1], 0, axis)

    return function


def random_gamma(*, log_space: bool, **_: Any) -> Function:
    """Decomposes drawing from a gamma distribution into JAX's own rejection sampler."""
    from jax._src.random import core

    return lambda key, a: core._gamma_impl(key, a, log_space=log_space)


# ---- loops


def with_one_end(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a `while` whose rows end one by one, as one that ends with the last of them.

    That is what `vmap` makes of a loop: a condition with axes; rows whose condition has failed stay as they are.
    """
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    if not test.out_avals[0].shape:
        return params
    n, m = params["cond_nconsts"], params["body_nconsts"]

    def going(*args: Any) -> Any:
        return lax.reduce_or(*jaxpr_as_fun(test)(*args), axes=tuple(range(test.out_avals[0].ndim)))

    def step(*args: Any) -> list[Any]:
        carry = args[n + m :]
        (rows,) = jaxpr_as_fun(test)(*args[:n], *carry)
        after = jaxpr_as_fun(body)(*args[n:])
        spread = [lax.broadcast_in_dim(rows, x.shape, range(rows.ndim)) for x in carry]
        return [lax.select_n(*which) for which in zip(spread, carry, after, strict=True)]

    consts = [*test.in_avals[:n]]
    one_end, one_step = _closed(going, test.in_avals), _closed(step, [*consts, *body.in_avals])
    return params | {"cond_jaxpr": one_end, "body_jaxpr": one_step, "body_nconsts": n + m}


def _closed(function: Function, avals: Sequence[Any]) -> Any:
    return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals))


# ---- windows


def reduce_window(*, jaxpr: Any, consts: Sequence[Any], **windows: Any) -> Function:
    """Decomposes a reduction of windows by a function of its own into whole arrays, one for each place in the
    window.
    """
    combine = jaxpr_as_fun(ClosedJaxpr(jaxpr, consts))

    def function(*args: Any) -> list[Any]:
        arrays, starts = args[: len(args) // 2], args[len(args) // 2 :]
        shifted = [_shifted(x, start, **windows) for x, start in zip(arrays, starts, strict=True)]
        totals = [jnp.broadcast_to(start, parts[0].shape) for start, parts in zip(starts, shifted, strict=True)]
        each = partial(_elementwise, combine, totals[0].ndim)
        for parts in zip(*shifted, strict=True):
            totals = each(*totals, *parts)
        return totals

    return function


def _elementwise(combine: Function, ndim: int, *args: Any) -> list[Any]:
    for _ in range(ndim):
        combine = jax.vmap(combine)
    return list(combine(*args))


def window_of(combine: Function, start: Callable[[np.dtype], Any]) -> Callable[..., Function]:
    """Returns the decomposition of a reduction of windows by sum, maximum or minimum."""

    def define(**windows: Any) -> Function:
        return lambda x: reduce(combine, _shifted(x, jnp.asarray(start(x.dtype), x.dtype), **windows))

    return define


def _shifted(
    x: Any,
    start: Any,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **_: Any,
) -> list[Any]:
    """Returns, for each place in the window, what lies there in every window."""
    if np.prod(window_dimensions) > WINDOW:
        raise Unsupported(f"a reduction over windows of {np.prod(window_dimensions)} elements")
    gaps = [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation, strict=True)]
    padded = lax.pad(x, start, gaps)
    reach = [(n - 1) * d for n, d in zip(window_dimensions, window_dilation, strict=True)]
    counts = [max(0, (n - r - 1) // s + 1) for n, r, s in zip(padded.shape, reach, window_strides, strict=True)]
    places = product(*(range(0, r + 1, d) for r, d in zip(reach, window_dilation, strict=True)))
    return [_every(padded, place, counts, window_strides) for place in places]


def _every(x: Any, place: Sequence[int], counts: Sequence[int], strides: Sequence[int]) -> Any:
    if 0 in counts:
        return jnp.zeros(counts, x.dtype)
    ends = [p + (n - 1) * s + 1 for p, n, s in zip(place, counts, strides, strict=True)]
    return lax.slice(x, place, ends, strides)


def lowest(dtype: np.dtype) -> Any:
    """Returns what is below everything."""
    return -jnp.inf if dtype.kind == "f" else dtype.kind != "b" and jnp.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """Returns what is above everything."""
    return jnp.inf if dtype.kind == "f" else dtype.kind == "b" or jnp.iinfo(dtype).max


def convolution(
    *,
    dimension_numbers: Any,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
    **_: Any,
) -> Function:
    """Decomposes a convolution into a sum of products of matrices, one for each place in the window.

    Numbers are first converted to the type of the result, where one is asked for.
    """
    numbers = dimension_numbers

    def function(x: Any, kernel: Any) -> Any:
        if batch_group_count != 1:
            raise Unsupported("conv_general_dilated in groups of the batch")
        if preferred_element_type is not None:
            x, kernel = x.astype(preferred_element_type), kernel.astype(preferred_element_type)
        x, kernel = jnp.transpose(x, numbers.lhs_spec), jnp.transpose(kernel, numbers.rhs_spec)
        none = [(0, 0), (0, 0)]
        parts = _shifted(
            x,
            jnp.zeros((), x.dtype),
            window_dimensions=(1, 1, *kernel.shape[2:]),
            window_strides=(1, 1, *window_strides),
            padding=[*none, *padding],
            base_dilation=(1, 1, *lhs_dilation),
            window_dilation=(1, 1, *rhs_dilation),
        )
        weights = [kernel[(..., *place)] for place in np.ndindex(*kernel.shape[2:])]
        total = sum(_of_channels(p, w, feature_group_count) for p, w in zip(parts, weights, strict=True))
        return jnp.transpose(total, np.argsort(numbers.out_spec).tolist())

    return function


def _of_channels(x: Any, weights: Any, groups: int) -> Any:
    """Multiplies channels [b, groups i, ...] by weights [groups o, i], in groups: returns [b, groups o, ...]."""
    if groups == 1:
        return jnp.einsum("bi...,oi->bo...", x, weights)
    x = jnp.reshape(x, (x.shape[0], groups, -1, *x.shape[2:]))
    made = jnp.einsum("bgi...,goi->bgo...", x, jnp.reshape(weights, (groups, -1, weights.shape[1])))
    return jnp.reshape(made, (made.shape[0], -1, *made.shape[3:]))


DECOMPOSITIONS: dict[str, Callable[..., Function]] = {
    "call_hi_primitive": expanded,
    "reshape": reshape,
    "mulhi": mulhi,
    "one_minus_square": one_minus_square,
    "polynomial": polynomial,
    "log2": log2,
    "cumlogsumexp": cumlogsumexp,
    "random_gamma": random_gamma,
    "reduce_window": reduce_window,
    "reduce_window_sum": window_of(lax.add, lambda dtype: 0),
    "reduce_window_max": window_of(lax.max, lowest),
    "reduce_window_min": window_of(lax.min, highest),
    "conv_general_dilated": convolution,
    **linear_algebra.DECOMPOSITIONS,
}
