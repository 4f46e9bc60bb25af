"""An environment as a run's configuration describes it, and whether another one is the same."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ...core.env import Env
from ...core.errors import ConfigError
from ...core.host import HostEnv
from ...core.wrapper import Wrapper, kind_of, unwrapped, wrappers_of
from . import provenance
from .checkpoints import RunWarning
from .tree_io import to_arrays

MOST_NUMBERS = 20


def env_json(env: str | Env, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an environment as JSON: given by id with its options, made in Python with its fields and its code."""
    if isinstance(env, str):
        return {"id": env, "options": _jsonable(dict(options)), "registered": True}
    name = env.name if isinstance(env, HostEnv) else kind_of(env)
    return {"id": name, "options": {}, "registered": False, "fields": _all_fields(env), "code": _code(env)}


def check_same(env: Env, begun: Mapping[str, Any]) -> None:
    """Refuses another environment than the one of one's own that a run was started with; warns if its code changed.

    Raises:
        ConfigError: naming the first field that differs.
    """
    now = env_json(env, {})
    if now["id"] != begun["id"]:
        raise ConfigError("env", now["id"], f"the run was started with {begun['id']}")
    fields = begun.get("fields", now["fields"])  # runs of earlier versions do not tell
    for name in (*fields, *now["fields"]):
        if now["fields"].get(name, ...) != fields.get(name, ...):
            fix = f"the run was started with {fields.get(name, 'none')!r}"
            raise ConfigError(f"env's {name}", now["fields"].get(name, ...), fix)
    if begun.get("code", now["code"]) != now["code"]:
        text = f"the code of {now['id']} is not what the run was started with: bits may differ from here on"
        warnings.warn(text, RunWarning, stacklevel=2)


def _all_fields(env: Env) -> dict[str, Any]:
    """Returns the fields of an environment as JSON; those inside a wrapper with a prefix for each that is around it."""
    if not isinstance(env, Wrapper):
        return _fields(env)
    own = {name: told for name, told in _fields(env).items() if name != "env"}
    return own | {f"env.{name}": told for name, told in _all_fields(env.env).items()}


def _code(env: Env) -> str | None:
    """Returns a digest of an environment's source and of what is around it; None where there is none to be read."""
    codes = [provenance.code_of(type(each)) for each in (unwrapped(env), *wrappers_of(env))]
    if len(codes) == 1 or None in codes:
        return codes[0] if len(codes) == 1 else None
    return _digest(" ".join(map(str, codes)).encode())


def _fields(module: eqx.Module) -> dict[str, Any]:
    """Returns what a module is made of, as JSON that differs where that differs."""
    return {field.name: _told(getattr(module, field.name, None)) for field in dataclasses.fields(module)}


def _told(value: Any) -> Any:
    """Returns a part as JSON: numbers, texts and small arrays as they are, all else by its kind and a digest."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_told(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _told(part) for key, part in value.items()}
    if isinstance(value, eqx.Module):
        return f"{type(value).__qualname__} {_digest(json.dumps(_fields(value), sort_keys=True).encode())}"
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if not isinstance(value, (float, complex, np.ndarray, np.generic, jax.Array)):
        return type(value).__qualname__
    array = np.asarray(value) if isinstance(value, (float, complex)) else to_arrays(value)[0]
    if array.dtype.kind in "biuf" and array.size <= MOST_NUMBERS and np.isfinite(array).all():
        return array.tolist()
    return f"{array.dtype}{list(array.shape)} {_digest(np.ascontiguousarray(array).tobytes())}"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[: provenance.DIGITS]


def _jsonable(value: Any) -> Any:
    """Returns options as JSON has them: tuples and arrays as lists, keys as text."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_jsonable(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
