"""Environments whose step is the library's own, which checks need not trace: a robot's takes seconds."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .env import Env
from .ours import is_ours
from .wrapper import unwrapped


def with_known_step(env: Env) -> Env:
    """Returns the environment, whose innermost one, if it steps as the library's do, gives what a reset does, zeros.

    A step's info may be another.
    """
    inner = unwrapped(env)
    if not is_ours(type(inner).step):
        return env
    try:
        known = object.__new__(_stub_of(type(inner)))
    except TypeError:  # a class whose subclasses need to say more
        return env
    for name, value in vars(inner).items():
        object.__setattr__(known, name, value)
    return eqx.tree_at(unwrapped, env, known, is_leaf=lambda node: node is inner)


@functools.lru_cache(maxsize=64)
def _stub_of(kind: type[Env]) -> type[Env]:
    """Returns a subclass whose step gives what a reset does, all zeros."""

    def step(self: Env, key: Any, state: Any, action: Any) -> Any:
        del action
        timestep = jax.eval_shape(self.reset, key)[1]
        return state, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), timestep)

    return type(kind.__name__, (kind,), {"step": step, "__module__": kind.__module__})
