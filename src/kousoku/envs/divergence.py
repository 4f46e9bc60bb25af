"""Lanes that blow up: what is no number any more, or a number beyond all sense."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

LARGEST = 1e10  # MuJoCo's mjMAXVAL, beyond which it holds a number for nonsense


def is_sound(numbers: Any) -> Bool[Array, ""]:
    """Tells whether all are within 1e10 of 0, and none is NaN.

    Examples:
        >>> bool(is_sound(jnp.array([1.0, -2.0]))), bool(is_sound((jnp.ones(2), jnp.array(jnp.nan))))
        (True, False)
    """
    return jnp.stack([jnp.all(jnp.abs(x) <= LARGEST) for x in jax.tree.leaves(numbers)]).all()
