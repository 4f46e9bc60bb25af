"""Fingerprints a function, the same in every process: known for what is made of the library's own parts.

A function of the user's may read anything: a global, a file, a clock. Of the library's own functions it is known what
they depend on: their source, what they enclose, and what their modules hold.
"""

from __future__ import annotations

import enum
import hashlib
import pickle
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray, Tracer

from .. import jax_config
from ..frontend.keys import is_key
from ..llvm.object_cache import source_version

OURS = "kousoku"
DEPENDENCIES = {name: name for name in ("jax", "jaxlib", "numpy", "equinox", "optax")} | {"mujoco": "mujoco-core"}
DEPENDED = frozenset(
    [
        "nanobind",
        "jaxtyping",
        "llvmlite",
        "filelock",
        "scipy",
        "matplotlib",
        "gymnasium",
        "rich",
        "docstring_parser",
        "tyro",
    ]
)
IMPORTED = datetime.now(UTC)
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


class Unknown(Exception):
    """The refusal of something that is not the library's own, or of a kind that has no name of its own."""


def fingerprint(*things: Any) -> str:
    """Returns the SHA-256, in hexadecimal digits, of all that the things say about themselves and the versions
    they run with.

    Args:
        things: values, arrays and types of arrays, functions with what they enclose, objects, trees of those.

    Raises:
        Unknown: if some part is not the library's own, or is a value of an outer trace.
    """
    sha = hashlib.sha256()
    with jax.ensure_compile_time_eval():
        _Walk(sha.update).tell(things)
    # Last, for they take longest, and a user's function has no identity.
    sha.update(repr((_versions(), jax_config.all_config())).encode())
    return sha.hexdigest()


@cache
def is_trusted(module: str | None) -> bool:
    """Returns whether a module is the library's, a dependency's or Python's."""
    top = (module or "").partition(".")[0]
    return top == OURS or top in DEPENDENCIES or (top in sys.stdlib_module_names and _is_pythons(top))


def is_installed(module: str) -> bool:
    """Returns whether a module is trusted, or of a package that the library imports and traces nothing of."""
    return is_trusted(module) or module.partition(".")[0] in DEPENDED


def _is_pythons(top: str) -> bool:
    """Returns whether a module with the name of one of Python's is that one, and not a file of the user's."""
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return top in sys.builtin_module_names or top in sys.modules
    folder = Path(file).resolve().parent
    return any(folder.is_relative_to(home) for home in _homes()) and "-packages" not in str(folder)


@cache
def _homes() -> list[Path]:
    return [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]


@cache
def _versions() -> list[Any]:
    """Returns the versions of all that is trusted.

    Raises:
        Unknown: if the library's source has been edited since it was imported.
    """
    edited = [file for file in Path(__file__).parents[2].rglob("*.py") if file.stat().st_mtime > IMPORTED.timestamp()]
    if edited:
        raise Unknown(f"{edited[0]} is not what was imported")
    return [source_version(OURS), sys.version, *map(metadata.version, DEPENDENCIES.values())]


class _Walk:
    """A walk, once, over things that may share parts or hold themselves."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self.write = write
        self.met: dict[int, tuple[int, Any]] = {}  # keeps what it met, or another thing might take over its id

    def tell(self, thing: Any) -> None:
        """Writes what a thing is."""
        kind = type(thing)
        if kind in PLAIN:
            self.say(kind.__name__, repr(thing))
        elif kind is tuple:
            self.each("tuple", thing)
        elif isinstance(thing, Tracer):
            raise Unknown("a value of an outer trace")
        elif isinstance(thing, jax.Array):
            self.array(jax.random.key_data(thing) if is_key(thing) else thing, jax.typeof(thing))
        elif isinstance(thing, np.ndarray | np.generic) and thing.dtype != object:
            self.array(thing, thing.dtype)
        elif isinstance(thing, jax.ShapeDtypeStruct | ShapedArray | np.dtype):
            self.say(kind.__name__, str(thing), getattr(thing, "weak_type", False))
        elif id(thing) in self.met:
            self.say("again", self.met[id(thing)][0])
        else:
            self.met[id(thing)] = len(self.met), thing
            self.first_time(thing)

    def first_time(self, thing: Any) -> None:
        """Writes what may hold other things, and itself."""
        kind: Any = type(thing)
        if kind is list:
            self.each("list", thing)
        elif kind is dict:
            self.each("dict", [part for pair in thing.items() for part in pair])
        elif kind in (set, frozenset) and all(type(part) in PLAIN for part in thing):
            self.each("set", sorted(map(repr, thing)))
        elif isinstance(thing, enum.Enum):
            self.each("member", [kind, thing.name])
        elif kind is types.FunctionType:
            self.function(thing)
        elif hasattr(thing, "__func__") and hasattr(thing, "__self__"):  # Python's bound methods, and Equinox's
            self.each("method", [thing.__func__, thing.__self__])
        elif kind is partial:
            self.each("partial", [thing.func, thing.args, thing.keywords])
        elif kind is types.ModuleType and is_trusted(thing.__name__):
            self.say("module", thing.__name__)
        elif has_name(thing):
            self.say("name", thing.__module__, thing.__qualname__)
        else:
            self.object(thing)

    def say(self, *words: Any) -> None:
        """Writes words, so that no two sequences of them read the same."""
        for word in words:
            text = str(word).encode()
            self.write(b"%d:" % len(text) + text)

    def each(self, kind: str, parts: Iterable[Any]) -> None:
        """Writes parts in order."""
        told = list(parts)
        self.say(kind, len(told))
        for part in told:
            self.tell(part)

    def array(self, array: Any, about: Any) -> None:
        """Writes a known array."""
        values = np.asarray(array)
        self.say("array", about, getattr(about, "weak_type", False), values.shape, values.dtype.str)
        self.write(values.tobytes())

    def function(self, function: types.FunctionType) -> None:
        """Writes where it is defined, which code it is, and what it encloses.

        Its module's globals are not told here.
        """
        code = function.__code__
        self.say("function", _home(function), function.__qualname__, code.co_firstlineno)
        self.write(_code(code))
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.each("with", [cells, function.__defaults__, function.__kwdefaults__, vars(function)])

    def object(self, thing: Any) -> None:
        """Writes its class and what it would be pickled as."""
        if not has_name(type(thing)):
            raise Unknown(f"an object of {type(thing).__module__}.{type(thing).__qualname__}")
        try:
            reduced = thing.__reduce_ex__(4)
        except TypeError as error:
            raise Unknown(str(error)) from None
        if isinstance(reduced, str):
            return self.single(thing, reduced)
        make, args, *more = reduced
        state, items, pairs = (*more, None, None, None)[:3]
        rest = [list(items or ()), [list(pair) for pair in pairs or ()]]
        return self.each("object", [type(thing), make, args, state, *rest])

    def single(self, thing: Any, name: str) -> None:
        """Writes what there is one of, in a module that holds it under that name."""
        home = pickle.whichmodule(thing, name)  # type: ignore[attr-defined]
        if not is_trusted(home) or getattr(sys.modules.get(home), name, None) is not thing:
            raise Unknown(f"{home}.{name}")
        self.say("single", type(thing).__module__, name)


def has_name(thing: Any) -> bool:
    """Returns whether it is what its trusted module holds under its name."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str) and is_trusted(module)):
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


def _home(function: types.FunctionType, is_known: Callable[[str], bool] = is_trusted) -> str:
    """Returns the module that a function was written in; what it says of itself may be copied from one that it wraps.

    Raises:
        Unknown: if it is nobody's that we know.
    """
    home = str(function.__globals__.get("__name__"))
    if not is_known(home):
        raise Unknown(f"{home}.{function.__qualname__}")
    return home


@cache
def _code(code: types.CodeType) -> bytes:
    """Returns a hash of everything in a function's code, and in those within."""
    parts = [code.co_code, code.co_linetable, repr((code.co_names, code.co_varnames)).encode()]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            parts.append(_code(constant))
        elif isinstance(constant, frozenset):
            parts.append(repr(sorted(map(repr, constant))).encode())
        else:
            parts.append(repr(constant).encode())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()


# ---- what modules hold


def modules() -> dict[str, str | None]:
    """Returns for each of the library's modules that are loaded a hash of what functions may read there.

    It changes when another function, number or array is put into a module, a class, a list or a dictionary; it is None
    if something was that is not the library's own. Other threads may import meanwhile: it reads copies.
    """
    return {name: _held(module) for name, module in sys.modules.copy().items() if name.partition(".")[0] == OURS}


def agree(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> bool:
    """Returns whether the modules that were loaded before hold the same now, as far as they are loaded."""
    return all(held is not None and now.get(name, held) == held for name, held in before.items())


def _held(module: types.ModuleType) -> str | None:
    sha = hashlib.sha256()
    try:
        _tell_names(vars(module), module.__name__, sha.update)
    except (Unknown, RecursionError):
        return None
    return sha.hexdigest()[:16]


def _tell_names(
    names: dict[str, Any] | types.MappingProxyType[str, Any], module: str, write: Callable[[bytes], Any]
) -> None:
    for name, value in names.copy().items():
        if isinstance(value, types.ModuleType) or (name.startswith("__") and not isinstance(value, types.FunctionType)):
            continue
        if isinstance(value, type) and value.__module__ == module and value.__dict__ is not names:
            write(f"class {name}:".encode())
            _tell_names(vars(value), module, write)
        else:
            write(f"{name}={_brief(value)};".encode())


def _brief(value: Any) -> str:
    """Returns a constant's value, a function's code, the kind of anything else.

    Raises:
        Unknown: for what is not the library's own.
    """
    kind = type(value)
    if kind in PLAIN:
        return repr(value)
    if kind in (tuple, list):
        return f"({','.join(map(_brief, value))})"
    if kind is dict:
        return f"({','.join(f'{_brief(k)}:{_brief(v)}' for k, v in value.copy().items())})"
    if isinstance(value, partial):
        return f"partial {_brief(value.func)} {_brief(value.args)} {_brief(value.keywords)}"
    if isinstance(value, np.ndarray | np.generic | jax.Array) and value.dtype != object and not is_key(value):
        return f"{value.dtype}{value.shape}{hashlib.sha256(np.asarray(value).tobytes()).hexdigest()}"
    module = getattr(value, "__module__", None)
    for home in (kind.__module__, module if isinstance(value, type) else None):
        if home is not None and not is_installed(home):
            raise Unknown(f"something of {home}")
    told = f"{kind.__name__} {module} {getattr(value, '__qualname__', '')}"
    if isinstance(value, types.FunctionType):
        told += f" {_home(value, is_installed)} {_code(value.__code__).hex()}"
    inner = [getattr(value, name, None) for name in ("__wrapped__", "__func__", "fget")]
    return " ".join([told, *(_brief(i) for i in inner if i is not None)])
