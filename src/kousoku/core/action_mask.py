"""Action masks: which actions may be taken now, as a part of the observation.

A mask is the entry "action_mask" of a Dict observation: one number for each action of a Discrete space, 1 for an action
that may be taken and 0 for one that must not. It travels with the observation, to whoever sees that: to the agent when
it acts, and when it learns to the loss, to the target in the next observation, and into replay buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

ACTION_MASK = "action_mask"


def only_legal(values: Float[Array, " A"], obs: Any) -> Float[Array, " A"]:
    """Returns logits or action values with -inf for actions that the observation says must not be taken.

    Where it says that of all actions, as some environments do when nothing follows, it counts for nothing; so does an
    entry that is not of one number for each action.

    Examples:
        >>> values, obs = jnp.array([3.0, 1.0, 2.0]), {"action_mask": jnp.array([0, 1, 1])}
        >>> only_legal(values, obs).tolist(), only_legal(values, None).tolist()
        ([-inf, 1.0, 2.0], [3.0, 1.0, 2.0])
    """
    mask = obs.get(ACTION_MASK) if isinstance(obs, Mapping) else None
    if mask is None or jnp.shape(mask) != values.shape:
        return values
    legal = mask > 0
    return jnp.where(legal | ~jnp.any(legal), values, -jnp.inf)
