"""Text of agents, environments and spaces: their class, and what differs from its defaults."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

LIMIT = 60
"""Characters of a part in a line; a longer one is cut."""

DEPTH = 4
"""Of parts within parts in a line."""

EXACT = 1e15
"""Whole numbers below it are shown with all their digits."""

BRACKETS = {
    tuple: ("(", ")"),
    list: ("[", "]"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
"""Signs around the parts of each kind."""


def as_text(module: eqx.Module) -> str:
    """Returns an agent as Equinox writes it, without what is equal to a default.

    Equinox leaves out what is the very object of a default, which nothing of a copy need be.
    """
    return eqx.tree_pformat(_with_defaults(module))


def _with_defaults(value: Any) -> Any:
    """Returns a value with the class's own default in the place of each part that is equal to it."""
    if type(value) is tuple:
        return tuple(map(_with_defaults, value))
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    made = object.__new__(type(value))
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            own = getattr(value, field.name)
            part = field.default if _is_default(own, field.default) else _with_defaults(own)
            object.__setattr__(made, field.name, part)
    return made


def _is_default(own: Any, default: Any) -> bool:
    """Returns whether a value is known to be equal to a default: no array is asked for that is only traced."""
    if type(own) is not type(default):
        return False
    equal = own is default or eqx.tree_equal(own, default, typematch=True)
    return not isinstance(equal, Tracer) and bool(equal)


def in_a_line(module: Any, inside: str | None = None, seen_as: Mapping[str, Callable[[Any], Any]] | None = None) -> str:
    """Returns an environment, a space or their like as a short line; never raises, whatever its fields do.

    What is equal to a default is left out, as are tables: parts that hold arrays and do not fit.

    Args:
        module: the value.
        inside: the field with what the value is around; it comes first, whole and without its name.
        seen_as: what to show of a field, by its name.
    """
    return _fields_in_a_line(module, DEPTH, inside, seen_as or {})


def _fields_in_a_line(value: Any, depth: int, inside: str | None, seen_as: Mapping[str, Callable[[Any], Any]]) -> str:
    told: list[str] = []
    for field in dataclasses.fields(value):
        try:
            own = getattr(value, field.name, dataclasses.MISSING)
            if field.name == inside:
                told.insert(0, _line(own, depth))
            elif _is_told(own, field, depth):
                told.append(f"{field.name}={_part(seen_as.get(field.name, _itself)(own), depth)}")
        except Exception:  # a person's own code runs here, and may raise anything
            told.append(f"{field.name}=...")
    return f"{type(value).__name__}({', '.join(told)})"


def _itself(value: Any) -> Any:
    return value


def _is_told(own: Any, field: dataclasses.Field[Any], depth: int) -> bool:
    """Returns whether a field may be given, has been set, and holds neither what it has by default nor a table."""
    if not (field.init and field.repr) or own is dataclasses.MISSING:
        return False
    return not (_is_left_as_it_was(own, field) or _is_table(own, depth))


def _is_left_as_it_was(own: Any, field: dataclasses.Field[Any]) -> bool:
    """Returns whether a value is known to be what its field holds without being given."""
    try:
        make: Any = field.default_factory
        default = field.default if make is dataclasses.MISSING else make()
        if default is dataclasses.MISSING:
            return False
        convert = field.metadata.get("converter")
        return _is_default(own, default) or (convert is not None and _is_default(own, convert(default)))
    except Exception:  # a comparison of a person's own may raise anything
        return False


def _is_table(value: Any, depth: int) -> bool:
    """Returns whether this is a part that holds arrays, or several of them, and does not fit."""
    if type(value) in (tuple, list):
        return depth > 0 and bool(value) and all(_is_table(part, depth - 1) for part in value)
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
        return False
    parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return any(_is_array(part) and part.ndim for part in parts) and len(_line(value, depth)) > LIMIT


def _is_array(value: Any) -> TypeGuard[np.ndarray | jax.Array]:
    return isinstance(value, np.ndarray | jax.Array)


def _part(value: Any, depth: int) -> str:
    """Returns a part of a line, cut to what fits."""
    text = _line(value, depth)
    if len(text) <= LIMIT or type(value) in BRACKETS:
        return text
    return f"{type(value).__name__}(...)" if dataclasses.is_dataclass(value) else f"{text[: LIMIT - 3]}..."


def _line(value: Any, depth: int) -> str:
    """Returns a value in a line: numbers short, of arrays dtype and shape, of a few parts those that fit."""
    kind = type(value)
    if _is_array(value) and (isinstance(value, Tracer) or np.ndim(value) or not _is_number(value)):
        return eqx.tree_pformat(value).removesuffix("(numpy)")
    if _is_array(value) or isinstance(value, np.generic):
        return _line(value.item(), depth)
    if type(value) is float:
        return repr(value if value.is_integer() and abs(value) < EXACT else float(f"{value:.6g}"))
    if kind in BRACKETS:
        return _several(value, depth - 1)
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__name__
    if kind.__repr__ is object.__repr__ or (depth == 0 and dataclasses.is_dataclass(value)):
        return f"{kind.__name__}(...)"
    if dataclasses.is_dataclass(value) and _has_text_of_fields(kind):
        return _fields_in_a_line(value, depth - 1, None, {})
    return " ".join(repr(value).split())


def _is_number(array: Any) -> bool:
    return getattr(array.dtype, "kind", None) in tuple("biufc")  # the dtype of a key has no kind


def _has_text_of_fields(kind: type) -> bool:
    """Returns whether a dataclass has no `__repr__` that a person wrote."""
    if issubclass(kind, eqx.Module):
        return kind.__repr__ is eqx.Module.__repr__
    return hasattr(kind.__repr__, "__wrapped__")  # as `dataclass` leaves it


def _several(parts: Any, depth: int) -> str:
    """Returns a tuple, a list, a dict or a set in a line, as many of its parts as fit."""
    if not parts:
        return repr(parts)
    opened, closed = BRACKETS[type(parts)]
    text = ""
    for i, part in enumerate(parts):
        told = "..." if depth < 0 else _part(part, depth)
        if type(parts) is dict and depth >= 0:
            told += f": {_part(parts[part], depth)}"
        if len(text) + len(told) > LIMIT:
            return f"{opened}{text}...{closed}"
        text += told + ("," if i == 0 and type(parts) is tuple and len(parts) == 1 else "")
        text += ", " if i + 1 < len(parts) else ""
    return f"{opened}{text}{closed}"
