"""Numbers as Python's own: of those that arrays hold, and of whole ones that no float holds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from .errors import held

EXACT = 2**53
"""The largest whole number up to which a float holds all."""


def plain_number(value: Any) -> Any:
    """Returns what a scalar of NumPy's or JAX's holds, as Python's; a tracer, a key, and all else as it is.

    Examples:
        >>> plain_number(np.array(-1.0)), plain_number(np.int32(3)), plain_number("a")
        (-1.0, 3, 'a')
    """
    return value.item() if isinstance(value, np.generic) else held(value)


def hold_plain_numbers(module: Any) -> None:
    """Makes the scalar arrays among a frozen value's fields Python's numbers, and large whole numbers floats.

    A whole number in a field that is no structure is a float then where it is above `EXACT`; infinity, if no float
    holds it. It is for constructors, which check numbers by value, before or after.
    """
    for field in dataclasses.fields(module):
        value = getattr(module, field.name, None)
        number = plain_number(value)
        if not field.metadata.get("static", False):
            number = in_float(number)
        if number is not value:
            object.__setattr__(module, field.name, number)


def in_float(number: Any) -> Any:
    """Returns a whole number above `EXACT` as a float, infinity if none holds it; anything else as it is.

    Examples:
        >>> in_float(10**400), in_float(10**30), in_float(3)
        (inf, 1e+30, 3)
    """
    if type(number) is not int or abs(number) <= EXACT:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
