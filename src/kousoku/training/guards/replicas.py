"""The check that devices which share a member's environments learn the same."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...core.agent import Agent
from ...core.errors import ConfigError
from ...core.known_step import is_ours


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
        first, *others = (np.asarray(jax.device_get(_words(shard.data))) for shard in leaf.addressable_shards)
        if any(first.tobytes() != other.tobytes() for other in others):
            part = jax.tree_util.keystr(path) or "itself"
            fix = "devices learn different things of their environments: take jax.lax.pmean(..., axis) of gradients"
            raise ConfigError(f"{type(agent).__name__}.update", f"a state whose {part} differs", f"{fix}, or devices=1")


def _words(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
