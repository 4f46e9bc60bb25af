"""Checks that devices can share a member's environments, and learn the same of them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.errors import ConfigError
from ...core.ours import is_ours
from ..io import tree_io


def check_divided(agent: Agent, state: TrainState) -> None:
    """Refuses slots, carry and data of a collector that devices cannot divide: each has an axis [B].

    Args:
        agent: the agent.
        state: the shapes of a training state.

    Raises:
        ConfigError: naming the first part that has none, and its shape.
    """
    collector = agent.learns_from
    for part in ("slots", "carry", "data"):
        for path, leaf in jax.tree_util.tree_leaves_with_path(getattr(state, part)):
            if np.shape(leaf)[:1] != (collector.num_envs,):
                field = f"{type(collector).__name__}.init"
                given = f"{part}{jax.tree_util.keystr(path)} {list(np.shape(leaf))}"
                each = f"give each of the {collector.num_envs} a row, [{collector.num_envs}, ...]"
                raise ConfigError(field, given, f"devices share the environments: {each}, or use devices=1")


def check_replicas(agent: Agent, state: Any) -> None:
    """Refuses what an agent of one's own has learned if the devices have learned different things.

    Args:
        agent: the agent.
        state: its state, a copy on each of the devices.

    Raises:
        ConfigError: naming the first part that differs: its `update` leaves `axis` out.
    """
    if is_ours(type(agent)):
        return
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        first, *others = tree_io.to_arrays([shard.data for shard in leaf.addressable_shards])
        if any(first.tobytes() != other.tobytes() for other in others):
            part = jax.tree_util.keystr(path) or "itself"
            fix = "devices learn different things of their environments: take jax.lax.pmean(..., axis) of gradients"
            raise ConfigError(f"{type(agent).__name__}.update", f"a state whose {part} differs", f"{fix}, or devices=1")
