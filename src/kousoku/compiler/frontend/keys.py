"""Reads random keys as what they are made of: words.

A key array of shape S is an array of shape S + W of uint32, W being the generator's. Operations that draw are replaced
by the generator's own definition in JAX, so that a kernel's stream is the stream of plain JAX, bit for bit; those that
move elements about get W's axes appended. The definition of threefry, JAX's default, is of operations that kernels
have; that of rbg is an operation of XLA's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..ir import DTYPES, Unsupported
from .halves import HALF, HELD


def is_key(array: Any) -> bool:
    """Returns whether an array, or its shape, is one of random keys, which NumPy has no arrays of."""
    return _is_key_dtype(array.dtype)


@lru_cache(maxsize=64)
def _is_key_dtype(dtype: Any) -> bool:
    return jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)


@lru_cache(maxsize=64)
def _held(dtype: Any) -> np.dtype | None:
    """Returns the dtype as NumPy's, if the kernel can hold it; float16 is held as float32."""
    if dtype == HALF:
        return HELD
    return np.dtype(dtype) if str(dtype) in DTYPES else None


def words(aval: Any) -> tuple[int, ...]:
    """Returns the shape of one key's words."""
    return tuple(aval.dtype._impl.key_shape)


def physical(aval: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Returns shape and dtype of a value as the kernel holds it.

    Raises:
        Unsupported: for dtypes that it cannot hold.
    """
    if is_key(aval):
        return (*aval.shape, *words(aval)), np.dtype(np.uint32)
    held = _held(aval.dtype) if hasattr(aval, "dtype") else None
    if held is None:
        raise Unsupported(f"arrays of {getattr(aval, 'dtype', aval)}")
    return aval.shape, held


def decomposition(name: str, avals: list[Any], params: dict[str, Any]) -> Callable[..., Any] | None:
    """Returns a function of words that does what the drawing primitive `name` does; None if it is no such primitive."""
    if name == "random_bits":
        impl = avals[0].dtype._impl
        return _over(lambda k: impl.random_bits(k, params["bit_width"], params["shape"]), avals[0].ndim)
    if name == "random_split":
        impl = avals[0].dtype._impl
        return _over(lambda k: impl.split(k, params["shape"]), avals[0].ndim)
    if name == "random_seed":
        return _over(params["impl"].seed, avals[0].ndim)
    if name == "random_fold_in":
        return _fold_in(avals)
    return None


def _over(function: Callable[..., Any], ndim: int) -> Callable[..., Any]:
    for _ in range(ndim):
        function = jax.vmap(function)
    return function


def _fold_in(avals: list[Any]) -> Callable[..., Any]:
    keys, data = avals
    impl, shape = keys.dtype._impl, np.broadcast_shapes(keys.shape, data.shape)

    def fold_in(key_words: Any, numbers: Any) -> Any:
        key_words = jnp.broadcast_to(key_words, (*shape, *impl.key_shape))
        numbers = jnp.broadcast_to(numbers, shape).astype(jnp.uint32)
        return _over(impl.fold_in, len(shape))(key_words, numbers)

    return fold_in


def append_axes(name: str, avals: list[Any], out: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of an operation that moves keys about, as one that moves their words about."""
    key = next(a for a in avals if is_key(a))
    extra, ndim = words(key), key.ndim
    more = tuple(range(out.ndim, out.ndim + len(extra)))
    match name:
        case "slice":
            strides = params["strides"]
            return {
                "start_indices": (*params["start_indices"], *(0 for _ in extra)),
                "limit_indices": (*params["limit_indices"], *extra),
                "strides": None if strides is None else (*strides, *(1 for _ in extra)),
            }
        case "broadcast_in_dim":
            axes = (*params["broadcast_dimensions"], *more)
            return params | {"shape": (*out.shape, *extra), "broadcast_dimensions": axes}
        case "reshape":
            return params | {"new_sizes": (*out.shape, *extra), "dimensions": None}
        case "transpose":
            return {"permutation": (*params["permutation"], *range(ndim, ndim + len(extra)))}
        case "dynamic_slice":
            return params | {"slice_sizes": (*params["slice_sizes"], *extra)}
        case "gather":
            numbers = params["dimension_numbers"]
            moved = numbers._replace(offset_dims=(*numbers.offset_dims, *more))
            return params | {"dimension_numbers": moved, "slice_sizes": (*params["slice_sizes"], *extra)}
        case "tile":
            return {"reps": (*params["reps"], *(1 for _ in extra))}
        case "scatter":
            numbers = params["dimension_numbers"]
            window = tuple(range(avals[2].ndim, avals[2].ndim + len(extra)))
            moved = numbers._replace(update_window_dims=(*numbers.update_window_dims, *window))
            return params | {"dimension_numbers": moved}
        case (
            "squeeze" | "concatenate" | "rev" | "copy" | "copy_p" | "select_n" | "dynamic_update_slice" | "stack" |
            "split" | "unstack"
        ):  # fmt: skip
            return params
    raise Unsupported(f"{name} of random keys")
