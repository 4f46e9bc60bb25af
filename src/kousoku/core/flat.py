"""Elements of a space as vectors: whatever is observed, as numbers in a row."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32

from .spaces import Box, Discrete, MultiDiscrete, Space


def flat_size(space: Space) -> int:
    """Returns how long `flattened` is.

    Examples:
        >>> flat_size(MultiDiscrete((2, 3)))
        5
    """
    if isinstance(space, Discrete):
        return space.n
    if isinstance(space, MultiDiscrete):
        return sum(space.nvec)
    if isinstance(space, Box):
        return math.prod(space.shape)
    return sum(flat_size(part) for part in space.spaces.values())


def flattened(space: Space, obs: Any) -> Float32[Array, " F"]:
    """Returns an observation as one vector.

    Discrete is one-hot, MultiDiscrete its one-hots one after the other, Box its numbers in C order (neither scaled
    nor shifted), Dict its parts in the sorted order of their names. An index outside its space is all zeros.

    Examples:
        >>> flattened(Discrete(3), jnp.int32(1)).tolist()
        [0.0, 1.0, 0.0]
    """
    if isinstance(space, Discrete):
        return jax.nn.one_hot(obs, space.n, dtype=jnp.float32)
    if isinstance(space, MultiDiscrete):
        return jnp.concatenate([jax.nn.one_hot(obs[i], n, dtype=jnp.float32) for i, n in enumerate(space.nvec)])
    if isinstance(space, Box):
        return jnp.asarray(obs).astype(jnp.float32).reshape(-1)
    parts = [flattened(space.spaces[name], obs[name]) for name in sorted(space.spaces)]
    return jnp.concatenate(parts) if parts else jnp.zeros(0)
