"""Trees of JAX arrays as plain arrays for a file, and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ConfigError


def to_arrays(tree: Any) -> list[np.ndarray]:
    """The leaves in order, as NumPy arrays; a typed key as its words."""
    return [np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf) for leaf in jax.tree.leaves(tree)]


def from_arrays(what: str, lanes: int, one: Any, arrays: list[np.ndarray]) -> Any:
    """The tree that `to_arrays` was given.

    Args:
        what: whose states they should be, for the message.
        lanes: how many lanes they should be of.
        one: shapes and dtypes of one lane, as from `jax.eval_shape`.
        arrays: the leaves, [lanes, ...].

    Raises:
        ConfigError: if the shapes are others, saying both.
    """
    leaves = jax.tree.leaves(one)
    wanted = [(lanes, *leaf.shape, *((2,) if _is_key(leaf) else ())) for leaf in leaves]
    found = [array.shape for array in arrays]
    if wanted != found:
        raise ConfigError("agent state", found, f"{what} needs {wanted}")
    restored = [
        jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)
        for leaf, array in zip(leaves, arrays, strict=True)
    ]
    return jax.tree.unflatten(jax.tree.structure(one), restored)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
