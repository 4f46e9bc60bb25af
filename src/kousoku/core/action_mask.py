"""Action masks: which actions may be taken now, as a part of the observation.

A mask is the entry "action_mask" of a Dict observation: one number for each action of a Discrete space, 1 for an action
that may be taken and 0 for one that must not. It travels with the observation, to whoever sees that: to the agent when
it acts, and when it learns to the loss, to the target in the next observation, and into replay buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .errors import ConfigError
from .spaces import Dict, Discrete, Space

ACTION_MASK = "action_mask"


def check_mask(observation_space: Space, action_space: Space) -> None:
    """Refuses a mask that is not of one number for each of Discrete actions.

    Raises:
        ConfigError: for an entry "action_mask" of another shape, which would let everything pass.
    """
    if not (isinstance(observation_space, Dict) and isinstance(action_space, Discrete)):
        return
    mask = observation_space.spaces.get(ACTION_MASK)
    if mask is not None and getattr(mask, "shape", None) != (action_space.n,):
        fix = f"give one number for each of {action_space.n} actions, or give the entry another name"
        raise ConfigError(f"observation_space[{ACTION_MASK!r}]", mask, fix)


def only_legal(values: Float[Array, " A"], obs: Any) -> Float[Array, " A"]:
    """Returns logits or action values with -inf for actions that the observation says must not be taken.

    Where it says that of all actions, as some environments do when nothing follows, it counts for nothing; so does an
    entry that is not of one number for each action (see `check_mask`).

    Examples:
        >>> values, obs = jnp.array([3.0, 1.0, 2.0]), {"action_mask": jnp.array([0, 1, 1])}
        >>> only_legal(values, obs).tolist(), only_legal(values, None).tolist()
        ([-inf, 1.0, 2.0], [3.0, 1.0, 2.0])
    """
    legal = legal_actions(obs, values.shape)
    return values if legal is None else jnp.where(legal, values, -jnp.inf)


def legal_actions(obs: Any, shape: tuple[int, ...]) -> Bool[Array, " A"] | None:
    """Returns which actions the observation says may be taken: all, where it says none; None where it says nothing.

    Args:
        obs: the observation.
        shape: [A] of an entry that counts.

    Examples:
        >>> legal_actions({"action_mask": jnp.array([0, 1, 1])}, (3,)).tolist()
        [False, True, True]
    """
    mask = obs.get(ACTION_MASK) if isinstance(obs, Mapping) else None
    if mask is None or jnp.shape(mask) != shape:
        return None
    legal = mask > 0
    return legal | ~jnp.any(legal)
