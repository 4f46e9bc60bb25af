"""Code of one's own that has changed while this process runs, as where a notebook loads it again."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import jax

from ...core.agent import Agent
from ...core.env import Env
from ...core.ours import is_ours
from ...core.wrapper import unwrapped, wrappers_of
from ..io.provenance import bytecode_of

_seen: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def forget_changed_code(agent: Agent, env: Env) -> None:
    """Forgets all compiled programs if a method of one's own is another than when its class was last used.

    Programs are known by what agent and environment are equal to, which a method that was replaced in its class, or
    loaded again, does not change.
    """
    changed = False
    for kind in {type(each) for each in (agent, agent.learns_from, unwrapped(env), *wrappers_of(env))}:
        if not is_ours(kind):
            now = tuple(bytecode_of(function) for function in _functions(kind))
            changed |= _seen.get(kind, now) != now
            _seen[kind] = now
    if changed:
        jax.clear_caches()


def _functions(kind: type) -> Iterator[types.FunctionType]:
    """Yields the functions of a class and of what it inherits from outside of the library, in their order."""
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] in ("builtins", "equinox", "abc", "typing") or is_ours(each):
            continue
        for part in vars(each).values():
            yield from _in(part)


def _in(part: Any) -> Iterator[types.FunctionType]:
    """Yields the functions in a member of a class: itself, or what a property or another descriptor wraps."""
    held = [part.fget, part.fset] if isinstance(part, property) else [getattr(part, "__func__", part)]
    for function in held:
        function = getattr(function, "__wrapped__", function)
        if isinstance(function, types.FunctionType):
            yield function
