"""Numbers as people type them: with thousands apart, and with k, M and B for their powers."""

from __future__ import annotations

import math
import re

THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")


def typed_number(text: str) -> float | int:
    """Reads 1_000_000, 1,000,000, 1M or 1e6 (whole, so an int), 500k, 0.5.

    Raises:
        ValueError: for anything else, NaN included.

    Examples:
        >>> typed_number("1.5M"), typed_number("1_000"), typed_number("0.5")
        (1500000, 1000, 0.5)
    """
    plain = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
    exponent = {"k": "e3", "m": "e6", "b": "e9"}.get(plain[-1:].lower(), "")
    value = float(plain[:-1] + exponent if exponent else plain)
    if math.isnan(value):
        raise ValueError(f"{text!r} is no number")
    return int(value) if value.is_integer() else value
