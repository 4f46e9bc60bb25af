"""Sums of very many float32 numbers, one after the other: beside each is a rest, what rounding took away from it.

A plain sum of 200,000 tenths is 0.2 % off, one of ten million 9 %, and over 2^24 a sum of ones stands still.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

LONG = 10_000
"""Numbers that are summed up without a rest: each addition takes at most 2^-24 of the sum, all at most 6e-4 of it."""


def rest_for(most: int | None) -> Float[Array, ""] | None:
    """Returns the rest that a sum begins with; None where it needs none.

    Args:
        most: how many numbers it may be of; None for any number.
    """
    return jnp.float32(0.0) if most is None or most > LONG else None


def add(
    so_far: Float[Array, "..."], rest: Float[Array, "..."] | None, value: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."] | None]:
    """Returns a sum and its rest with one more number; without a rest a plain sum."""
    return (so_far + value, None) if rest is None else add_with_rest(so_far, rest, value)


def add_with_rest(
    so_far: Float[Array, "..."], rest: Float[Array, "..."], value: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Returns a sum and its rest with one more number, by compensated summation.

    Whole numbers with a sum of at most 2^24 leave no rest: it has the bits of a plain one. An infinite sum has none.

    References:
        Kahan, "Further remarks on reducing truncation errors", CACM 8 (1965).
    """
    value = value + rest
    rounded = so_far + value
    return rounded, jnp.where(jnp.isfinite(rounded), value - (rounded - so_far), 0.0)
