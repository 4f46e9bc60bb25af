"""Functions of whole trees of arrays."""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
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
