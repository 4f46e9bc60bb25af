"""Check that observed numbers are in their space: an index outside is one of a table's ends to compiled code."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...core.env import Env
from ...core.errors import EnvError
from ...core.spaces import Discrete, MultiDiscrete, Space
from ...core.wrapper import kind_of


def observed_outside(env: Env, space: Space, slots: Any) -> EnvError | None:
    """Returns an error for an observation that slots hold which is outside a space of whole numbers; None if none is.

    It is asked between blocks: these are a few numbers that are there, of the first steps and of some later ones. Who
    counts from 1 is told soon.

    Args:
        env: whose observations these are, for the message.
        space: its observation space, which some environments trace a reset for: looked up once for a run.
        slots: what the training state holds of its slots.
    """
    obs = getattr(slots, "obs", None)
    if obs is None or not isinstance(space, Discrete | MultiDiscrete):
        return None
    seen = np.asarray(jax.device_get(obs)).reshape(-1, *space.shape)
    sizes = np.asarray(space.n if isinstance(space, Discrete) else space.nvec)
    wrong = np.argwhere((seen < 0) | (seen >= sizes))
    if not len(wrong):
        return None
    given, fix = seen[wrong[0][0]].tolist(), "count from 0; kousoku.check_env tells all"
    return EnvError(f"{kind_of(env)}: observation {given} is outside {space}; {fix}")
