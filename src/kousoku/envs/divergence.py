"""Divergence: what is no number any more, or a number beyond all sense."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

LARGEST = 1e10  # MuJoCo's mjMAXVAL, beyond which it holds a number for nonsense


def has_diverged(numbers: Any) -> Bool[Array, ""]:
    """Returns whether any is NaN, or further than 1e10 from 0.

    Examples:
        >>> bool(has_diverged(jnp.array([1.0, -2.0]))), bool(has_diverged((jnp.ones(2), jnp.array(jnp.nan))))
        (False, True)
    """
    return ~jnp.stack([jnp.all(jnp.abs(x) <= LARGEST) for x in jax.tree.leaves(numbers)]).all()
