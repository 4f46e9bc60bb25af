"""Digests of what functions do: of their instructions and what they hold, not of where or how they are written."""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from ...core.ours import is_ours
from ...core.own_line import is_own
from .provenance import DIGITS, is_known
from .tree_io import to_arrays

DOES = "does "
"""The beginning of such a digest."""
PLAIN = (bool, int, float, complex, str, bytes, range, slice, type(None), type(...))
"""Kinds of values whose text tells all of them."""
MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
"""Flags of code that takes any number of arguments, by place or by name."""


def behaviour_of(value: Any, *, with_globals: bool = False) -> str | None:
    """Returns a digest of what the functions in a value do; None without any.

    The same are functions of the same instructions, defaults and closures, whose constants, names of attributes and of
    globals are equal, those of functions within them as well. Comments, docstrings, lines, files and names of local
    variables are no part of it.

    Args:
        value: a function, or what holds some.
        with_globals: whether what globals hold is a part of it, as far as the user's own functions name them.
    """
    teller = _Teller(with_globals)
    found = [teller.tell(part) for part in functions_in(value)]
    return DOES + hashlib.sha256(repr(found).encode()).hexdigest()[:DIGITS] if found else None


def functions_in(value: Any) -> Iterator[Any]:
    """Yields the functions in a value, and the methods that are bound to something."""
    if isinstance(value, FunctionType) or _is_method(value):
        yield value
    elif (wrapped := _wrapped(value)) is not None:
        yield wrapped
    else:
        for part in _parts(value):
            yield from functions_in(part)


def functions_of(kind: type) -> Iterator[FunctionType]:
    """Yields the functions of a class and of what it inherits from outside of the library, in their order."""
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] in ("builtins", "equinox", "abc", "typing") or is_ours(each):
            continue
        for part in vars(each).values():
            yield from _in(part)


def _in(part: Any) -> Iterator[FunctionType]:
    """Yields the functions in a member of a class: itself, or what a property or another descriptor wraps."""
    held = [part.fget, part.fset] if isinstance(part, property) else [getattr(part, "__func__", part)]
    for function in held:
        while function is not None:
            if isinstance(function, FunctionType):
                yield function
            function = getattr(function, "__wrapped__", None)


def _is_method(value: Any) -> bool:
    """Returns whether this is a method that is bound to something, Python's or Equinox's."""
    return not isinstance(value, type) and hasattr(value, "__func__") and hasattr(value, "__self__")


def _wrapped(value: Any) -> FunctionType | None:
    """Returns the function in an object that stands for it, as `jax.jit` and `functools.cache` make them."""
    found = None if isinstance(value, type) else getattr(value, "__wrapped__", None)
    return found if isinstance(found, FunctionType) else None


def _parts(value: Any) -> list[Any]:
    """Returns what a value of several parts is made of, in its order; nothing of any other."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    return []


class _Teller:
    """A walk through values to text and tuples of it, which are equal where functions do the same."""

    def __init__(self, with_globals: bool) -> None:
        self._within: list[Any] = []
        self._with_globals = with_globals
        self._told: dict[int, tuple[int, Any]] = {}
        """With globals, what has been told and its place, by identities: many functions may name one thing."""

    def tell(self, value: Any) -> Any:
        """Returns what a function does, or what else a value is; of what it is within, as of a recursion, its place."""
        if isinstance(value, enum.Enum):
            return type(value).__qualname__, value.name
        if isinstance(value, PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, (np.ndarray, np.generic, jax.Array)):
            return self._array(value)
        if isinstance(value, (set, frozenset)):
            return type(value).__name__, sorted(repr(self.tell(part)) for part in value)
        places = [place for place, outer in enumerate(self._within) if outer is value]
        if places:
            return "within", places[0]
        if id(value) in self._told:
            return "told", self._told[id(value)][0]
        if self._with_globals:
            self._told[id(value)] = len(self._told), value
        self._within.append(value)
        try:
            return self._of_parts(value)
        finally:
            self._within.pop()

    def _of_parts(self, value: Any) -> Any:
        if isinstance(value, CodeType):
            return self._code(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if _is_method(value):
            return "method", self.tell(value.__func__), self.tell(value.__self__)
        if (wrapped := _wrapped(value)) is not None:
            return type(value).__qualname__, self.tell(wrapped)
        if isinstance(value, functools.partial):
            return "partial", *map(self.tell, (value.func, value.args, sorted(value.keywords.items())))
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__qualname__)
        keys = list(value) if isinstance(value, Mapping) else []
        return str(name), [self.tell(key) for key in keys], [self.tell(part) for part in _parts(value)]

    def _function(self, function: FunctionType) -> Any:
        held = [function.__defaults__, function.__kwdefaults__, [_content(cell) for cell in function.__closure__ or ()]]
        known = is_known((function.__module__ or "").partition(".")[0])  # its version is told
        does = function.__qualname__ if known else self.tell(function.__code__)
        if not self._with_globals:
            return "function", does, [self.tell(each) for each in held]
        return "function", does, [self._held(each, []) for each in held], self._globals(function)

    def _globals(self, function: FunctionType) -> Any:
        """Returns what the globals hold that one of the user's functions names."""
        if not is_own(function.__code__.co_filename):
            return []
        names, known = sorted(_names(function.__code__)), function.__globals__
        return [(name, self._held(known[name], names)) for name in names if name in known]

    def _held(self, value: Any, names: list[str]) -> Any:
        """Returns what a global is, or a closure holds: a class by its functions, a module by what is named of it.

        What cannot be told, as an array that was donated, or an object that refuses to be looked at, is its class.
        """
        try:
            if isinstance(value, ModuleType):
                own = is_own(getattr(value, "__file__", None) or "<module>")
                return [(name, self._held(vars(value)[name], [])) for name in names if own and name in vars(value)]
            if isinstance(value, type) and not is_known(value.__module__.partition(".")[0]):
                return value.__qualname__, [self.tell(each) for each in functions_of(value)]
            return self.tell(value)
        except Exception:
            return "unknown", type(value).__qualname__

    def _code(self, code: CodeType) -> Any:
        count = code.co_argcount + code.co_kwonlyargcount
        takes = code.co_posonlyargcount, code.co_argcount, code.co_varnames[:count], code.co_flags & MORE
        does = [self._instruction(code, each) for each in dis.get_instructions(code)]
        return "code", takes, code.co_exceptiontable, does

    def _instruction(self, code: CodeType, instruction: dis.Instruction) -> Any:
        """Returns an instruction with its constant, or its name, if it has one: variables are known by number."""
        if instruction.opcode in dis.hasconst and instruction.arg is not None:
            return instruction.opname, self.tell(code.co_consts[instruction.arg])
        return instruction.opname, instruction.argrepr if instruction.opcode in dis.hasname else instruction.arg

    def _array(self, value: Any) -> Any:
        array = np.ascontiguousarray(to_arrays(value)[0])
        data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        return str(getattr(value, "dtype", array.dtype)), array.shape, hashlib.sha256(data).hexdigest()


def _names(code: CodeType) -> set[str]:
    """Returns the names of globals and attributes in code, and in functions within it."""
    within = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names}.union(*within)


def _content(cell: Any) -> Any:
    """Returns what a closure holds of a variable; where that has no value yet, the class of what would hold it."""
    try:
        return cell.cell_contents
    except ValueError:
        return type(cell)
