"""Environments with DeepMind's interface `dm_env` as ours."""

from __future__ import annotations

import functools
from typing import Any

from ...core.errors import ConfigError
from ...core.host import HostEnv
from .dm_adapter import DmAdapter
from .from_gymnasium import copier, host_env, made


def from_dm_env(env: Any, *, workers: int = 0, name: str | None = None) -> HostEnv:
    """Makes an environment to train in of one with the interface `dm_env`, which goes on running on the host.

    An episode whose last step has a discount above 0 is truncated, one with the discount 0 terminated; discounts on the
    way are not told to agents, which have their own.

    Args:
        env: a function that makes a `dm_env.Environment`, without arguments or with one that is called `seed`; or such
            an environment, of which every slot gets a copy. Random generators of NumPy's and Python's in a copy are
            seeded with the slot's seed; one that draws in another way needs a function with a `seed`.
        workers: processes to step the environments in, each a share of them; 0 for this one.
        name: what it is called in messages and records; by default the environment's class.

    Raises:
        ConfigError: for what is neither, or a spec that has no counterpart.
    """
    if not _is_dm_env(env) and not callable(env):
        raise ConfigError("env", env, "give a dm_env.Environment, or a function that makes one")
    copied = _is_dm_env(env)
    factory = functools.partial(DmAdapter, copier(type(env).__name__, env) if copied else env, copied)
    example = made(name or getattr(env, "__name__", type(env).__name__), factory)
    return host_env(name or example.name, factory, workers, example)


def _is_dm_env(env: Any) -> bool:
    if isinstance(env, type):
        return False
    return all(callable(getattr(env, part, None)) for part in ("reset", "step", "action_spec", "observation_spec"))
