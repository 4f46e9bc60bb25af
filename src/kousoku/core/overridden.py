"""Checks of the methods and properties that a class of one's own has in the place of the library's."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import ConfigError, check_takes, shorten
from .ours import is_ours

A_METHOD, PROPERTY = "a method", "write @property above it"


def overridden(kind: type, *bases: type) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yields the names of what a class has of its own in the place of its bases', which are the library's.

    With each come the names of what a method is called with, by place; None for a property, or a field.
    """
    for base in bases:
        for name in (*getattr(base, "__abstractvars__", ()), *vars(base)):
            ours, theirs = vars(base).get(name), getattr(kind, name, None)
            if name.startswith("_") or is_ours(getattr(theirs, "fget", theirs)):
                continue
            if name not in vars(base) or isinstance(ours, property):
                yield name, None
            elif inspect.isfunction(getattr(base, name)) and not isinstance(ours, staticmethod):
                yield name, called_with(base, name)


def called_with(base: type, name: str) -> tuple[str, ...]:
    """Returns the names of what a method is called with, by place, beside what it is a method of."""
    _, *taken = inspect.signature(getattr(base, name)).parameters.values()
    return tuple(each.name for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD)


def untyped_fields(thing: Any) -> Iterator[tuple[str, Any, str]]:
    """Yields the fields of a base to which a class of one's own gives a value without a type, which does nothing.

    Python's dataclasses, and so modules, take for a field only what has a type: `rate = 0.1` is a name of the class,
    and each object goes on with the base's value.

    Yields:
        Name, the class's value, and what to do.
    """
    kind = type(thing)
    for field in dataclasses.fields(kind):
        name = field.name
        owner = next((each for each in kind.__mro__ if name in vars(each)), None)
        if owner is None or is_ours(owner) or vars(owner)[name] is field.default:
            continue
        typed = f"{name}: {getattr(field.type, '__name__', field.type)} = ..."
        stays = shorten(getattr(thing, name, None))
        yield name, vars(owner)[name], f"it is a field: write `{typed}`; without its type it stays {stays}"


def check_overridden(thing: Any, *bases: type, keywords: Mapping[str, tuple[str, ...]] | None = None) -> None:
    """Refuses methods of one's own that cannot be called as the library's are, properties that are methods, and fields
    that are none.

    Args:
        thing: an object of a class of one's own.
        bases: the library's classes of which it is one.
        keywords: what methods are called with beside, by name.

    Raises:
        ConfigError: naming the class, the method and what it takes, and what it should take.
    """
    kind = type(thing)
    for name, arguments in overridden(kind, *bases):
        field = f"{kind.__name__}.{name}"
        if arguments is not None:
            check_takes(field, getattr(thing, name), arguments, (keywords or {}).get(name, ()))
        elif inspect.isroutine(getattr(kind, name, None)):
            raise ConfigError(field, A_METHOD, PROPERTY)
    for name, value, fix in untyped_fields(thing):
        raise ConfigError(f"{kind.__name__}.{name}", value, fix)
