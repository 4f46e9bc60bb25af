"""Numbers and text as JSON that is small and cannot break out of the page it stands in."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from .text import HUGE

DIGITS = 5
SHOWN = 3
"""Significant digits that the page shows, where these are not whole numbers."""


def to_json(data: Any) -> str:
    """Returns JSON that can stand inside a <script> element: no character of it can end it or begin another.

    Examples:
        >>> to_json({"x": "</script>&", "y": float("nan")})
        '{"x":"\\\\u003c/script\\\\u003e\\\\u0026","y":null}'
    """
    text = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"))  # all but ASCII is escaped already
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def numbers(array: Any) -> list[Any]:
    """Flattens an array and rounds it to 5 significant digits and a tenth at least; None for NaN and infinities.

    The page rounds again, to three digits or to whole numbers, and has to show what it would show of the number itself.
    So one that would come to lie halfway, and does not, stays on its side.

    Examples:
        >>> numbers(np.array([[0.1234567, 2.0], [np.nan, -np.inf]]))
        [0.12346, 2, None, None]
        >>> numbers([825.4988, 825.5, 825.5012, 1234567.89])
        [825.49, 825.5, 825.51, 1234567.9]
    """
    x = np.asarray(array, np.float64).reshape(-1)
    finite = np.isfinite(x)
    return [_rounded(v) if ok else None for v, ok in zip(x.tolist(), finite.tolist(), strict=True)]


def _rounded(value: float) -> float | int:
    decimals = DIGITS - 1 if value == 0 else max(1, DIGITS - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    rounded = float(text)
    digits = text.replace(".", "").strip("-0")
    if len(digits) > SHOWN and digits[-1] == "5" and rounded != value:
        step = math.copysign(10.0**-decimals, value - rounded)
        rounded = float(f"{rounded + step:.{decimals}f}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < HUGE else rounded


def _plain(value: Any) -> Any:
    """Keeps what JSON knows: NumPy's numbers become Python's, NaN and infinities None, anything else its text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
