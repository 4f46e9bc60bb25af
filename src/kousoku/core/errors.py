"""One kind of error for what a user got wrong, and the checks that raise it.

A message is one line: the field, what was given, what would do. The shell prints it and exits with status 2.
"""

from __future__ import annotations

import ctypes
import difflib
import inspect
import itertools
import math
import numbers
import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from .ours import LIBRARY
from .own_line import own_lines
from .synonyms import is_elsewhere, is_word, leading_to, meant

LARGEST_SIZE = 2**31 - 1
"""The largest count that int32 holds: programs count and index with that."""
LONGEST_TEXT = 200
"""Characters of what another library's error says that a message has."""
FEW = 12
"""Names of which a message has all."""
ALIKE, RATHER_ALIKE = 0.8, 0.65
"""How alike two words have to be for the one to be a slip of the other, where they are no names of the same list."""


class Brief(Exception):
    """An error that a notebook shows without the library's own frames: its message tells all."""

    def _render_traceback_(self) -> list[str]:
        """Returns what a notebook shows in the place of a traceback: the line that called us, and the message."""
        frames = traceback.extract_tb(self.__traceback__)
        callers = itertools.takewhile(lambda frame: not frame.filename.startswith(LIBRARY), frames)
        at = [f"line {caller.lineno}: {caller.line}" for caller in callers if caller.line]
        return [*at[-1:], f"{type(self).__name__}: {self}"]


class ConfigError(Brief, ValueError):
    """Something that a user wrote cannot be used; the message says what would be right.

    It crosses from one process to another, whatever was given: what cannot be pickled (a function, a tracer) arrives as
    the text that stood for it.

    Attributes:
        field: what it was written for.
        given: the value; `...` if it is missing.
        fix: what would do.
    """

    def __init__(self, field: str, given: object, fix: str) -> None:
        self.field, self.given, self.fix = field, given, fix
        super().__init__(f"{field}: got {shorten(given)}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.given if _is_picklable(self.given) else Unquoted(shorten(self.given))
        notes = {name: value for name, value in vars(self).items() if name not in ("field", "given", "fix")}
        return type(self), (self.field, given, self.fix), notes


class EnvError(Brief, RuntimeError):
    """An environment failed while it was used: one line names it, and says what it raised or did."""

    def _render_traceback_(self) -> list[str]:
        """Returns what a notebook shows: the line that called us, the user's lines that raised, and the message."""
        *called, message = super()._render_traceback_()
        return [*called, *own_lines(self.__cause__), message]


class RunWarning(UserWarning):
    """Something about a run that one should know, such as a damaged checkpoint that was passed over."""


class Unquoted(str):
    """A text that a message shows without quotes, in the place of a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _is_picklable(value: object) -> bool:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # pickling a value runs its own code, which may raise anything
        return False
    return True


def shorten(value: object, limit: int = 60) -> str:
    """Returns the value as it would be typed, cut to `limit` characters."""
    try:
        text = "nothing" if value is ... else " ".join(repr(value).split())
    except ValueError:  # as of a whole number with more digits than Python writes
        text = "a number of thousands of digits" if type(value) is int else type(value).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def error_text(error: BaseException) -> str:
    """Returns what an error of others' code says, in one line of at most `LONGEST_TEXT` characters; or else its name.

    Examples:
        >>> error_text(ValueError("no such", "map")), error_text(KeyError())
        ("('no such', 'map')", 'KeyError')
    """
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def error_line(error: BaseException) -> str:
    """Returns an error's name, and the first line of what it says.

    Examples:
        >>> error_line(ValueError("no such map\\nas this")), error_line(KeyError())
        ('ValueError: no such map', 'KeyError: ')
    """
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def nearest(word: str, known: Iterable[str], count: int = 3, least: float = 0.5) -> list[str]:
    """Returns names that a user may have meant, best first: alike ones, then those of which it is a part, as "ucb" is.

    Neither case, nor the sign between parts, nor dashes before them count.

    Args:
        word: what was written.
        known: the names.
        count: how many to return at most.
        least: how alike they have to be, of 1 for the same.
    """
    folded, by_folded = word.casefold().lstrip("-"), {name.casefold().lstrip("-"): name for name in known}
    alike = difflib.get_close_matches(folded, by_folded, n=count, cutoff=least)
    of_it = [name for name in by_folded if folded in re.split("[_.-]", name) and name not in alike]
    return [by_folded[name] for name in [*alike, *of_it][:count]]


def is_number(value: object) -> TypeGuard[float]:
    """Returns whether this is a plain number (a Python or NumPy scalar, not a bool): what a constructor can check."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_takes(field: str, function: Any, names: tuple[str, ...], keywords: tuple[str, ...] = ()) -> None:
    """Refuses a function that cannot be called with so many arguments by their place, and others by name.

    Raises:
        ConfigError: naming the field and the arguments.
    """
    wanted = ", ".join((*names, *(("*", *keywords) if keywords else ())))
    if not callable(function):
        raise ConfigError(field, function, f"use a function of ({wanted})")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some written in C do not tell
        return
    try:
        signature.bind(*names, **dict.fromkeys(keywords))
    except TypeError as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        by_name = (p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty)
        needed = [p.name for p in by_name if p.name not in (*names, *keywords)]
        fix = f"give {' and '.join(needed)} a default: it is called with ({wanted})"
        raise ConfigError(field, f"{name}{signature}", fix if needed else f"use a function of ({wanted})") from error


def check_number(
    field: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> None:
    """Refuses a number outside an interval, a NaN, or a thing that is no number: an array of several, say.

    Where an end is left out, a number that float32 rounds to it is outside, too: programs compute with that. Tracers
    pass: their values are not known when a program is traced.

    Raises:
        ConfigError: naming the field, the value and the interval.
    """
    if _is_traced(value):
        return
    known = held(value)
    if is_number(known):
        number = _bounded(known)
        above = number > low if open_low or math.isinf(low) > math.isinf(high) else number >= low
        below = number < high if open_high else number <= high
        ends = [end for end, is_open in ((low, open_low), (high, open_high)) if is_open]
        if above and below and not any(_in_float32(number) == _in_float32(end) for end in ends):
            return
        if above and below:
            if math.isinf(_in_float32(number)):
                raise ConfigError(field, value, "float32 rounds it to infinity; its largest number is 3.4e38")
            fix = f"float32 rounds it to an end; use a number {interval(low, high, open_low, open_high)} that it keeps"
            raise ConfigError(field, value, fix)
    one_sided = math.isinf(high) and not math.isinf(low)  # of which infinity is not outside, to read the words alone
    kind = "finite number" if one_sided and is_number(known) and _bounded(known) == math.inf else "number"
    one = "one" if getattr(value, "ndim", 0) else "a"
    raise ConfigError(field, value, f"use {one} {kind} {interval(low, high, open_low, open_high)}")


def _is_traced(value: Any) -> bool:
    """Returns whether a value is of JAX's and not known before a program runs; without JAX there is none."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, (jax.core.Tracer, jax.ShapeDtypeStruct))


def held(value: Any) -> Any:
    """Returns what an array without axes holds, as Python's; anything else as it is, a tracer and a random key too."""
    if is_number(value) or getattr(value, "ndim", None) != 0:
        return value
    try:
        return value.item()
    except (AttributeError, TypeError, NotImplementedError):
        return value


def _bounded(value: Any) -> Any:
    """Returns a number; infinity for a whole one that no float holds."""
    try:
        float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)
    return value


def _in_float32(value: Any) -> float:
    """Returns the nearest number of float32."""
    return ctypes.c_float(float(value)).value


def check_finite(field: str, value: Any) -> None:
    """Refuses a number that is not finite, and what `check_number` refuses."""
    check_number(field, value, open_low=True, open_high=True)


def check_count(field: str, value: Any, *, low: int = 1, high: int | None = None) -> int:
    """Returns a whole number of at least `low` (and at most `high`) as an int.

    Raises:
        ConfigError: for anything else, fractions and booleans included.
    """
    whole = is_number(value) and value % 1 == 0
    if not whole or value < low or (high is not None and value > high):
        upper = "" if high is None else f" and at most {high}"
        raise ConfigError(field, value, f"{_instead_of_array(value)} a whole number of at least {low}{upper}")
    return int(value)


def _instead_of_array(value: Any) -> str:
    """Returns how the number that an array holds, now or when a program runs, is made one of Python's; or "use"."""
    if getattr(value, "ndim", None) != 0 or is_number(value):
        return "use"
    try:
        int(value)
    except TypeError:  # of JAX's, for what it traces
        return "it is not known before the program runs: make a field that holds it eqx.field(static=True), and use"
    except (ValueError, OverflowError):  # NaN, infinity
        return "use"
    return "it is an array; write int(...),"


def check_size(field: str, value: Any, *, low: int = 1, high: int | None = None) -> int:
    """Returns a count that arrays have for a size; refuses one that is written as a float, which JAX does not take.

    Raises:
        ConfigError: as of `check_count`, for what is above `LARGEST_SIZE`, and for 8.0.
    """
    size = check_count(field, value, low=low, high=high)
    if size > LARGEST_SIZE:
        raise ConfigError(field, value, f"use a whole number of at most {LARGEST_SIZE}")
    if not isinstance(value, numbers.Integral):
        raise ConfigError(field, value, f"write {size}")
    return size


def check_flag(field: str, value: Any) -> bool:
    """Returns True or False; refuses anything else, so that "no" never counts as true.

    Raises:
        ConfigError: naming the field and the value.
    """
    if not isinstance(value, bool):
        raise ConfigError(field, value, "use True or False")
    return value


def check_choice(field: str, value: Any, choices: Iterable[str]) -> None:
    """Refuses a word that is not among the choices, and suggests the nearest one."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return
    close = nearest(value, known, 1) if isinstance(value, str) else []
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ConfigError(field, value, f"{hint}use one of {', '.join(map(repr, known))}")


def as_list(values: Any) -> tuple[Any, ...] | None:
    """Returns what several values were given as, as a tuple; None for a single text, and for what is no list of any.

    Examples:
        >>> as_list(["a", "b"]), as_list("ab"), as_list(3)
        (('a', 'b'), None, None)
    """
    try:
        return None if isinstance(values, str) else tuple(values)
    except TypeError:  # an array without a dimension has it only when it is read
        return None


def check_keys(field: str, given: Iterable[str], known: Iterable[str], where: str | None = None) -> None:
    """Refuses the first name that is not known, and suggests the one that is meant or the nearest.

    Args:
        field: what they are names of.
        given: what was written.
        known: the names.
        where: a sentence that says where all are shown, for the place of the names where these are many.

    Raises:
        ConfigError: with the name and the suggestion.
    """
    names = list(known)
    for name in given:
        if name not in names:
            raise ConfigError(field, name, meant(name, names) or _hint(name, names, where))


def _hint(name: str, known: list[str], where: str | None) -> str:
    """Returns a hint at the name that is nearest: known, or a word of others that is answered with a known one."""
    ours = is_elsewhere(name)
    theirs = nearest(name, [*known, *leading_to(known, name)], 1, ALIKE)
    if theirs and theirs[0] not in known:
        return f"did you mean {theirs[0]!r}? {meant(theirs[0], known)}"
    if close := nearest(name, known, 1, ALIKE if ours or is_word(name) else RATHER_ALIKE):
        return f"did you mean {close[0]!r}?"
    names = f"known: {', '.join(known) or 'none'}" if where is None or len(known) <= FEW else where
    return f"other agents or commands have it; {names}" if ours else names


def missing_attribute(owner: str, name: str, known: Iterable[str], told: str | None = None) -> AttributeError:
    """Returns the error for an attribute that a module has not, with a hint at what is meant where there is one.

    Args:
        owner: whose attribute it would be.
        name: of the attribute.
        known: names that there are, of which public ones may be suggested.
        told: a hint that is known already.

    Examples:
        >>> missing_attribute("module 'kousoku'", "trian", ["train", "resume"])
        AttributeError("module 'kousoku' has no attribute 'trian'; did you mean 'train'?")
    """
    close = [] if name.startswith("_") else nearest(name, [each for each in known if not each.startswith("_")], 1)
    hint = told or (f"did you mean {close[0]!r}?" if close else None)
    return AttributeError(f"{owner} has no attribute {name!r}" + (f"; {hint}" if hint else ""))


def check_all(field: str, values: Iterable[Any], check: Callable[[str, Any], object]) -> None:
    """Applies one check to every value of a list, naming the position."""
    for position, value in enumerate(values):
        check(f"{field}[{position}]", value)


def interval(low: float, high: float, open_low: bool, open_high: bool) -> str:
    """Returns the interval in words and brackets."""
    if math.isinf(low) and math.isinf(high):
        return "that is finite" if open_low and open_high else "that is finite or infinite, not NaN"
    if math.isinf(high):
        return f"{'above' if open_low else 'of at least'} {low:g}"
    return f"in {'(' if open_low or math.isinf(low) else '['}{low:g}, {high:g}{')' if open_high else ']'}"
