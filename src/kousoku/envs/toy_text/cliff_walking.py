"""Cliff walking: the short way along the edge, or the safe way round."""

from __future__ import annotations

import numpy as np

from ...core.errors import check_flag
from ...core.model import TabularModel
from ..finite import FiniteEnv, finite
from .moves import destinations, turned
from .picture import MapPicture

ROWS = ("............", "............", "............", "SCCCCCCCCCCG")
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
NAMES = ("up", "right", "down", "left")
STEP_REWARD, FALL_REWARD = -1.0, -100.0


def cliff_walking(is_slippery: bool = False, time_limit: int | None = None) -> FiniteEnv:
    """Makes Gymnasium's CliffWalking-v1, entry by entry.

    Observation: row * 12 + column, Discrete(48). Action: Discrete(4): up, right, down, left. A step costs 1; a step
    over the cliff costs 100 and leads back to the start, and the episode goes on. The goal terminates it.

    Args:
        is_slippery: whether a move goes where it is meant to, or to either of its two sides, with 1/3 each.
        time_limit: steps until an episode is truncated.

    Raises:
        ConfigError: for a bad value.

    References:
        Sutton and Barto (2nd ed.), example 6.6.

    Examples:
        >>> env = cliff_walking()
        >>> env.model().reward[36].ravel().tolist()
        [-1.0, -100.0, -1.0, -1.0]
    """
    picture = MapPicture(ROWS)
    model = _model(check_flag("is_slippery", is_slippery))
    return finite(model, (picture.panel(MOVES, NAMES),), time_limit, picture)


def _model(is_slippery: bool) -> TabularModel:
    glyph = np.array([list(row) for row in ROWS]).reshape(-1)
    start = (glyph == "S").astype(float)
    taken = turned(4) if is_slippery else np.arange(4)[:, None]
    target = destinations(len(ROWS), len(ROWS[0]), MOVES)[:, taken]
    fell = glyph[target] == "C"
    return TabularModel(
        probability=np.full(target.shape, 1.0 / taken.shape[1]),
        next_state=np.where(fell, np.int32(np.argmax(start)), target),
        reward=np.where(fell, FALL_REWARD, STEP_REWARD),
        terminated=glyph[target] == "G",
        start=start,
    )
