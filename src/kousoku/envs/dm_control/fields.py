"""Fields of the suite's tasks: structure, as each value makes another program."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx

from ...core.errors import check_count
from ..fields import structural


def whole(name: str, default: int, *, low: int = 1, high: int) -> Any:
    """Makes a field for a whole number."""
    return eqx.field(static=True, default=default, converter=partial(check_count, name, low=low, high=high))


def fixed(name: str, default: float, *, low: float = 0.0, high: float = 1e6, open_low: bool = False) -> Any:
    """Makes a field for a number that is no array."""
    return structural(name, default, "it chooses the task", low=low, high=high, open_low=open_low)
