"""Numbers and text as JSON that is small and cannot break out of the page it stands in."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

DIGITS = 5


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
    """Flattens an array and rounds it to 5 significant digits; None for NaN and infinities.

    Examples:
        >>> numbers(np.array([[0.1234567, 2.0], [np.nan, -np.inf]]))
        [0.12346, 2, None, None]
    """
    x = np.asarray(array, np.float64).reshape(-1)
    finite = np.isfinite(x)
    return [_rounded(v) if ok else None for v, ok in zip(x.tolist(), finite.tolist(), strict=True)]


def _rounded(value: float) -> float | int:
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


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
