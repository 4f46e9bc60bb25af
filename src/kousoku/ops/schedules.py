"""Numbers that change with the step count: learning rates and epsilons.

Any optax schedule, or any function of the count, can stand where a number can. The ones here are optax's as frozen
values, so that they can be written in a configuration file and typed in a shell. Their steps are a count, or a share of
the run that they are part of: "20%".
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..core.errors import ConfigError, check_count, check_finite, check_number, check_takes, error_line
from ..core.leaves import kind_words
from ..core.ours import is_ours
from ..core.plain_number import hold_plain_numbers
from ..core.spaces import LARGEST
from ..core.typed_number import typed_number

USUAL_STEPS = 100_000
"""Steps of a run by default. A share that belongs to no run is one of these."""

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


def counted_before(iteration: Int[Array, ""], steps: int) -> Int[Array, ""]:
    """Returns how many steps were taken before an iteration, `steps` in each.

    It is the largest number of int32 where the iteration's number is negative, as in epochs after the first.

    Examples:
        >>> int(counted_before(jnp.int32(3), 5)), int(counted_before(jnp.int32(-3), 5))
        (15, 2147483647)
    """
    return jnp.where(iteration < 0, jnp.int32(LARGEST), iteration * jnp.int32(steps))


def check_steps(field: str, steps: Any) -> int | str:
    """Returns the steps of a schedule: a count, or a share of a run such as "20%".

    Raises:
        ConfigError: for anything else.
    """
    if isinstance(steps, str):
        if not 0 < _percent(steps) <= 100:
            raise ConfigError(field, steps, "use a count of steps, or a share of the run above 0% and up to 100%")
        return steps
    return check_count(field, steps, high=LARGEST)


def counted_steps(steps: int | str, of: int = USUAL_STEPS) -> int:
    """Returns steps as a count; a share is rounded, and at least 1.

    Args:
        steps: a count, or a share.
        of: the steps of the run that a share is of.

    Examples:
        >>> counted_steps("20%", 1000), counted_steps(50, 1000), counted_steps("20%")
        (200, 50, 20000)
    """
    return min(max(1, round(of * _percent(steps) / 100)), LARGEST) if isinstance(steps, str) else steps


def _percent(text: str) -> float:
    """Returns the number before a percent sign; NaN where the text is none of this form."""
    return float(text[:-1].replace("_", "")) if re.fullmatch(r"[\d_]*\.?\d+%", text) else math.nan


class Schedule(eqx.Module):
    """A function of the step count."""

    def __check_init__(self) -> None:
        if is_ours(type(self)):
            hold_plain_numbers(self)

    def in_run(self, steps: int) -> Schedule:
        """Returns the schedule with a share of a run of so many steps as a count; as it is where it has none."""
        share = getattr(self, "steps", None)
        return replace(self, steps=counted_steps(share, steps)) if isinstance(share, str) else self

    @abstractmethod
    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """Returns the number at this count."""


class Between(Schedule):
    """A way from `start` to `end` over `steps`, where it stays."""

    start: float
    end: float
    steps: int | str = eqx.field(static=True)

    def __check_init__(self) -> None:
        name = type(self).__name__.lower()
        check_finite(f"{name}.start", self.start)
        check_finite(f"{name}.end", self.end)
        check_steps(f"{name}.steps", self.steps)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        start, end = jnp.asarray(self.start, jnp.float32), jnp.asarray(self.end, jnp.float32)
        number = jnp.clip(self.on_the_way(count), jnp.minimum(start, end), jnp.maximum(start, end))
        return jnp.where(count >= counted_steps(self.steps), end, number)  # which rounding may pass

    @abstractmethod
    def on_the_way(self, count: Int[Array, ""]) -> Float[Array, ""]:
        """Returns the number at a count that is below `steps`."""


class Linear(Between):
    """A line from `start` to `end` over `steps`, then constant (`optax.linear_schedule`).

    Examples:
        >>> [float(Linear(1.0, 0.0, 4)(jnp.int32(n))) for n in (0, 1, 4, 9)]
        [1.0, 0.75, 0.0, 0.0]
        >>> Linear(1.0, 0.05, "20%").in_run(1000)
        Linear(start=1.0, end=0.05, steps=200)
    """

    def on_the_way(self, count: Int[Array, ""]) -> Float[Array, ""]:
        import optax

        return jnp.asarray(optax.linear_schedule(self.start, self.end, counted_steps(self.steps))(count), jnp.float32)


class Cosine(Between):
    """Half a cosine from `start` to `end` over `steps`, slow at both ends, then constant.

    With `end` / `start` as its alpha `optax.cosine_decay_schedule` is the same.

    Examples:
        >>> [round(float(Cosine(1.0, 0.0, 4)(jnp.int32(n))), 6) for n in (0, 1, 2, 4, 9)]
        [1.0, 0.853553, 0.5, 0.0, 0.0]

    References:
        Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, arXiv:1608.03983, equation 5.
    """

    def on_the_way(self, count: Int[Array, ""]) -> Float[Array, ""]:
        done = jnp.minimum(count.astype(jnp.float32) / counted_steps(self.steps), 1.0)
        share = 0.5 * (1.0 + jnp.cos(jnp.pi * done))
        return jnp.asarray(self.start, jnp.float32) * share + jnp.asarray(self.end, jnp.float32) * (1.0 - share)


class Exponential(Schedule):
    """start * rate ** (count / steps), never below `end` (`optax.exponential_decay`)."""

    start: float
    rate: float
    steps: int | str = eqx.field(static=True)
    end: float = 0.0

    def __check_init__(self) -> None:
        check_finite("exponential.start", self.start)
        check_number("exponential.rate", self.rate, low=0, high=1, open_low=True)
        check_steps("exponential.steps", self.steps)
        check_finite("exponential.end", self.end)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        decay = jnp.asarray(self.rate, jnp.float32) ** (count.astype(jnp.float32) / counted_steps(self.steps))
        return jnp.maximum(jnp.asarray(self.start, jnp.float32) * decay, jnp.asarray(self.end, jnp.float32))


class Harmonic(Schedule):
    """start * steps / (steps + count): sums to infinity, its squares do not, as stochastic approximation asks.

    References:
        Sutton and Barto (2nd ed.), equation 2.7 (Robbins and Monro, 1951).
    """

    start: float
    steps: int | str = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_number("harmonic.start", self.start, low=0, open_high=True)
        check_steps("harmonic.steps", self.steps)

    def __call__(self, count: Int[Array, ""]) -> Float[Array, ""]:
        steps = counted_steps(self.steps)
        return jnp.asarray(self.start, jnp.float32) * (steps / (steps + count.astype(jnp.float32)))


SCHEDULES: dict[str, type[Schedule]] = {
    "linear": Linear,
    "cosine": Cosine,
    "exponential": Exponential,
    "harmonic": Harmonic,
}
FORMS = {
    "linear": "linear:START:END:STEPS",
    "cosine": "cosine:START:END:STEPS",
    "exponential": "exponential:START:RATE:STEPS:END",
    "harmonic": "harmonic:START:STEPS",
}
OPTIONAL = {"exponential": "END"}
"""The last part of a form that may be left out."""


def parse_schedule(field: str, text: str) -> float | Schedule:
    """Reads a number, or a schedule written as name:number:number..., such as "linear:1.0:0.05:10_000"; its
    steps may be a share of the run, "linear:1.0:0.05:20%".

    Raises:
        ConfigError: for anything else.
    """
    name, *parts = text.split(":")
    names = FORMS.get(name, "").lower().split(":")[1:]
    if name in OPTIONAL and len(parts) == len(names) - 1:
        names.pop()
    try:
        if not parts:
            return float(typed_number(name))
        given: dict[str, Any] = {
            what: part if what == "steps" and part.endswith("%") else float(typed_number(part))
            for what, part in zip(names, parts, strict=True)
        }
    except ValueError:
        given = {}
    if not given:
        forms = ", ".join(FORMS.values())
        fix = "use a number or one of {}; STEPS may be a share of the run, such as 20%, and {} be left out"
        raise ConfigError(field, text, fix.format(forms, " ".join(OPTIONAL.values())))
    given["steps"] = check_steps(f"{field}: steps", given["steps"])
    return SCHEDULES[name](**given)


def schedule_text(schedule: Schedule) -> str | None:
    """Returns a schedule as `parse_schedule` reads it; None of a kind that has no name there.

    Examples:
        >>> schedule_text(Linear(1.0, 0.05, "20%")), schedule_text(Exponential(0.5, 0.9, 1000))
        ('linear:1.0:0.05:20%', 'exponential:0.5:0.9:1000')
        >>> schedule_text(Exponential(0.5, 0.9, 1000, end=0.1))
        'exponential:0.5:0.9:1000:0.1'
    """
    name = next((name for name, kind in SCHEDULES.items() if type(schedule) is kind), None)
    if name is None:
        return None
    parts = [str(getattr(schedule, part)) for part in FORMS[name].lower().split(":")[1:]]
    if name in OPTIONAL and getattr(schedule, OPTIONAL[name].lower()) == 0.0:
        parts.pop()
    return ":".join([name, *parts])


def in_run(agent: Any, steps: int) -> Any:
    """Returns an agent whose schedules count steps: shares of a run are those of one of so many steps."""

    def of_run(leaf: Any) -> Any:
        return leaf.in_run(steps) if isinstance(leaf, Schedule) else leaf

    return jax.tree.map(of_run, agent, is_leaf=lambda leaf: isinstance(leaf, Schedule))


def check_schedule(field: str, value: Any, **bounds: Any) -> None:
    """Checks a number by `check_number`, a schedule of this module at its ends, and what any other function gives."""
    if isinstance(value, Between):
        check_number(f"{field}.start", value.start, **bounds)
        check_number(f"{field}.end", value.end, **bounds)
    elif isinstance(value, (Exponential, Harmonic)):
        check_number(f"{field}.start", value.start, **bounds)
        if isinstance(value, Exponential):
            check_number(f"{field}.end", value.end, high=bounds.get("high", math.inf))
    elif callable(value):
        _check_gives_number(field, value)
    else:
        check_number(field, value, **bounds)


def check_learning_rate(field: str, rate: Any) -> None:
    """Refuses a learning rate that cannot work: a schedule may come to 0, a number not.

    Raises:
        ConfigError: naming the field.
    """
    check_schedule(field, rate, low=0, open_low=not callable(rate), open_high=True)


def _check_gives_number(field: str, function: Callable[..., Any]) -> None:
    """Refuses a function that cannot be called with a count, or gives something else than a real number.

    Raises:
        ConfigError: with what it gives.
    """
    check_takes(field, function, ("count",))
    name = getattr(function, "__qualname__", type(function).__name__)
    fix = "use a function of the step count, an int32 scalar, that gives a number"
    try:
        with jax.numpy_dtype_promotion("standard"):
            made = jax.eval_shape(function, jax.ShapeDtypeStruct((), jnp.int32))
    except Exception as error:  # it is others' code
        raise ConfigError(field, name, f"it raises {error_line(error)}; {fix}") from error
    real = getattr(made, "shape", None) == () and jnp.issubdtype(made.dtype, jnp.number)
    if not real or jnp.issubdtype(made.dtype, jnp.complexfloating):
        raise ConfigError(field, name, f"it gives {kind_words(made)}; {fix}")
