"""Functions of whole trees of arrays."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

T = TypeVar("T")


def select(condition: Bool[Array, ""], if_true: T, if_false: T) -> T:
    """Selects one of two trees of the same structure, leaf by leaf.

    Examples:
        >>> one, other = {"x": jnp.zeros(2)}, {"x": jnp.ones(2)}
        >>> select(jnp.array(True), one, other)["x"].tolist(), select(jnp.array(False), one, other)["x"].tolist()
        ([0.0, 0.0], [1.0, 1.0])
    """
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)


def to_device(x: Any, dtype: Any = None) -> Array:
    """Returns `jnp.asarray(x, dtype)`, without a program for NumPy's arrays: JAX compiles one for each of their shapes.

    NumPy's arrays are copied. One of JAX's, also while it is traced, is `jnp.asarray`'s.

    Examples:
        >>> to_device(np.arange(3), jnp.float32)
        Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(x, np.ndarray):
        return jax.device_put(np.array(x, dtype))
    return jnp.asarray(x, dtype)
