"""Kousoku: reinforcement learning compiled end to end in JAX.

    import kousoku as ks

    run = ks.train("q_learning", "GridWorld-v0", steps=100_000, seeds=30)
    run.plot_values()

Names are imported when they are first used, so that `import kousoku` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .core.when_imported import when_imported

__version__ = "0.1.0"

_HOMES = {
    "agents.tabular.agent": ("TabularAgent",),
    "collectors.differentiated": ("DifferentiatedRollout", "DifferentiatedRollouts"),
    "collectors.generations": ("Generation", "Generations"),
    "collectors.offline": ("Offline",),
    "collectors.online": ("Online",),
    "collectors.replay": ("Replay",),
    "collectors.rollouts": ("Rollouts",),
    "core.agent": ("Agent", "Estimate"),
    "core.collector": ("Collector", "EpisodeEnd", "SlotFunctions", "Steps", "TrainState"),
    "core.dataset": ("Dataset",),
    "core.dataset_file": ("load_dataset", "save_dataset"),
    "core.env": ("Drawable", "Env", "EnvSpec", "Finite"),
    "core.errors": ("ConfigError", "EnvError"),
    "core.model": ("TabularModel",),
    "core.scene": ("Scene",),
    "core.spaces": ("Box", "Dict", "Discrete", "MultiDiscrete"),
    "core.timestep": ("ReplayBatch", "Rollout", "Timestep", "Transition"),
    "core.wrapper": ("Wrapper",),
    "envs": ("list_envs", "make", "register"),
    "envs.contract": ("ContractError", "check_env"),
    "envs.finite": ("finite",),
    "envs.gridworld.env": ("gridworld",),
    "agents": ("list_agents", "register_agent"),
    "agents.options": ("make_agent",),
    "interop.host.from_dm_env": ("from_dm_env",),
    "interop.host.from_envpool": ("from_envpool",),
    "interop.host.from_gymnasium": ("from_gymnasium",),
    "interop.minari_dataset": ("from_minari",),
    "interop.out.brax_env": ("to_brax",),
    "interop.out.dm_environment": ("to_dm_env",),
    "interop.out.envpool_like": ("to_envpool",),
    "interop.out.gymnasium_env": ("to_gymnasium",),
    "interop.out.gymnasium_vector": ("to_gymnasium_vec",),
    "interop.out.gymnax_like": ("to_gymnax",),
    "interop.out.sb3_vector": ("to_sb3_vec",),
    "run": ("Evaluation", "Run"),
    "api": ("animate", "resume", "train"),
    "saved_runs": ("compare", "evaluate", "load", "load_policy"),
    "training.devices": ("use_all_cores",),
    "training.evaluation.policy": ("Policy",),
    "training.metrics.report": ("Report",),
    "training.presets": ("preset",),
    "viz.animation": ("Animation",),
    "interop.jax_envs.brax": ("from_brax",),
    "interop.jax_envs.craftax": ("from_craftax",),
    "interop.jax_envs.gymnax": ("from_gymnax",),
    "interop.jax_envs.jumanji": ("from_jumanji",),
    "interop.jax_envs.navix": ("from_navix",),
    "interop.jax_envs.pgx": ("from_pgx",),
    "interop.jax_envs.playground": ("from_playground",),
    "interop.jax_envs.xminigrid": ("from_xminigrid",),
    "compiler": ("KernelWarning", "kernel", "use_kernels"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = {"wrappers": "envs.wrappers", **{name: name for name in ("agents", "collectors", "nn", "ops", "physics")}}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from . import agents as agents
    from . import collectors as collectors
    from . import nn as nn
    from . import ops as ops
    from . import physics as physics
    from .agents import list_agents as list_agents
    from .agents import register_agent as register_agent
    from .agents.options import make_agent as make_agent
    from .agents.tabular.agent import TabularAgent as TabularAgent
    from .api import animate as animate
    from .api import resume as resume
    from .api import train as train
    from .collectors.differentiated import DifferentiatedRollout as DifferentiatedRollout
    from .collectors.differentiated import DifferentiatedRollouts as DifferentiatedRollouts
    from .collectors.generations import Generation as Generation
    from .collectors.generations import Generations as Generations
    from .collectors.offline import Offline as Offline
    from .collectors.online import Online as Online
    from .collectors.replay import Replay as Replay
    from .collectors.rollouts import Rollouts as Rollouts
    from .compiler import KernelWarning as KernelWarning
    from .compiler import kernel as kernel
    from .compiler import use_kernels as use_kernels
    from .core.agent import Agent as Agent
    from .core.agent import Estimate as Estimate
    from .core.collector import Collector as Collector
    from .core.collector import EpisodeEnd as EpisodeEnd
    from .core.collector import SlotFunctions as SlotFunctions
    from .core.collector import Steps as Steps
    from .core.collector import TrainState as TrainState
    from .core.dataset import Dataset as Dataset
    from .core.dataset_file import load_dataset as load_dataset
    from .core.dataset_file import save_dataset as save_dataset
    from .core.env import Drawable as Drawable
    from .core.env import Env as Env
    from .core.env import EnvSpec as EnvSpec
    from .core.env import Finite as Finite
    from .core.errors import ConfigError as ConfigError
    from .core.errors import EnvError as EnvError
    from .core.model import TabularModel as TabularModel
    from .core.scene import Scene as Scene
    from .core.spaces import Box as Box
    from .core.spaces import Dict as Dict
    from .core.spaces import Discrete as Discrete
    from .core.spaces import MultiDiscrete as MultiDiscrete
    from .core.timestep import ReplayBatch as ReplayBatch
    from .core.timestep import Rollout as Rollout
    from .core.timestep import Timestep as Timestep
    from .core.timestep import Transition as Transition
    from .core.wrapper import Wrapper as Wrapper
    from .envs import list_envs as list_envs
    from .envs import make as make
    from .envs import register as register
    from .envs import wrappers as wrappers
    from .envs.contract import ContractError as ContractError
    from .envs.contract import check_env as check_env
    from .envs.finite import finite as finite
    from .envs.gridworld.env import gridworld as gridworld
    from .interop.host.from_dm_env import from_dm_env as from_dm_env
    from .interop.host.from_envpool import from_envpool as from_envpool
    from .interop.host.from_gymnasium import from_gymnasium as from_gymnasium
    from .interop.jax_envs.brax import from_brax as from_brax
    from .interop.jax_envs.craftax import from_craftax as from_craftax
    from .interop.jax_envs.gymnax import from_gymnax as from_gymnax
    from .interop.jax_envs.jumanji import from_jumanji as from_jumanji
    from .interop.jax_envs.navix import from_navix as from_navix
    from .interop.jax_envs.pgx import from_pgx as from_pgx
    from .interop.jax_envs.playground import from_playground as from_playground
    from .interop.jax_envs.xminigrid import from_xminigrid as from_xminigrid
    from .interop.minari_dataset import from_minari as from_minari
    from .interop.out.brax_env import to_brax as to_brax
    from .interop.out.dm_environment import to_dm_env as to_dm_env
    from .interop.out.envpool_like import to_envpool as to_envpool
    from .interop.out.gymnasium_env import to_gymnasium as to_gymnasium
    from .interop.out.gymnasium_vector import to_gymnasium_vec as to_gymnasium_vec
    from .interop.out.gymnax_like import to_gymnax as to_gymnax
    from .interop.out.sb3_vector import to_sb3_vec as to_sb3_vec
    from .run import Evaluation as Evaluation
    from .run import Run as Run
    from .saved_runs import compare as compare
    from .saved_runs import evaluate as evaluate
    from .saved_runs import load as load
    from .saved_runs import load_policy as load_policy
    from .training.devices import use_all_cores as use_all_cores
    from .training.evaluation.policy import Policy as Policy
    from .training.metrics.report import Report as Report
    from .training.presets import preset as preset
    from .viz.animation import Animation as Animation


# gymnasium.make("kousoku/CartPole-v1") knows our environments, whichever of the two is imported first.
when_imported("gymnasium", "kousoku.interop.out.registration", "register_all")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name not in _HOME_OF:
        raise importlib.import_module(".core.errors", __name__).missing_attribute("module 'kousoku'", name, __all__)
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
