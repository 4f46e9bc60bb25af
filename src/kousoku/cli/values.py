"""Values of options, of settings and of hyper-parameters: read from text as people write it."""

from __future__ import annotations

import json
import re
from typing import Any

from ..agents.options import is_schedule
from ..core.errors import ConfigError, check_count, is_number
from ..core.typed_number import THOUSANDS, typed_number
from ..ops.schedules import Schedule, parse_schedule, schedule_text

FRACTION = re.compile(r"(\d+)/([1-9]\d*)")
NONE = ("none", "null")
"""Words for None, or for none of several numbers."""
USE_NUMBER = "use a number, such as 1_000_000, 1M, 1e6 or 0.5"


def number(field: str, text: str) -> float | int:
    """Reads a number as people write it: 1_000_000, 1,000,000, 1M or 1e6 (whole, so an int), 500k, 0.5.

    Raises:
        ConfigError: for anything else.

    Examples:
        >>> number("steps", "1.5M"), number("steps", "1_000"), number("slip", "0.5")
        (1500000, 1000, 0.5)
    """
    try:
        return typed_number(text)
    except ValueError:
        raise ConfigError(field, text, USE_NUMBER) from None


def count(field: str, text: str, *, low: int = 1) -> int:
    """Reads a whole number as people write it.

    Raises:
        ConfigError: for anything else, or a smaller one than `low`.

    Examples:
        >>> count("episodes", "1e2")
        100
    """
    return check_count(field, number(field, text), low=low)


def numbers(field: str, text: str) -> list[float | int]:
    """Reads numbers with commas between them.

    Raises:
        ConfigError: for what is no number, or for what must be a single one, as 10,000 is.

    Examples:
        >>> numbers("seeds", "3,5,100")
        [3, 5, 100]
    """
    if THOUSANDS.fullmatch(text) and re.search(r",0\d", text):
        raise ConfigError(field, text, f"a comma stands between two numbers; write {text.replace(',', '_')}")
    return [number(field, part) for part in text.split(",")]


def literal(field: str, text: str, like: Any) -> Any:
    """Reads text as a value of the same kind as a default: a switch, a number, a word, or JSON.

    Raises:
        ConfigError: naming the option.
    """
    if isinstance(like, bool):
        if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise ConfigError(field, text, "use true or false")
        return text.lower() in ("true", "yes", "1")
    if isinstance(like, (int, float)):
        return number(field, text)
    if isinstance(like, str):
        return text
    if isinstance(like, (tuple, list)) and not text.startswith("["):
        return () if text.lower() in NONE else tuple(numbers(field, text))
    for read in (typed_number, json.loads):  # a number first: 1e2 is whole, and 1_000 no word
        try:
            return read(text)
        except ValueError:
            continue
    return text


def as_typed(value: Any) -> str:
    """Returns a value as one types it, so that `literal` or `hyper_parameter` reads the same from it.

    Examples:
        >>> as_typed((64, 64)), as_typed(()), as_typed(True), as_typed(0.5), as_typed(((16, 8), (32, 4)))
        ('64,64', 'none', 'true', '0.5', '[[16, 8], [32, 4]]')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Schedule):
        return schedule_text(value) or str(value)
    if not isinstance(value, (tuple, list)):
        return str(value)
    if any(isinstance(part, (tuple, list)) for part in value):
        return json.dumps(value)
    return ",".join(map(as_typed, value)) or NONE[0]


def hyper_parameter(field: str, text: str, like: Any, scheduled: bool = True) -> Any:
    """Reads a hyper-parameter: none, a schedule, a fraction, otherwise a `literal`; none of several numbers is ().

    Args:
        field: what it is called.
        text: the value.
        like: the default.
        scheduled: whether it may be a schedule: then a word in its place is told how to write one. Where not, colons
            are a part of the text.

    Examples:
        >>> hyper_parameter("update_ratio", "1/16", 1.0), hyper_parameter("learning_rate", "3e-4", 1e-3)
        (0.0625, 0.0003)
    """
    if text.lower() in NONE and not isinstance(like, tuple):
        return None
    if scheduled and (is_schedule(text) or (isinstance(like, float) and text.isalpha())):
        return parse_schedule(field, text)
    if is_number(like) and (fraction := FRACTION.fullmatch(text)):
        return int(fraction[1]) / int(fraction[2])
    return literal(field, text, like)
