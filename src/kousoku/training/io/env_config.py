"""An environment as a run's configuration describes it, and whether another one is the same."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import json
import math
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np

from ...core.env import Env
from ...core.errors import ConfigError, shorten
from ...core.host import HostEnv
from ...core.wrapper import Wrapper, all_ours, kind_of, unwrapped, wrappers_of
from . import provenance
from .behaviour import DOES, behaviour_of
from .tree_io import to_arrays

MOST_NUMBERS = 20
MOST_TOLD = 100
"""Letters of what a field was, in a message."""
MAKER, ADAPTERS = "make_vector", ("DmAdapter", "_Adapter")
"""The field of an environment on the host that makes it; the classes around what makes one of `dm_env`."""
WITHIN, LAMBDA = "<locals>.", "<lambda>"
"""Parts of the names of functions: of what stands within another function, and of what has no name."""
Tell = Callable[[Any], Any]
"""From a part of an environment to JSON."""


class InWords(ABC):
    """A part of an environment that is told by a text of its own, which another one has not.

    Attributes:
        formerly: what was told of each such part in earlier versions; None for nothing else.
    """

    formerly: ClassVar[str | None] = None

    @abstractmethod
    def in_words(self) -> str:
        """Returns the text."""


def env_json(env: str | Env, options: Mapping[str, Any], made: Env | None = None) -> dict[str, Any]:
    """Returns an environment as JSON: given by id with its options, made in Python with its fields and its code.

    What is registered under an id outside of this library has both, as it may be another one the next time.

    Args:
        env: as it was given.
        options: that an id was given with.
        made: what an id with these options is; None to tell nothing of it.

    Raises:
        ConfigError: for an option that no JSON holds.
    """
    if isinstance(env, str):
        own = {} if made is None or all_ours(made) else _own(made)
        given = dict(options)
        if given.get("wrap") and isinstance(given["wrap"], str):  # one text of several, as `wrapped` reads it
            given["wrap"] = [text.strip() for text in given["wrap"].split(",")]
        return {"id": env, "options": _jsonable("env_options", given), "registered": True, **own}
    name = env.name if isinstance(env, HostEnv) else kind_of(env)
    return {"id": name, "options": {}, "registered": False, **_own(env)}


def _own(env: Env) -> dict[str, Any]:
    """Returns what is told of an environment that is not of this library."""
    return {"fields": _all_fields(env, told_as_json), "code": _code(env), "functions": behaviour_of(env)}


def check_same(env: Env, begun: Mapping[str, Any]) -> None:
    """Refuses another environment than the one of one's own that a run was started with; warns if its code changed.

    Within which function another one was written is no part of what it is.

    Raises:
        ConfigError: naming the first field that differs.
    """
    now = env_json(begun["id"] if begun.get("registered") else env, {}, env)
    now = {"fields": {}, "code": None, "functions": None} | now
    if now["id"] != begun["id"]:
        raise ConfigError("env", now["id"], f"the run was started with {begun['id']}")
    fields = begun.get("fields", now["fields"])  # runs of earlier versions do not tell, or in other words
    formerly = _all_fields(env, _formerly_told)
    for name in (*fields, *now["fields"]):
        then, told = fields.get(name, ...), now["fields"].get(name, ...)
        if unplaced(then) in (unplaced(told), unplaced(formerly.get(name, ...))):
            continue
        if isinstance(env, HostEnv) and name == MAKER:
            _check_maker(told, then)
            continue
        fix = f"the run was started with {shorten('none' if then is ... else then, MOST_TOLD)}"
        raise ConfigError(f"env's {name}", told, fix)
    if not str(begun.get("functions", DOES)).startswith(DOES):
        now["functions"] = _formerly_functions(env)
    provenance.warn_if_other_code(now["id"], begun, now)


def unplaced(told: Any) -> Any:
    """Returns what is told of a part, with names as they are within the function that something was written in."""
    if isinstance(told, dict):
        return {unplaced(name): unplaced(part) for name, part in told.items()}
    if isinstance(told, list):
        return [unplaced(part) for part in told]
    return told.rpartition(WITHIN)[2] if isinstance(told, str) else told


def _check_maker(now: Any, then: Any) -> None:
    """Refuses environments on the host that something else makes than those that a run was started with.

    A lambda, or a function within another one, is told by its code alone.

    Raises:
        ConfigError: naming what makes them.
    """
    made_by, begun_by = _made_by(now), _made_by(then)
    if not _is_nameless(made_by) and not _is_nameless(begun_by) and unplaced(made_by) != unplaced(begun_by):
        fix = f"the run was started with {shorten(_without_class(begun_by), MOST_TOLD)}"
        raise ConfigError("what makes env", _without_class(made_by), fix)


def _made_by(told: Any) -> Any:
    """Returns what makes one environment on the host, of what is told of the maker of several."""
    fields = _without_class(told)
    factory = fields.get("factory", told) if isinstance(fields, dict) else told
    match factory:
        case {"partial": [str(kind), [adapted, *_], _]} if kind in ADAPTERS:
            return adapted
    return factory


def _without_class(told: Any) -> Any:
    """Returns the fields of an object without its class's name; of anything else all that is told."""
    parts = list(told.values()) if isinstance(told, dict) else []
    return parts[0] if len(parts) == 1 and isinstance(parts[0], dict) else told


def _is_nameless(told: Any) -> bool:
    return isinstance(told, str) and (WITHIN in told or told.endswith(LAMBDA))


def _all_fields(env: Env, tell: Tell) -> dict[str, Any]:
    """Returns the fields of an environment as JSON; those inside a wrapper with a prefix for each that is around it."""
    if not isinstance(env, Wrapper):
        return _fields(env, tell)
    own = {name: told for name, told in _fields(env, tell).items() if name != "env"}
    return own | {f"env.{name}": told for name, told in _all_fields(env.env, tell).items()}


def _code(env: Env) -> str | None:
    """Returns a digest of an environment's source and of what is around it; None where there is none to be read."""
    own, around = type(unwrapped(env)), wrappers_of(env)
    return provenance.codes_of((own, *map(type, around))) if around else provenance.code_of(own)


def _formerly_functions(env: Env) -> str | None:
    """Returns what earlier versions told of the functions that an environment holds; None without any."""
    found = [provenance.bytecode_of(function) for function in _held(env)]
    return _digest(" ".join(found).encode()) if found else None


def _held(value: Any) -> Iterator[types.FunctionType]:
    """Yields the functions in a part of an environment."""
    if isinstance(value, types.FunctionType):
        yield value
        return
    if isinstance(value, functools.partial):
        parts: Any = (value.func, value.args, value.keywords)
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    else:
        parts = ()
    for part in parts:
        yield from _held(part)


def _fields(module: Any, tell: Tell) -> dict[str, Any]:
    """Returns what a dataclass is made of, as JSON that differs where that differs.

    A field whose metadata have `told` false is left out: it says how something runs or is drawn, and not what it is.
    One that had another name in earlier versions keeps that here, by `recorded_as` of its class.
    """
    fields = [field.name for field in dataclasses.fields(module) if field.metadata.get("told", True)]
    recorded = getattr(type(module), "recorded_as", {})
    return {recorded.get(name, name): tell(getattr(module, name, None)) for name in fields}


def told_as_json(value: Any) -> Any:
    """Returns a part as JSON: numbers, texts and small arrays as they are, all else by its kind and a digest."""
    if isinstance(value, enum.Enum):  # which may be a number, too
        return f"{type(value).__qualname__}.{value.name}"
    plain = _told_plainly(value, told_as_json)
    if plain is not None or value is None:
        return plain
    if not _is_numbers(value):
        return _told_object(value)
    array = _array(value)
    return _without_nan(array.tolist()) if _is_short(array) else _told_array(array)


def _formerly_told(value: Any) -> Any:
    """Returns what was told of a part before objects told what they are made of, and numbers that are not finite."""
    plain = _told_plainly(value, _formerly_told)
    if plain is not None or value is None:
        return plain
    if isinstance(value, InWords) and value.formerly is not None:
        return value.formerly
    if not _is_numbers(value):
        return getattr(value, "__qualname__", type(value).__qualname__) if callable(value) else type(value).__qualname__
    array = _array(value)
    return array.tolist() if _is_short(array) and np.isfinite(array).all() else _told_array(array)


def _told_plainly(value: Any, tell: Tell) -> Any:
    """Returns what JSON has itself, and of modules a digest; None for all else."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [tell(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): tell(part) for key, part in value.items()}
    if isinstance(value, eqx.Module):
        return f"{type(value).__qualname__} {_digest(json.dumps(_fields(value, tell), sort_keys=True).encode())}"
    return None


def _is_numbers(value: Any) -> bool:
    return isinstance(value, (float, complex, np.ndarray, np.generic, jax.Array))


def _array(value: Any) -> np.ndarray:
    return np.asarray(value) if isinstance(value, (float, complex)) else to_arrays(value)[0]


def _is_short(array: np.ndarray) -> bool:
    return array.dtype.kind in "biuf" and array.size <= MOST_NUMBERS


def _told_array(array: np.ndarray) -> str:
    """Returns an array's shape and dtype, and a digest of it."""
    return f"{array.dtype}{list(array.shape)} {_digest(np.ascontiguousarray(array).tobytes())}"


def _without_nan(numbers: Any) -> Any:
    """Returns numbers, or lists of them, with the word for each that is NaN: JSON has none."""
    if isinstance(numbers, list):
        return [_without_nan(number) for number in numbers]
    return numbers if numbers == numbers else "nan"


def _told_object(value: Any) -> Any:
    """Returns an object as JSON: its name, and a digest of what it is made of as far as that can be known."""
    if isinstance(value, InWords):
        return value.in_words()
    kind = type(value).__qualname__
    if isinstance(value, functools.partial):  # a routine, too, from Python 3.14 on
        return {kind: [told_as_json(value.func), told_as_json(value.args), told_as_json(value.keywords)]}
    if isinstance(value, type) or inspect.isroutine(value):
        return getattr(value, "__qualname__", kind)
    if isinstance(value, (set, frozenset)):
        return {kind: sorted((told_as_json(part) for part in value), key=str)}
    if isinstance(value, (bytes, range, slice)):
        return f"{kind} {_digest(repr(value).encode())}"
    if dataclasses.is_dataclass(value):
        return {kind: _fields(value, told_as_json)}
    return kind


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[: provenance.DIGITS]


def _jsonable(field: str, value: Any) -> Any:
    """Returns options as JSON has them: tuples and arrays as lists, keys as text.

    Raises:
        ConfigError: naming the option that cannot be there.
    """
    if isinstance(value, Mapping):
        return {str(key): _jsonable(f"{field}[{str(key)!r}]", item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(f"{field}[{i}]", item) for i, item in enumerate(value)]
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return _jsonable(field, np.asarray(value).tolist())
    if isinstance(value, float) and math.isnan(value):
        raise ConfigError(field, value, "use a number")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    fix = "a run's config cannot hold it; make the environment with it, and give that in the place of its id"
    raise ConfigError(field, value, fix)
