"""beartype as the type checker of the tests: an int may stand where a float is asked for, as PEP 484 says.

jaxtyping's hook decorates every function of ours. At every call it binds the arguments by name and opens a scope for
the names of axes, which costs more than most of our compiler's functions do. `spare_functions_without_shapes` leaves
that to the functions that name shapes; the others are checked by beartype alone, for the same types.

In `make test` a function is checked in its first calls of every test: a compiler's small functions are called
thousands of times in one, and checking each of them takes longer than all else. `make test-full` checks every call.
"""

import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype
from fast_compile import is_quick
from jaxtyping import AbstractArray, TypeCheckError, jaxtyped

CALLS = 5
"""How many calls of a function are checked in each test, in `make test`."""
COPIES = 3
"""How many of the inner functions made of the same code are checked there: each check is code that is compiled."""

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
plainly = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=TypeCheckError))


def spare_functions_without_shapes() -> None:
    """From now on jaxtyping's hook decorates by `checked`."""
    jaxtyping.jaxtyped = checked


def checked(made: Any = None, **options: Any) -> Any:
    """As `jaxtyping.jaxtyped`: a decorator, or what it makes of a function, a method of any kind, or a class."""
    if made is None:
        return lambda made: checked(made, **options)
    if isinstance(made, type):
        if dataclasses.is_dataclass(made) and not made.__dict__.get("__no_type_check__"):
            made.__init__ = checked(made.__init__, **options)
        return made
    if not inspect.isfunction(made) or hasattr(made, "__wrapped__"):
        return jaxtyped(made, **options)
    if not is_quick():
        return _always(made, options)
    if "<locals>" in made.__qualname__:
        _made[made.__code__] += 1
        if _made[made.__code__] > COPIES:
            return made
    return _at_first(made, options)


def _always(made: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The function, checking every call."""
    try:
        hints = {name: _resolved(hint, made) for name, hint in made.__annotations__.items()}
    except NameError:  # of what comes later in its file, or is imported for type checkers alone
        return jaxtyped(made, **options)
    if any(_names_a_shape(hint) for hint in hints.values()):
        return jaxtyped(made, **options)
    made.__annotations__ = hints
    return plainly(made)


_test = 0
_made: Counter[CodeType] = Counter()


def begin_test() -> None:
    """From now on the first calls of every function are checked again."""
    global _test
    _test += 1


def _at_first(made: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The function, checking its first calls of every test; what checks them is made when it is first called."""
    test, left, checking = -1, 0, None

    @functools.wraps(made)
    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal test, left, checking
        if test != _test:
            test, left = _test, CALLS
        if not left:
            return made(*args, **kwargs)
        left -= 1
        if checking is None:
            checking = _always(made, options)
        return checking(*args, **kwargs)

    return function


def _resolved(hint: Any, made: Callable[..., Any]) -> Any:
    """What a hint that is written as text means."""

    def function(value: hint) -> None: ...

    return get_type_hints(function, made.__globals__, include_extras=True)["value"]


def _names_a_shape(hint: Any) -> bool:
    """Whether a hint is one of jaxtyping's or may hold one."""
    if isinstance(hint, TypeVar) or (isinstance(hint, type) and issubclass(hint, AbstractArray)):
        return True
    if getattr(hint, "__module__", "").split(".")[0] == "jaxtyping" or hint is jaxtyping.PyTree:
        return True
    return any(_names_a_shape(part) for part in (hint if isinstance(hint, list) else get_args(hint)))
