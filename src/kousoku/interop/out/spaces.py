"""Our spaces as Gymnasium's, and observations in their dtypes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ...core.action_mask import ACTION_MASK
from ...core.spaces import Box, Dict, Discrete, MultiDiscrete, Space


def gymnasium_space(space: Space) -> gymnasium.Space:
    """Returns the space as Gymnasium's: whole numbers are int64 there, as in its own environments."""
    match space:
        case Discrete():
            return gymnasium.spaces.Discrete(space.n)
        case MultiDiscrete():
            return gymnasium.spaces.MultiDiscrete(np.asarray(space.nvec))
        case Box():
            low, high = (np.broadcast_to(np.asarray(end, space.dtype), space.shape) for end in (space.low, space.high))
            return gymnasium.spaces.Box(low, high, space.shape, space.dtype)
        case _:
            return gymnasium.spaces.Dict({name: gymnasium_space(part) for name, part in space.spaces.items()})


def gymnasium_dtypes(space: Space) -> Any:
    """Returns the dtype of Gymnasium's space; of a Dict's, those of its parts by name."""
    if isinstance(space, Dict):
        return {name: gymnasium_dtypes(part) for name, part in space.spaces.items()}
    return np.dtype(np.int64) if isinstance(space, Discrete | MultiDiscrete) else space.dtype


def in_dtypes(dtypes: Any, obs: Any) -> Any:
    """Returns observations, [...] or [N, ...], in such dtypes."""
    if isinstance(dtypes, dict):
        return {name: in_dtypes(each, obs[name]) for name, each in dtypes.items()}
    return np.asarray(obs, dtypes)


def info_in_gymnasium(info: dict[str, Any]) -> dict[str, Any]:
    """Returns an info with masks of actions in the dtype that `sample(mask)` of Gymnasium's spaces insists on."""
    return {name: np.asarray(value, np.int8) if name == ACTION_MASK else value for name, value in info.items()}
