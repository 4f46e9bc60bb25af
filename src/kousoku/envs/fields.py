"""Fields of environments: numbers that are leaves; words, flags, counts and bounds of actions, which are structure."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import spaces
from ..core.errors import ConfigError, check_choice, check_count, check_flag, check_number, is_number

Number = float | Float[Array, ""]
Scalar = Float[Array, ""]

LARGEST = 1e6


def number(name: str, default: float, *, low: float = -LARGEST, high: float = LARGEST, open_low: bool = False) -> Any:
    """Makes a field for a number, which environments side by side may differ in: a float or a float32 scalar array."""
    return eqx.field(default=default, converter=partial(_number, name, low, high, open_low))


def positive(name: str, default: float) -> Any:
    """Makes a field for a `number` above 0."""
    return number(name, default, low=0.0, open_low=True)


def action_bound(
    name: str, default: float, *, low: float = -LARGEST, high: float = LARGEST, open_low: bool = False
) -> Any:
    """Makes a field for a number that bounds the actions: structure, as spaces are, and no array."""
    return structural(name, default, "it bounds the actions", low=low, high=high, open_low=open_low)


def structural(
    name: str, default: float, what: str, *, low: float = -LARGEST, high: float = LARGEST, open_low: bool = False
) -> Any:
    """Makes a field for a number that is structure and no array: `what` says in a message why."""
    return eqx.field(static=True, default=default, converter=partial(_structural, name, what, low, high, open_low))


def _structural(name: str, what: str, low: float, high: float, open_low: bool, value: Any) -> float:
    if not is_number(value):
        raise ConfigError(name, value, f"use a number that is no array: {what}, which is structure")
    check_number(name, value, low=low, high=high, open_low=open_low)
    return float(value)


def known_number(name: str, value: Any, what: str, *, low: float, high: float) -> float:
    """Returns a number as a float, of an array the one that it holds.

    Args:
        name: of the field.
        value: the number.
        what: says in a message why it is structure.
        low, high: the interval.

    Raises:
        ConfigError: for a number outside, an array of several, or one that no program knows before it runs.
    """
    check_number(name, value, low=low, high=high)
    try:
        return float(value)
    except TypeError as error:  # of JAX's, for what it traces
        raise ConfigError(name, value, f"use a number that is no traced array: {what}, which is structure") from error


def _number(name: str, low: float, high: float, open_low: bool, value: Any) -> Any:
    return one_number(name, value, low=low, high=high, open_low=open_low)


def one_number(name: str, value: Any, **bounds: Any) -> Number:
    """Returns a number as a float, or as a float32 scalar where it is an array, traced or not.

    Args:
        name: of the field.
        value: the number.
        bounds: as of `check_number`.

    Raises:
        ConfigError: for a number outside, or an array with axes: environments side by side are made by `jax.vmap`.
    """
    if getattr(value, "shape", ()):
        fix = "use one number; `jax.vmap` makes an environment of each, and a sweep trains on them"
        raise ConfigError(name, f"an array {list(value.shape)}", fix)
    check_number(name, value, **bounds)
    return float(value) if is_number(value) else jnp.asarray(value, jnp.float32)


def flag(name: str, default: bool) -> Any:
    """Makes a field for True or False, as structure."""
    return eqx.field(static=True, default=default, converter=partial(check_flag, name))


def count(name: str, default: int, low: int = 1, high: int = 1 << 16) -> Any:
    """Makes a field for a whole number, as structure."""
    return eqx.field(static=True, default=default, converter=partial(check_count, name, low=low, high=high))


def choice(name: str, default: str, choices: tuple[str, ...]) -> Any:
    """Makes a field for one of a few words, as structure."""
    return eqx.field(static=True, default=default, converter=partial(_choice, name, choices))


def _choice(name: str, choices: tuple[str, ...], value: Any) -> Any:
    check_choice(name, value, choices)
    return value


def limit(default: int | None) -> Any:
    """Makes a field for the steps after which an episode is truncated; None for no limit."""
    return eqx.field(static=True, default=default, converter=check_limit)


def check_limit(value: Any) -> int | None:
    """Returns a time limit as an int, or None for no limit.

    Raises:
        ConfigError: for anything else, and for more steps than an int32 counts.
    """
    return None if value is None else check_count("time_limit", value, high=spaces.LARGEST)


def check_order(low_name: str, low: Number, high_name: str, high: Number) -> None:
    """Refuses an interval whose ends are known and in the wrong order.

    Raises:
        ConfigError: naming the upper end.
    """
    if isinstance(low, float) and isinstance(high, float) and low > high:
        raise ConfigError(high_name, high, f"use at least {low_name}, which is {low:g}")


def bound(value: Number, unknown: float) -> float:
    """Returns a number as the bound of a space, or `unknown` for an array, whose values may differ."""
    return value if isinstance(value, float) else unknown


def convert_fields(env: Any) -> None:
    """Checks and converts all fields, for a `__post_init__` that makes something of them: Equinox does so after it.

    Raises:
        ConfigError: for a value that a field refuses.
    """
    for field in dataclasses.fields(env):
        if (converter := field.metadata.get("converter")) is not None:
            setattr(env, field.name, converter(getattr(env, field.name)))
