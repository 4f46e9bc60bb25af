"""Spaces of other libraries as ours, and their observations as elements of these.

Gymnax's, Craftax's, Navix's and Jumanji's are told apart by what they have: `spaces`, a count, two bounds. Dtypes that
our spaces do not have are converted: bool to uint8, floats of other sizes to float32, integers of 64 bits to int32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ...core.action_mask import ACTION_MASK
from ...core.errors import ConfigError
from ...core.spaces import LARGEST, Box, Dict, Discrete, MultiDiscrete, Space

MOST_CATEGORIES = 64
"""Up to here a count in an observation is one of so many kinds, which a network sees one-hot; above, a number."""


def parts_of(value: Any) -> dict[str, Any] | None:
    """Returns the named parts of an observation or a space with parts: of a mapping, a tuple or a dataclass; or None.

    A tuple without names has the parts "0", "1" and so on.
    """
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, (tuple, list)):
        return {str(i): part for i, part in enumerate(value)}
    fields = getattr(value, "__dataclass_fields__", None)
    return None if fields is None else {name: getattr(value, name) for name in fields}


def dtype_of(dtype: Any) -> np.dtype:
    """Returns the dtype that our spaces have for one of theirs."""
    dtype = jnp.dtype(dtype)
    if dtype == jnp.bool_:
        return np.dtype(np.uint8)
    if jnp.issubdtype(dtype, jnp.floating):
        return np.dtype(np.float32)
    return np.dtype(np.int32) if dtype.itemsize > 4 else np.dtype(dtype)


def box_like(leaf: Any, low: Any = -math.inf, high: Any = math.inf) -> Box:
    """Returns the Box of an array's shape and dtype, within bounds as far as they fit the shape and the dtype."""
    dtype = dtype_of(leaf.dtype)
    if leaf.dtype == jnp.bool_:
        return Box(0, 1, leaf.shape, dtype)
    least, most = -math.inf, math.inf
    if dtype.kind in "iu":
        least, most = max(np.iinfo(dtype).min, -LARGEST - 1), min(np.iinfo(dtype).max, LARGEST - 1)
    return Box(_bound(low, leaf.shape, least, most), _bound(high, leaf.shape, least, most), leaf.shape, dtype)


def _bound(bound: Any, shape: tuple[int, ...], least: float, most: float) -> Any:
    """Returns one number where all entries have the same bound, else tuples of them."""
    array = np.asarray(bound, np.float64)
    array = np.where(abs(array) >= _LARGEST_FLOAT, np.copysign(np.inf, array), array)  # they say so for no bound
    array = np.clip(array, least, most)
    if array.size and (array == array.flat[0]).all():
        return float(array.flat[0])
    return array.tolist() if array.shape == shape else float(array.min() if least == bound else array.max())


def observed(leaves: PyTree[Any], space: Any = None) -> Space:
    """Returns where observations lie: of the shapes that a reset gives, within what their space or spec says.

    Args:
        leaves: the shapes and dtypes of an observation.
        space: theirs; None where they tell none.

    Raises:
        ConfigError: for a part that is no array.
    """
    parts = parts_of(leaves)
    if parts is not None:
        inner = _inner(space)
        return Dict({name: observed(part, inner.get(name)) for name, part in parts.items()})
    if not hasattr(leaves, "dtype"):
        raise ConfigError("observation space", type(leaves).__name__, "an observation has to be made of arrays")
    count = _count(space)
    if count is not None and leaves.shape == () and leaves.dtype.kind in "iu" and count <= MOST_CATEGORIES:
        return Discrete(count)
    if count is not None and leaves.shape == ():
        return Box(0, count, (), np.float32)
    if _has_bounds(space):
        low, high = _bounds(space)
        return box_like(leaves, low, high)
    return box_like(leaves)


def acted(space: Any) -> Space:
    """Returns where actions lie, by their space or spec.

    Raises:
        ConfigError: for a space that is none of ours.
    """
    nvec = getattr(space, "num_values", None)
    if nvec is not None and np.ndim(nvec):
        return MultiDiscrete(tuple(int(n) for n in np.asarray(nvec).reshape(-1)))
    count = _count(space)
    if count is not None and tuple(space.shape) == ():
        return Discrete(count)
    inner = getattr(space, "spaces", None)
    if isinstance(inner, Mapping):
        return Dict({str(name): acted(part) for name, part in inner.items()})
    if _has_bounds(space):
        low, high = _bounds(space)
        if jnp.issubdtype(space.dtype, jnp.integer) and not low.any() and len(space.shape) == 1:
            return MultiDiscrete(tuple(int(n) + 1 for n in np.broadcast_to(high, space.shape)))
        return box_like(jax.ShapeDtypeStruct(tuple(space.shape), space.dtype), low, high)
    raise ConfigError(
        "action space", type(space).__name__, "no space of ours is like it; wrap it in one that has bounds"
    )


def _inner(space: Any) -> dict[str, Any]:
    """Returns the spaces of the parts of a space, by name; those of a Jumanji spec are its attributes."""
    inner = getattr(space, "spaces", None)
    if inner is None:
        inner = {} if space is None or _has_bounds(space) else {k: v for k, v in vars(space).items() if k[0] != "_"}
    return parts_of(inner) or {}


def _count(space: Any) -> int | None:
    """Returns how many elements a space of whole numbers from 0 on has; None of another."""
    count = getattr(space, "n", None)
    count = getattr(space, "num_values", None) if count is None else count
    return None if count is None or np.ndim(count) else int(count)


def _has_bounds(space: Any) -> bool:
    return any(hasattr(space, low) and hasattr(space, high) for low, high in _BOUNDS)


def _bounds(space: Any) -> tuple[Any, Any]:
    low, high = next(pair for pair in _BOUNDS if hasattr(space, pair[0]))
    return np.asarray(getattr(space, low)), np.asarray(getattr(space, high))


_BOUNDS = (("low", "high"), ("minimum", "maximum"))


_LARGEST_FLOAT = float(np.finfo(np.float32).max)


def conformed(space: Space, obs: Any) -> PyTree[Array]:
    """Returns an observation of theirs as an element of the space that `observed` made: a dict, in our dtypes."""
    if isinstance(space, Dict):
        parts = parts_of(obs) or {}
        return {name: conformed(part, parts[name]) for name, part in space.spaces.items()}
    return jax.lax.convert_element_type(jnp.asarray(obs), space.dtype)


def with_mask(obs: Any, mask: Any) -> dict[str, Any]:
    """Returns an observation, or its shapes, beside the mask of what may be done, as agents look for it."""
    return {"observation": obs, ACTION_MASK: mask}
