"""Spaces of other libraries as ours, and their observations as elements of these.

Gymnax's, Craftax's, Navix's and Jumanji's are told apart by what they have: `spaces`, a count, two bounds.
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
from ...core.dtypes import ends_of, narrowed
from ...core.errors import ConfigError
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space, narrowed_box

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


def box_like(leaf: Any, low: Any = -math.inf, high: Any = math.inf) -> Box:
    """Returns the Box of an array's shape and dtype, within bounds, or the widest of them if these are not one each."""
    low, high = (b if np.shape(b) == leaf.shape else widest(b) for b, widest in ((low, np.min), (high, np.max)))
    return narrowed_box(low, high, leaf.shape, leaf.dtype)


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


def conformed(space: Space, obs: Any) -> PyTree[Array]:
    """Returns an observation of theirs as an element of the space that `observed` made: a dict, in our dtypes."""
    if isinstance(space, Dict):
        parts = parts_of(obs) or {}
        return {name: conformed(part, parts[name]) for name, part in space.spaces.items()}
    obs = jnp.asarray(obs)
    if obs.dtype.kind in "iu" and narrowed(obs.dtype) == space.dtype != obs.dtype:
        obs = jnp.clip(obs, *ends_of(obs.dtype))  # what lies beyond would come round from the other end
    return jax.lax.convert_element_type(obs, space.dtype)


def with_mask(obs: Any, mask: Any) -> dict[str, Any]:
    """Returns an observation, or its shapes, beside the mask of what may be done, as agents look for it."""
    return {"observation": obs, ACTION_MASK: mask}
