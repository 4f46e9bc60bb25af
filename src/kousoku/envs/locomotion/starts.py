"""First states: the model's own position with noise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...ops.exploration import unit_interval
from ...physics import Model
from .options import Number
from .robot import Start


def noisy(model: Model, key: PRNGKeyArray, scale: Number, *, speeds: str = "uniform") -> Start:
    """Returns the model's own position, at rest, and noise on both.

    Args:
        model: the robot.
        key: of all that is random.
        scale: positions are uniform within it; so are speeds, unless they are normal with this standard deviation.
        speeds: "uniform" or "normal".
    """
    position_key, speed_key = jax.random.split(key)
    qpos = jnp.asarray(model.qpos0, jnp.float32) + within(position_key, model.nq, scale)
    if speeds == "normal":
        return Start(qpos, scale * jax.random.normal(speed_key, (model.nv,), jnp.float32))
    return Start(qpos, within(speed_key, model.nv, scale))


def within(key: PRNGKeyArray, count: int, scale: Number) -> Float[Array, " count"]:
    """Draws independent numbers, uniform in [-scale, scale)."""
    return between(key, count, -scale, scale)


def between(
    key: PRNGKeyArray, count: int, low: Number | Float[Array, " count"], high: Number | Float[Array, " count"]
) -> Float[Array, " count"]:
    """Draws independent numbers, uniform in [low, high)."""
    return low + (high - low) * unit_interval(jax.random.bits(key, (count,), jnp.uint32))
