"""Leaves of trees, by their shapes and dtypes."""

from __future__ import annotations

import jax


def key_like() -> jax.ShapeDtypeStruct:
    """Returns a random key by its shape and dtype."""
    return jax.eval_shape(jax.random.key, 0)
