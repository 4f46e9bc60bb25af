"""The check that devices which share a member's environments learn the same."""

from __future__ import annotations

from typing import Any

import jax

from ...core.agent import Agent
from ...core.errors import ConfigError
from ...core.ours import is_ours
from ..io import tree_io


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
