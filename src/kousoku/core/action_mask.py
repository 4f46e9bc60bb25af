"""Action masks: which actions may be taken now, as a part of the observation.

A mask is the entry "action_mask" of a Dict observation: one number for each action of a Discrete space, 1 for an action
that may be taken and 0 for one that must not. That of a MultiDiscrete space has the numbers of one choice after those
of the other, [sum(nvec)], or a row for each choice, [len(nvec), max(nvec)], in which numbers beyond the choice's own
actions do not count. It travels with the observation, to whoever sees that: to the agent when it acts, and when it
learns to the loss, to the target in the next observation, and into replay buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .errors import ConfigError
from .spaces import Dict, Discrete, MultiDiscrete, Space

ACTION_MASK = "action_mask"

Counts = int | tuple[int, ...]
"""How many actions there are: of a Discrete space, or of each choice of a MultiDiscrete one."""


def check_mask(observation_space: Space, action_space: Space) -> None:
    """Refuses a mask that is not of one number for each action.

    One over all combinations of MultiDiscrete choices, of the shape nvec, is let through and forbids nothing; of two
    choices, the first of two actions, that is the shape of a row for each choice, and as such it is read.

    Raises:
        ConfigError: for an entry "action_mask" of another shape, which would let everything pass.
    """
    counts = counts_of(action_space)
    mask = observation_space.spaces.get(ACTION_MASK) if isinstance(observation_space, Dict) else None
    if mask is None or counts is None or getattr(mask, "shape", None) in (*mask_shapes(counts), counts):
        return
    wanted = f"each of {counts} actions"
    if isinstance(counts, tuple):
        wanted = f"each action of each choice, in the shape {' or '.join(map(str, mask_shapes(counts)))}"
    fix = f"give one number for {wanted}, or give the entry another name"
    raise ConfigError(f"observation_space[{ACTION_MASK!r}]", mask, fix)


def counts_of(space: Space) -> Counts | None:
    """Returns how many actions a space has, for each choice; None of a space whose actions are not counted."""
    if isinstance(space, Discrete):
        return space.n
    return space.nvec if isinstance(space, MultiDiscrete) else None


def mask_shapes(counts: Counts) -> tuple[tuple[int, ...], ...]:
    """Returns the shapes of masks that count.

    Examples:
        >>> mask_shapes(4), mask_shapes((2, 3, 2))
        (((4,),), ((3, 3), (7,)))
    """
    return ((counts,),) if isinstance(counts, int) else ((len(counts), max(counts)), (sum(counts),))


def only_legal(values: Float[Array, " A"], obs: Any, counts: Counts | None = None) -> Float[Array, " A"]:
    """Returns logits or action values with -inf for actions that the observation says must not be taken.

    Where it says that of all actions, as some environments do when nothing follows, it counts for nothing; so does an
    entry that is not of one number for each action (see `check_mask`). Each of several choices is by itself.

    Args:
        values: of all actions; of several choices those of the one after those of the other.
        obs: the observation.
        counts: how many actions each choice has; None for a single choice.

    Examples:
        >>> values, obs = jnp.array([3.0, 1.0, 2.0]), {"action_mask": jnp.array([0, 1, 1])}
        >>> only_legal(values, obs).tolist(), only_legal(values, None).tolist()
        ([-inf, 1.0, 2.0], [3.0, 1.0, 2.0])
    """
    legal = legal_actions(obs, values.shape[0] if counts is None else counts)
    return values if legal is None else jnp.where(legal, values, -jnp.inf)


def legal_actions(obs: Any, counts: Counts) -> Bool[Array, " A"] | None:
    """Returns which actions the observation says may be taken: all, where it says none; None where it says nothing.

    Args:
        obs: the observation.
        counts: how many actions there are; of several choices the result is one after the other.

    Examples:
        >>> legal_actions({"action_mask": jnp.array([0, 1, 1])}, 3).tolist()
        [False, True, True]
        >>> legal_actions({"action_mask": jnp.array([[0, 1, 1], [0, 0, 1]])}, (3, 2)).tolist()
        [False, True, True, True, True]
    """
    mask = obs.get(ACTION_MASK) if isinstance(obs, Mapping) else None
    if mask is None or jnp.shape(mask) not in mask_shapes(counts):
        return None
    legal = mask > 0
    if isinstance(counts, int):
        return _all_if_none(legal)
    rows = [legal[i, :n] for i, n in enumerate(counts)] if legal.ndim == 2 else jnp.split(legal, _starts(counts)[1:])
    return jnp.concatenate([_all_if_none(row) for row in rows])


def is_legal(legal: Bool[Array, " A"], action: Int[Array, "..."], counts: Counts) -> Bool[Array, ""]:
    """Returns whether an action, or each choice of one, is among those of `legal_actions`."""
    return jnp.all(legal[action if isinstance(counts, int) else action + _starts(counts)])


def _starts(counts: tuple[int, ...]) -> Int[np.ndarray, " D"]:
    """Returns where the actions of each choice begin."""
    return np.cumsum((0, *counts[:-1]), dtype=np.int32)


def _all_if_none(legal: Bool[Array, " n"]) -> Bool[Array, " n"]:
    return legal | ~jnp.any(legal)
