"""Functions that dm_control's rewards are made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...core.errors import ConfigError, check_choice, check_number

REACHES_ZERO = ("cosine", "linear", "quadratic")
"""Of the sigmoids those that may be 0 at the margin: they are 0 from some distance on."""


def tolerance(
    x: Float[Array, "*n"],
    bounds: tuple[float, float] = (0.0, 0.0),
    margin: float = 0.0,
    sigmoid: str = "gaussian",
    value_at_margin: float = 0.1,
) -> Float[Array, "*n"]:
    """Returns 1 where x is within the bounds, and less the further away it is.

        tolerance(x) = s(d / margin),  d = max(low - x, x - high, 0),  s(0) = 1,  s(1) = value_at_margin

    Without a margin it is 0 everywhere outside.

    Args:
        x: numbers.
        bounds: low and high, which belong to what is within; they may be infinite.
        margin: the distance at which `value_at_margin` is left.
        sigmoid: the shape of s: "gaussian", "hyperbolic", "long_tail", "reciprocal", "cosine", "linear", "quadratic" or
            "tanh_squared".
        value_at_margin: between 0 and 1; "cosine", "linear" and "quadratic" may have 0.

    References:
        Tassa et al., dm_control: software and tasks for continuous control, arXiv:2006.12983, "Reward"; the package's
        `dm_control.utils.rewards.tolerance`.

    Examples:
        >>> values = tolerance(jnp.array([0.5, 1.5, 3.0]), bounds=(0.0, 1.0), margin=2.0, sigmoid="linear")
        >>> [f"{value:.3f}" for value in values]
        ['1.000', '0.775', '0.100']

    Raises:
        ConfigError: for bounds in the wrong order, a negative margin, an unknown sigmoid, or a value out of its range.
    """
    low, high = bounds
    if not low <= high:
        raise ConfigError("bounds", bounds, "give the lower one first")
    check_number("margin", margin, low=0.0)
    check_choice("sigmoid", sigmoid, SIGMOIDS)
    check_number("value_at_margin", value_at_margin, low=0.0, open_low=sigmoid not in REACHES_ZERO, high=1.0)
    if value_at_margin == 1.0:
        raise ConfigError("value_at_margin", value_at_margin, "use a number below 1")
    if margin == 0.0:
        return ((low <= x) & (x <= high)).astype(x.dtype)
    away = jnp.maximum(jnp.maximum(low - x, x - high), 0.0)
    return SIGMOIDS[sigmoid](away / margin, value_at_margin)


def little_effort(control: Float[Array, " nu"]) -> Float[Array, ""]:
    """Returns (4 + mean t(control; margin 1)) / 5, with t for `tolerance`, quadratic and 0 at the margin."""
    return (4.0 + jnp.mean(tolerance(control, margin=1.0, value_at_margin=0.0, sigmoid="quadratic"))) / 5.0


def norm(x: Float[Array, " n"]) -> Float[Array, ""]:
    """Returns the length of a vector."""
    return jnp.sqrt(jnp.sum(x * x))


def _gaussian(x: jax.Array, value: float) -> jax.Array:
    return jnp.exp(-0.5 * jnp.square(x * math.sqrt(-2.0 * math.log(value))))


def _hyperbolic(x: jax.Array, value: float) -> jax.Array:
    return 1.0 / jnp.cosh(x * math.acosh(1.0 / value))


def _long_tail(x: jax.Array, value: float) -> jax.Array:
    return 1.0 / (jnp.square(x * math.sqrt(1.0 / value - 1.0)) + 1.0)


def _reciprocal(x: jax.Array, value: float) -> jax.Array:
    return 1.0 / (x * (1.0 / value - 1.0) + 1.0)


def _cosine(x: jax.Array, value: float) -> jax.Array:
    return 0.5 * (1.0 + jnp.cos(jnp.minimum(x * math.acos(2.0 * value - 1.0), math.pi)))


def _linear(x: jax.Array, value: float) -> jax.Array:
    return jnp.maximum(1.0 - x * (1.0 - value), 0.0)


def _quadratic(x: jax.Array, value: float) -> jax.Array:
    return jnp.maximum(1.0 - jnp.square(x * math.sqrt(1.0 - value)), 0.0)


def _tanh_squared(x: jax.Array, value: float) -> jax.Array:
    return 1.0 - jnp.square(jnp.tanh(x * math.atanh(math.sqrt(1.0 - value))))


SIGMOIDS: dict[str, Callable[[jax.Array, float], jax.Array]] = {
    "gaussian": _gaussian,
    "hyperbolic": _hyperbolic,
    "long_tail": _long_tail,
    "reciprocal": _reciprocal,
    "cosine": _cosine,
    "linear": _linear,
    "quadratic": _quadratic,
    "tanh_squared": _tanh_squared,
}
"""Functions of a distance of at least 0 that are 1 at 0 and `value` at 1."""
