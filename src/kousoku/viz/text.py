"""Numbers and settings as words for people."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.point_names import distinct_texts
from ..core.record import RunRecord

MINUS = "−"
HUGE = 1e15
"""From here on a number with a point is no longer written in full: few of its digits are known."""

ROUNDED_UP = 0.9995
"""From this part of a unit on a number with three digits is one of it."""
NOT_SHOWN = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u202a-\\u202e\\u2066-\\u2069\\ufffe\\uffff]")
"""What XML does not have, and what turns the order of the letters around it."""
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
RIGHT_TO_LEFT = frozenset(("R", "AL"))


def short(x: Any, digits: int = 3) -> str:
    """Writes a whole number in full, any other with `digits` significant digits; a dash for what is no number.

    The report's page writes numbers alike (`significant` in viewer/src/shared/text.ts).

    Examples:
        >>> [short(x) for x in (0.98765, 1.0, 20_000, 1234567.0, 0.00001234, 5e29, None)]
        ['0.988', '1.00', '20,000', '1,234,567', '1.23e-05', '5.00e+29', '–']
    """
    if x is None or not isinstance(x, (int, float)) or math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else MINUS + "∞"
    scientific = f"{x:.{digits - 1}e}"
    if isinstance(x, int):
        text = f"{x:,d}"
    elif abs(x) >= HUGE:
        text = scientific
    elif abs(x) >= 10 ** (digits - 1) or x == 0:
        text = f"{x:,.0f}"
    else:
        power = int(scientific.partition("e")[2])
        text = scientific if power < -4 else f"{x:.{digits - 1 - power}f}"
    return text.replace("-", MINUS, 1) if x < 0 else text


def fixed(x: float, size: float) -> str:
    """Writes a number with as many decimals as numbers of this size need for three digits.

    Examples:
        >>> fixed(0.000143, 0.9), fixed(-9.87, 13.0)
        ('0.000', '−9.9')
    """
    if not math.isfinite(x):
        return short(x)
    decimals = max(0, 2 - math.floor(math.log10(size or 1.0)))
    text = f"{abs(x):.{decimals}f}"
    return MINUS + text if x < 0 and float(text) != 0 else text


def compact(x: float) -> str:
    """Writes a count in thousands, millions or billions.

    Examples:
        >>> [compact(x) for x in (950, 1500, 2_000_000, 3.21e9)]
        ['950', '1.5 k', '2 M', '3.21 G']
        >>> compact(999_600), compact(1e12)
        ('1 M', '1 T')
    """
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if ROUNDED_UP * limit <= abs(x) < 1e18:
            return f"{x / limit:.3g} {unit}"
    return f"{x:.3g}"


def duration(seconds: float) -> str:
    """Writes a time span.

    Examples:
        >>> [duration(x) for x in (0.0123, 0.41, 75.0, 7260.0)]
        ['12 ms', '0.41 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def interval_text(low: float, high: float) -> str:
    """Writes [low, high], or nothing where it is not known."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{short(low)}, {short(high)}]"


def point_words(point: Mapping[str, Any], among: Iterable[Mapping[str, Any]] = ()) -> str:
    """Writes a sweep point in words.

    Args:
        point: the numbers by name.
        among: all points of the sweep, from which this one is told apart.

    Examples:
        >>> point_words({"learning_rate": 0.5, "epsilon": 0.1})
        'learning_rate 0.5, epsilon 0.1'
        >>> point_words({"epsilon": 0.1}, [{"epsilon": 0.1}, {"epsilon": 0.10000001}])
        'epsilon 0.1'
        >>> point_words({"epsilon": 0.10000001}, [{"epsilon": 0.1}, {"epsilon": 0.10000001}])
        'epsilon 0.10000001'
    """
    points = list(among)
    texts = {name: _among(value, [each[name] for each in points if name in each]) for name, value in point.items()}
    return well_formed(", ".join(f"{name} {text}" for name, text in texts.items()))


def point_name(record: RunRecord, point: int) -> str:
    """Writes a point of a run's sweep in words, told apart from all others of it."""
    return point_words(record.points[point], record.points)


def _among(value: Any, others: Iterable[Any]) -> str:
    """Writes a swept number as `plain` does, with more digits where others would be written alike."""
    return distinct_texts([value, *others])[value] if isinstance(value, float) else plain(value)


def ascii_only(text: str) -> str:
    """Returns the text as any terminal can show it.

    Examples:
        >>> ascii_only(f"{short(-0.5)} ({short(None)})")
        '-0.500 (-)'
    """
    known = {MINUS: "-", "–": "-", "∞": "inf", "’": "'", "×": "x", ISOLATE: "", END_OF_ISOLATE: ""}
    return "".join(known.get(character, character) for character in text).encode("ascii", "replace").decode()


def well_formed(text: str) -> str:
    """Returns the text with a question mark for what no file and no picture can take.

    That is each half of a surrogate pair, each character that XML does not have, and each that turns the order of
    letters, as those beside the text would be turned, too.

    Examples:
        >>> well_formed("a\\x1bb\\ud800"), well_formed("a\\u202eb")
        ('a?b?', 'a?b')
    """
    return NOT_SHOWN.sub("?", text.encode("utf-8", "replace").decode())


def isolated(text: str) -> str:
    """Returns a name as a part of a longer text: one that runs from right to left turns nothing around it.

    References:
        Unicode Standard Annex 9, Unicode bidirectional algorithm, section 2.4.

    Examples:
        >>> isolated("ppo"), isolated("\\u05d0 2") == "\\u2068\\u05d0 2\\u2069"
        ('ppo', True)
    """
    turns = any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in text)
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if turns else text


def shown_width(text: str) -> int:
    """Returns how many letters of a text take room."""
    return sum(letter not in (ISOLATE, END_OF_ISOLATE) for letter in text)


def plain(value: Any) -> str:
    """Writes a value of a configuration as it would be read aloud: text without quotes, lists with commas.

    Examples:
        >>> [plain(x) for x in (None, True, 20_000, 0.1, {}, ["returns", "visits"])]
        ['none', 'yes', '20,000', '0.1', 'none', 'returns, visits']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None or value in ({}, [], ()):
        return "none"
    if isinstance(value, (list, tuple)) and all(isinstance(item, (str, int, float)) for item in value):
        return ("\n" if any("\n" in str(item) for item in value) else ", ").join(plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def rows(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
    """Lists (name, value) of every entry of a nested mapping, the names joined by dots."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from rows(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield prefix, plain(value)
