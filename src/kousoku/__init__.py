"""Kousoku: reinforcement learning compiled end to end in JAX.

    import kousoku as ks

    run = ks.train("q_learning", "GridWorld-v0", steps=100_000, seeds=30)
    run.plot_values()

Names are imported when they are first used, so that `import kousoku` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "core.agent": ("Agent", "TabularAgent"),
    "core.env": ("Drawable", "Env", "EnvSpec", "Finite"),
    "core.errors": ("ConfigError",),
    "core.model": ("TabularModel",),
    "core.spaces": ("Box", "Dict", "Discrete", "MultiDiscrete"),
    "core.timestep": ("Timestep", "Transition"),
    "envs": ("list_envs", "make", "register"),
    "envs.finite": ("finite",),
    "envs.gridworld.env": ("gridworld",),
    "agents": ("list_agents", "register_agent"),
    "agents.options": ("make_agent",),
    "api": ("Run", "evaluate", "load", "train"),
    "training.devices": ("use_all_cores",),
    "core.contract": ("ContractError", "check_env"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from .agents import list_agents, register_agent
    from .agents.options import make_agent
    from .api import Run, evaluate, load, train
    from .core.contract import ContractError, check_env
    from .core.agent import Agent, TabularAgent
    from .core.env import Drawable, Env, EnvSpec, Finite
    from .core.errors import ConfigError
    from .core.model import TabularModel
    from .core.spaces import Box, Dict, Discrete, MultiDiscrete
    from .core.timestep import Timestep, Transition
    from .envs import list_envs, make, register
    from .envs.finite import finite
    from .envs.gridworld.env import gridworld
    from .training.devices import use_all_cores


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kousoku' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
