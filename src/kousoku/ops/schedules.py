"""Numbers that change with the step count: learning rates and epsilons.

Any optax schedule, or any function of the count, can stand where a number can. The ones here are optax's as frozen
values, so that they can be written in a configuration file and typed in a shell.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core.errors import ConfigError, check_count, check_finite, check_number
from ..core.spaces import LARGEST

ScalarOrSchedule = float | Float[Array, ""] | Callable[[Any], Any]


def value_at(value: ScalarOrSchedule, count: Int[Array, ""]) -> Float[Array, ""]:
    """Returns the number, or the schedule's number at this count, as float32 []."""
    return jnp.asarray(value(count) if callable(value) else value, jnp.float32)


def counted(count: Int[Array, "..."], more: int | Int[Array, ""] = 1) -> Int[Array, "..."]:
    """Returns the count and so many more, or the largest number of int32: what is read at it stays as it is then.

    Examples:
        >>> int(counted(jnp.int32(2**31 - 2), 5)), int(counted(jnp.int32(3)))
        (2147483647, 4)
    """
    more = jnp.int32(more)
    return jnp.minimum(count, jnp.int32(LARGEST) - more) + more


class Schedule(eqx.Module):
    """A function of the step count."""

    @abstractmethod
    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """Returns the number at this count."""


class Linear(Schedule):
    """A line from `start` to `end` over `steps`, then constant (`optax.linear_schedule`).

    Examples:
        >>> [float(Linear(1.0, 0.0, 4)(jnp.int32(n))) for n in (0, 1, 4, 9)]
        [1.0, 0.75, 0.0, 0.0]
    """

    start: float
    end: float
    steps: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_finite("linear.start", self.start)
        check_finite("linear.end", self.end)
        check_count("linear.steps", self.steps, high=LARGEST)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        import optax

        return jnp.asarray(optax.linear_schedule(self.start, self.end, self.steps)(count), jnp.float32)


class Exponential(Schedule):
    """start * rate ** (count / steps), never below `end` (`optax.exponential_decay`)."""

    start: float
    rate: float
    steps: int = eqx.field(static=True)
    end: float = 0.0

    def __check_init__(self) -> None:
        check_finite("exponential.start", self.start)
        check_number("exponential.rate", self.rate, low=0, high=1, open_low=True)
        check_count("exponential.steps", self.steps, high=LARGEST)
        check_finite("exponential.end", self.end)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        decay = jnp.asarray(self.rate, jnp.float32) ** (count.astype(jnp.float32) / self.steps)
        return jnp.maximum(jnp.asarray(self.start, jnp.float32) * decay, jnp.asarray(self.end, jnp.float32))


class Harmonic(Schedule):
    """start * steps / (steps + count): sums to infinity, its squares do not, as stochastic approximation asks.

    References:
        Sutton and Barto (2nd ed.), equation 2.7 (Robbins and Monro, 1951).
    """

    start: float
    steps: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_number("harmonic.start", self.start, low=0, open_high=True)
        check_count("harmonic.steps", self.steps)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.asarray(self.start, jnp.float32) * (self.steps / (self.steps + count.astype(jnp.float32)))


SCHEDULES: dict[str, type[Schedule]] = {"linear": Linear, "exponential": Exponential, "harmonic": Harmonic}
FORMS = {
    "linear": "linear:START:END:STEPS",
    "exponential": "exponential:START:RATE:STEPS",
    "harmonic": "harmonic:START:STEPS",
}


def parse_schedule(field: str, text: str) -> float | Schedule:
    """Reads a number, or a schedule written as name:number:number..., such as "linear:1.0:0.05:10_000".

    Raises:
        ConfigError: for anything else.
    """
    name, *parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
        if not parts:
            return float(name)
    except ValueError:
        numbers = []
    if name not in FORMS or len(numbers) != FORMS[name].count(":"):
        raise ConfigError(field, text, f"use a number or one of {', '.join(FORMS.values())}")
    *values, steps = numbers
    make = cast(Callable[..., Schedule], SCHEDULES[name])
    return make(*values, check_count(f"{field}: steps", steps))


def check_schedule(field: str, value: Any, **bounds: Any) -> None:
    """Checks a number by `check_number`; a schedule of this module at its ends, any other function not at all."""
    if isinstance(value, Linear):
        check_number(f"{field}.start", value.start, **bounds)
        check_number(f"{field}.end", value.end, **bounds)
    elif isinstance(value, (Exponential, Harmonic)):
        check_number(f"{field}.start", value.start, **bounds)
        if isinstance(value, Exponential):
            check_number(f"{field}.end", value.end, high=bounds.get("high", math.inf))
    elif not callable(value):
        check_number(field, value, **bounds)
