"""Fields of the suite's tasks: structure, as each value makes another program."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx

from ...core.errors import ConfigError, check_count, check_number, is_number


def whole(name: str, default: int, *, low: int = 1, high: int) -> Any:
    """Makes a field for a whole number."""
    return eqx.field(static=True, default=default, converter=partial(check_count, name, low=low, high=high))


def fixed(name: str, default: float, *, low: float = 0.0, high: float = 1e6, open_low: bool = False) -> Any:
    """Makes a field for a number that is no array."""
    return eqx.field(static=True, default=default, converter=partial(_fixed, name, low, high, open_low))


def _fixed(name: str, low: float, high: float, open_low: bool, value: Any) -> float:
    if not is_number(value):
        raise ConfigError(name, value, "use a number that is no array: it chooses the task, which is structure")
    check_number(name, value, low=low, high=high, open_low=open_low)
    return float(value)
