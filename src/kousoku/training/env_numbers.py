"""An environment's numbers by name: what a sweep can vary, and the environment made again with other ones."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .. import envs
from ..core.env import Env
from ..core.errors import ConfigError, check_all, check_count, check_number, is_number, nearest
from ..core.spaces import LARGEST
from ..core.sweep_names import ENV_PREFIX, env_name
from ..core.wrapper import Wrapper, kind_of
from ..envs import ENVS


class EnvMaker(NamedTuple):
    """A way to make an environment again with other numbers.

    Attributes:
        kind: what it is, for messages.
        held: what it was made with, by name.
        static: the names of what is structure.
        make: from changes by name to the environment.
        ambiguous: the names that several of the wrappers around each other have.
    """

    kind: str
    held: dict[str, Any]
    static: frozenset[str]
    make: Callable[..., Env]
    ambiguous: frozenset[str] = frozenset()

    @property
    def numbers(self) -> list[str]:
        """The names, as in a sweep, of what is held as a number."""
        return [ENV_PREFIX + name for name, value in self.held.items() if name not in self.static and _is_held(value)]


def env_maker(env: Env, config: Mapping[str, Any], wanted: str) -> EnvMaker:
    """Returns how to make an environment again: by its id and other options, or from its other fields.

    Args:
        env: as it was given, or made by its id.
        config: the same as JSON, see `io.env_config`.
        wanted: a name of the sweep, for the message.

    Raises:
        ConfigError: if it was made in Python by an `__init__` of its own, which may have computed what a field tells.
    """
    if config.get("registered"):
        id, given = config["id"], config["options"]
        held = {name: given.get(name, option.default) for name, option in ENVS.options(id).items()}
        return EnvMaker(id, held, _static(ENVS.factory(id)), lambda **numbers: envs.make(id, **(given | numbers)))
    return _fields_maker(env, wanted)


def _fields_maker(env: Env, wanted: str) -> EnvMaker:
    """Returns how to make an environment again from its other fields, and, of a wrapper, from those inside it."""
    fields = [field.name for field in dataclasses.fields(env) if field.init]
    kind = type(env).__name__
    if set(fields) != set(inspect.signature(type(env)).parameters):
        fix = f"{kind} has an __init__ of its own; give a function that makes it an id with kousoku.register, and that"
        raise ConfigError("sweep", wanted, fix)
    held, static = {name: getattr(env, name) for name in fields}, _static(type(env))
    if not isinstance(env, Wrapper):
        return EnvMaker(kind, held, static, partial(dataclasses.replace, env))
    own = {name: value for name, value in held.items() if name != "env"}
    inside = _fields_maker(env.env, wanted)

    def make(**changes: Any) -> Env:
        ours = {name: value for name, value in changes.items() if name in own}
        theirs = {name: value for name, value in changes.items() if name not in own}
        return dataclasses.replace(env, env=inside.make(**theirs) if theirs else env.env, **ours)

    ambiguous = inside.ambiguous | (inside.held.keys() & own)
    return EnvMaker(kind_of(env), inside.held | own, (inside.static - set(own)) | static, make, ambiguous)


def reader(maker: EnvMaker, name: str, values: Sequence[float]) -> Callable[[float], Any]:
    """Returns what turns each of a sweep's values into what the environment holds under that name.

    Values that are whole stay so where it holds a whole number, or none; all else are floats.

    Args:
        maker: of the environment.
        name: as in the sweep, with its prefix.
        values: all that it is to have.

    Raises:
        ConfigError: if there is no such number, or a value is none.
    """
    for value in values:
        check_number(f"sweep[{name!r}]", value)
    held = _held(maker, name)
    if held is None or is_number(held):
        may_be_whole = held is None or isinstance(held, Integral)
        return int if may_be_whole and all(value % 1 == 0 for value in values) else float
    if held.dtype.kind in "iu":
        ends = np.iinfo(held.dtype)
        check_all(
            f"sweep[{name!r}]", values, partial(check_count, low=max(int(ends.min), -LARGEST), high=int(ends.max))
        )
    return lambda value: jnp.asarray(np.asarray(value, held.dtype))


def _held(maker: EnvMaker, name: str) -> Any:
    """Returns what an environment holds under a name of a sweep: a number, an array that is one, or None."""
    own = env_name(name)
    if own not in maker.held:
        raise ConfigError("sweep", name, _instead(maker, name))
    if own in maker.ambiguous:
        raise ConfigError(
            "sweep", name, f"several wrappers of {maker.kind} have it; give an id to a function that makes it"
        )
    held = maker.held[own]
    if own not in maker.static and (held is None or _is_held(held)):
        return held
    what = "structure, for which programs are compiled" if own in maker.static else f"{_words(held)}, not a number"
    raise ConfigError("sweep", name, f"it is {what}; {_choice(maker)}")


def _words(held: Any) -> str:
    if isinstance(held, str | bool):
        return "a word" if isinstance(held, str) else "True or False"
    return "several" if isinstance(held, tuple | list) or getattr(held, "ndim", 0) else f"of type {type(held).__name__}"


def _is_held(value: Any) -> bool:
    """Returns whether what is held is a number, or an array that is one."""
    if is_number(value):
        return True
    return getattr(value, "shape", None) == () and bool(jnp.issubdtype(value.dtype, np.number))


def _static(made_by: Any) -> frozenset[str]:
    """Returns the names of the fields that are structure; none of a function's arguments is known to be."""
    if not dataclasses.is_dataclass(made_by):
        return frozenset()
    return frozenset(field.name for field in dataclasses.fields(made_by) if field.metadata.get("static", False))


def _instead(maker: EnvMaker, name: str) -> str:
    close = nearest(env_name(name), map(env_name, maker.numbers), 1)
    return f"did you mean {ENV_PREFIX + close[0]!r}?" if close else _choice(maker)


def _choice(maker: EnvMaker) -> str:
    if maker.numbers:
        return f"the numbers of {maker.kind} are {', '.join(maker.numbers)}"
    fix = "an option of an environment that is given by id can be swept (kousoku.register gives one an id)"
    return f"{maker.kind} was made without numbers; {fix}"
