"""Parts that the classic problems share: thresholds, first states, angles."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ...ops.exploration import unit_interval
from ..fields import Number, Scalar

TURN_HIGH = 6.28125  # 2 pi in two parts; the first has so few bits that its small multiples are exact in float32
TURN_LOW = 2.0 * math.pi - TURN_HIGH


def rounded_down(value: Number) -> Number:
    """Returns the largest float32 that is not above a known number, so that `x > rounded_down(v)` says `x > v` exactly.

    Examples:
        >>> rounded_down(0.5), rounded_down(2.4) < 2.4 < float(np.float32(2.4))
        (0.5, True)
    """
    if not isinstance(value, float):
        return value
    nearest = np.float32(value)
    return float(nearest if float(nearest) <= value else np.nextafter(nearest, np.float32(-np.inf)))


def uniform(key: PRNGKeyArray, count: int, low: Number, high: Number) -> list[Scalar]:
    """Draws `count` independent numbers in [low, high]."""
    words = jax.random.bits(key, (count,), jnp.uint32)
    return [jnp.minimum(low + (high - low) * unit_interval(words[i]), high) for i in range(count)]


def push(action: Int[Array, ""]) -> Scalar:
    """Returns -1, 0 or 1 for the actions 0, 1 and 2; an action beyond them counts as the nearest one."""
    return jnp.clip(action.astype(jnp.float32) - 1.0, -1.0, 1.0)


def wrapped(angle: Scalar) -> Scalar:
    """Returns the same angle in [-pi, pi], to within one ulp: angle - 2 pi round(angle / 2 pi).

    Examples:
        >>> round(float(wrapped(jnp.float32(7.0))), 6)  # 7 - 2 pi
        0.716815
    """
    turns = jnp.round(angle * (0.5 / math.pi))
    return angle - turns * TURN_HIGH - turns * TURN_LOW
