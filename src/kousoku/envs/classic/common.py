"""What the classic problems share: numbers that are leaves, bounds of spaces, first states, angles."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from ...core.errors import ConfigError, check_choice, check_count, check_flag, check_number, is_number
from ...core.timestep import Timestep
from ...ops.exploration import unit_interval

Number = float | Float[Array, ""]
Scalar = Float[Array, ""]

LARGEST = 1e6
TURN_HIGH = 6.28125  # 2 pi in two parts; the first has so few bits that its small multiples are exact in float32
TURN_LOW = 2.0 * math.pi - TURN_HIGH


def number(name: str, default: float, *, low: float = -LARGEST, high: float = LARGEST, open_low: bool = False) -> Any:
    """A field for a number that lanes may differ in: a float, or a float32 scalar array."""
    return eqx.field(default=default, converter=partial(_number, name, low, high, open_low))


def positive(name: str, default: float) -> Any:
    """A `number` above 0."""
    return number(name, default, low=0.0, open_low=True)


def _number(name: str, low: float, high: float, open_low: bool, value: Any) -> Any:
    check_number(name, value, low=low, high=high, open_low=open_low)
    return float(value) if is_number(value) else jnp.asarray(value, jnp.float32)


def flag(name: str, default: bool) -> Any:
    """A field for True or False, as structure."""
    return eqx.field(static=True, default=default, converter=partial(check_flag, name))


def choice(name: str, default: str, choices: tuple[str, ...]) -> Any:
    """A field for one of a few words, as structure."""
    return eqx.field(static=True, default=default, converter=partial(_choice, name, choices))


def _choice(name: str, choices: tuple[str, ...], value: Any) -> Any:
    check_choice(name, value, choices)
    return value


def limit(default: int | None) -> Any:
    """A field for the steps after which an episode is truncated; None for no limit."""
    return eqx.field(static=True, default=default, converter=_limit)


def _limit(value: Any) -> int | None:
    return None if value is None else check_count("time_limit", value)


def check_order(low_name: str, low: Number, high_name: str, high: Number) -> None:
    """Refuse an interval whose ends are known and in the wrong order.

    Raises:
        ConfigError: naming the upper end.
    """
    if isinstance(low, float) and isinstance(high, float) and low > high:
        raise ConfigError(high_name, high, f"use at least {low_name}, which is {low:g}")


def bound(value: Number, unknown: float) -> float:
    """A number as the bound of a space, or `unknown` for an array, which may have another value in every lane."""
    return value if isinstance(value, float) else unknown


def rounded_down(value: Number) -> Number:
    """The largest float32 that is not above a known number, so that `x > rounded_down(v)` says `x > v` exactly.

    Examples:
        >>> rounded_down(0.5), rounded_down(2.4) < 2.4 < float(np.float32(2.4))
        (0.5, True)
    """
    if not isinstance(value, float):
        return value
    nearest = np.float32(value)
    return float(nearest if float(nearest) <= value else np.nextafter(nearest, np.float32(-np.inf)))


def uniform(key: PRNGKeyArray, count: int, low: Number, high: Number) -> list[Scalar]:
    """Independent numbers in [low, high]."""
    words = jax.random.bits(key, (count,), jnp.uint32)
    return [jnp.minimum(low + (high - low) * unit_interval(words[i]), high) for i in range(count)]


def first(obs: Float[Array, "..."]) -> Timestep:
    """The timestep of a reset."""
    return Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))


def push(action: Int[Array, ""]) -> Scalar:
    """-1, 0 or 1 for the actions 0, 1 and 2; an action beyond them counts as the nearest one."""
    return jnp.clip(action.astype(jnp.float32) - 1.0, -1.0, 1.0)


def wrapped(angle: Scalar) -> Scalar:
    """The same angle in [-pi, pi], up to rounding: angle - 2 pi round(angle / 2 pi), to within one ulp of the result.

    Examples:
        >>> round(float(wrapped(jnp.float32(7.0))), 6)  # 7 - 2 pi
        0.716815
    """
    turns = jnp.round(angle * (0.5 / math.pi))
    return angle - turns * TURN_HIGH - turns * TURN_LOW


def never() -> Bool[Array, ""]:
    """False, as a flag."""
    return jnp.array(False)
