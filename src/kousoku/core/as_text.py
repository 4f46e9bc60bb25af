"""Text of agents and environments: their class, and what differs from its defaults."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
from jax.core import Tracer


def as_text(module: eqx.Module) -> str:
    """Returns an agent or an environment as Equinox writes it, without what is equal to a default.

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
