"""Fields of robots' environments: files, frames, intervals."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx

from ...core.errors import ConfigError, check_choice, check_count
from ...physics import Model
from ..fields import Number, check_order, flag, limit, number, one_number
from .files import as_text

__all__ = ["Number", "Span", "body", "file", "flag", "frames", "limit", "number", "span"]

Span = tuple[Number, Number]


def file(default: str) -> Any:
    """Makes a field for a model file, see `files.robot`."""
    return eqx.field(static=True, default=default, converter=as_text)


def frames(default: int) -> Any:
    """Makes a field for the time steps of the physics that a step lasts."""
    return eqx.field(static=True, default=default, converter=partial(check_count, "frame_skip", high=1 << 16))


def span(name: str, default: tuple[float, float], *, low: float = -math.inf) -> Any:
    """Makes a field for an interval at least at `low`, whose ends may be arrays, and may be infinite."""
    return eqx.field(default=default, converter=partial(_span, name, low))


def _span(name: str, least: float, value: Any) -> Span:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(name, value, "give two numbers, the lower first")
    low, high = (one_number(f"{name}[{i}]", end, low=least) for i, end in enumerate(value))
    check_order(f"{name}[0]", low, f"{name}[1]", high)
    return low, high


def body(name: str, default: int | str) -> Any:
    """Makes a field for a body, by number or name."""
    return eqx.field(static=True, default=default, converter=partial(_body, name))


def _body(name: str, value: Any) -> int | str:
    return value if isinstance(value, str) else check_count(name, value, low=0)


def check_body(name: str, model: Model, which: int | str) -> None:
    """Refuses a body that the model has not.

    Raises:
        ConfigError: naming the field.
    """
    if isinstance(which, str):
        check_choice(name, which, dict(model.names)["body"])
    else:
        check_count(name, which, low=0, high=model.nbody - 1)
