"""Checks whether memory holds what is asked for, before anything is allocated, with the estimate and what would fit."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import jax

from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.leaves import key_like
from ...core.ours import is_ours
from ...core.spaces import element_like
from ...core.words import plural
from ...ops.trees import tree_bytes
from ..config import MAX_SEED
from ..loop.iteration import Shapes, shapes_of
from ..metrics.metric_sums import Recording
from ..population import PointEnvs

MOST_SAMPLES = 2**31 - 1
"""Of one member: their places are numbers of 32 bits."""


def check_memory(agent: Agent, envs: PointEnvs, members: int, recording: Recording) -> None:
    """Refuses more members, or larger ones, than memory holds, before any is allocated.

    Shapes are traced for it: what is too large for that is refused by `check_samples`, before.

    Raises:
        ConfigError: with the estimate and the number of members that would fit.
    """
    total = _memory()
    shapes = shapes_of(agent, envs.by_point[0], recording)
    bytes_each = _member_bytes(agent, shapes) + 2 * envs.bytes_each + 256
    recorded = tree_bytes(agent.learns_from.shared)
    room = 0.8 * total - recorded
    if members > MAX_SEED or members * bytes_each > room:
        fits = min(max(int(room / bytes_each), 0), MAX_SEED)
        if not fits:
            raise _too_large(agent, shapes.state, recorded + bytes_each, total)
        need = _about(members * bytes_each, total)
        raise ConfigError("seeds x sweep", plural(members, "agent"), f"they need {need}; use at most {fits}")


def check_program(agent: Agent, compiled: Any, beside: int, devices: Collection[Any]) -> None:
    """Refuses a compiled program for which memory has no room: its arrays, and all that it computes from them.

    It is what XLA has planned and what a gang of a kernel takes beside it, with the activations of networks, which
    `check_memory` does not know of.

    Args:
        agent: what is trained.
        compiled: the program, a `jax.stages.Compiled`.
        beside: bytes that a gang of its kernels takes while it runs.
        devices: that it runs on, each of them with its share.

    Raises:
        ConfigError: with what it needs.
    """
    plan = compiled.memory_analysis()
    if plan is None:
        return
    arrays = plan.argument_size_in_bytes + plan.output_size_in_bytes - plan.alias_size_in_bytes
    need = arrays + plan.temp_size_in_bytes + beside
    room, total = _room(devices)
    if need > room:
        fix = "use smaller minibatches, fewer environments or agents, or a smaller network"
        raise ConfigError("agent", type(agent).__name__, f"training it needs {_about(need, total)} a device; {fix}")


def is_far_from_full(agent: Agent, agents: Any, env: Env, devices: Collection[Any]) -> bool:
    """Returns whether the activations of an agent of ours cannot fill memory: to ask for XLA's plan takes 15 ms.

    A sample has no more of them than networks have parameters, beside images no more than pixels times these; and
    gradients and the optimiser's steps need no more than a few times as much.

    Args:
        agent: what is trained.
        agents: what all of them learn, arrays [N, ...].
        env: where.
        devices: that share it.
    """
    if not is_ours(type(agent)):
        return False
    seen = jax.tree.leaves(element_like(env.observation_space))
    pixels = sum(leaf.size for leaf in seen) if any(leaf.ndim > 1 for leaf in seen) else 1
    samples = max(agent.learns_from.gradient_samples, agent.learns_from.iteration_steps)
    return 8 * samples * pixels * tree_bytes(agents) < _room(devices)[0]


def _room(devices: Collection[Any]) -> tuple[float, int]:
    """Returns the bytes that each device may take, and has: of its own memory, or of its share of this machine's."""
    own = [(each.memory_stats() or {}).get("bytes_limit") for each in devices]
    total = min(limit or _memory() // len(devices) for limit in own)
    return total if all(own) else 0.8 * total, total


def check_samples(agent: Agent, env: Env) -> None:
    """Refuses a collector whose observations alone are too many, and whose shapes could not even be traced.

    Raises:
        ConfigError: with the least that they need.
    """
    obs = element_like(env.observation_space)
    samples = agent.learns_from.samples_held
    least = 2 * samples * tree_bytes(obs)
    if samples > MOST_SAMPLES or least > 0.8 * _memory():
        raise _too_many(agent, f"more than {least / 2**30:.3g} GiB")


def check_episodes(field: str, env: Env, members: int, episodes: int) -> None:
    """Refuses more episodes at once than memory holds, before anything is allocated.

    Args:
        field: what the number of episodes is called, for the message.
        env: where they are played.
        members: how many agents play them.
        episodes: of each.

    Raises:
        ConfigError: with the estimate and the number that would fit.
    """
    begun = jax.eval_shape(env.reset, key_like())
    _check_fits(field, episodes, members * (4 * tree_bytes(begun) + 128), f"of {plural(members, 'agent')} they need")


def check_transitions(field: str, env: Env, steps: int) -> None:
    """Refuses a data set of more steps than memory holds: as they are made, and in two copies.

    Args:
        field: what the number of steps is called, for the message.
        env: where they are made.
        steps: in all.

    Raises:
        ConfigError: with the estimate and the number that would fit.
    """
    obs, action = element_like(env.observation_space), element_like(env.action_space)
    _check_fits(field, steps, 3 * tree_bytes((obs, obs, action)) + 64, "they need")


def _check_fits(field: str, count: int, bytes_each: int, what: str) -> None:
    total = _memory()
    if count * bytes_each > 0.8 * total:
        need = _about(count * bytes_each, total)
        raise ConfigError(field, count, f"{what} {need}; use at most {int(0.8 * total / bytes_each)}")


def _too_large(agent: Agent, state: TrainState, need: int, total: int) -> ConfigError:
    """Returns the refusal of what the agent learns from, of its environments if most of the need is theirs, or of
    itself if it is too large with the least to learn from; else of its collector.
    """
    shared = jax.tree.leaves(agent.learns_from.shared)
    if tree_bytes(shared) > 0.5 * total:
        fix = f"they need {_about(tree_bytes(shared), total)}; use fewer"
        return ConfigError("dataset", f"{len(shared[0])} transitions", fix)
    num_envs, slots = agent.learns_from.num_envs, 2 * tree_bytes((state.slots, state.carry))
    if num_envs > 1 and slots > 0.5 * need:
        fix = f"they need {_about(slots, total)}; use fewer"
        return ConfigError("num_envs", plural(num_envs, "environment"), fix)
    alone = 2 * tree_bytes(state.agent)
    least = alone + agent.learns_from.least_share * (need - alone)
    if alone > 0.5 * total or least > 0.8 * total:
        fix = f"learning it needs {_about(least, total)}; use a smaller network"
        return ConfigError("agent", type(agent).__name__, fix)
    return _too_many(agent, f"about {need / 2**30:.3g} GiB")


def _about(need: float, total: int) -> str:
    """Returns in words how much of the memory is needed."""
    return f"about {need / 2**30:.3g} GiB of {total / 2**30:.3g} GiB"


def _too_many(agent: Agent, need: str) -> ConfigError:
    field, size = agent.learns_from.size
    return ConfigError(field, size, f"they need {need}; use fewer")


def _member_bytes(agent: Agent, shapes: Shapes) -> int:
    """Returns the bytes of what a member carries and collects in an iteration, twice, and of what it computes from
    that.
    """
    state, data, steps = shapes
    temporary = agent.learns_from.temporaries(data, state.data)
    return 2 * tree_bytes((state, data, steps.info, steps.end)) + tree_bytes(temporary)


def _memory() -> int:
    """Returns the bytes of physical memory; 64 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 64 * 2**30
