"""Code of one's own that has changed while this process runs, as where a notebook loads it again."""

from __future__ import annotations

from types import FunctionType
from weakref import WeakKeyDictionary

import jax

from ...core.agent import Agent
from ...core.env import Env
from ...core.ours import is_ours
from ..io.agent_code import kinds_in
from ..io.behaviour import behaviour_of, functions_in, functions_of

_seen: WeakKeyDictionary[type | FunctionType, str | None] = WeakKeyDictionary()


def forget_changed_code(agent: Agent, env: Env) -> None:
    """Forgets all compiled programs if code of one's own does something else than when it was last used.

    Programs are known by what agent and environment are equal to. This does not change where a method is replaced in
    its class or loaded again, nor where a global that a function names is another number or function now.
    """
    parts = (agent, agent.learns_from, env)
    own = {
        **{kind: list(functions_of(kind)) for part in parts for kind in kinds_in(part) if not is_ours(kind)},
        **{each: [each] for part in parts for each in functions_in(part) if isinstance(each, FunctionType)},
    }
    changed = False
    for code, functions in own.items():
        now = behaviour_of(functions, with_globals=True)
        changed |= _seen.get(code, now) != now
        _seen[code] = now
    if changed:
        jax.clear_caches()
