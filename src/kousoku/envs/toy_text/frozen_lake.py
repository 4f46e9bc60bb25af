"""Frozen lake: cross the ice from the start to the goal, past the holes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.errors import ConfigError, check_choice, check_flag, check_number
from ...core.model import TabularModel
from ..finite import FiniteEnv, finite
from ..gridworld.layout import FLOOR, MAX_CELLS, PIT, GridLayout, reachable
from .moves import destinations, turned
from .picture import MapPicture

MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": ("SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"),
}
GLYPHS = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
NAMES = ("left", "down", "right", "up")
LARGEST = 1e30


def frozen_lake(
    map_name: str = "4x4",
    custom_map: str | Sequence[str] | None = None,
    is_slippery: bool = True,
    success_rate: float = 1.0 / 3.0,
    reward_schedule: Sequence[float] = (1.0, 0.0, 0.0),
    time_limit: int | None = None,
) -> FiniteEnv:
    """Makes Gymnasium's FrozenLake-v1, entry by entry.

    Observation: row * width + column, Discrete. Action: Discrete(4): left, down, right, up. The goal and the holes
    terminate the episode.

    Args:
        map_name: name of a map, "4x4" or "8x8"; read where `custom_map` is not given.
        custom_map: rows of 'S' start, 'F' frozen, 'H' hole, 'G' goal, as a list or as one string with white space
            between the rows. With several starts, each is equally likely.
        is_slippery: whether a move goes to one of its two sides at times.
        success_rate: probability that a slippery move goes where it is meant to; the sides share the rest.
        reward_schedule: reward of reaching the goal, a hole, and anything else.
        time_limit: steps until an episode is truncated.

    Raises:
        ConfigError: for a map on which no episode can begin or end, or a bad value.

    Examples:
        >>> env = frozen_lake(custom_map="SFG", is_slippery=False)
        >>> env.model().reward[1].ravel().tolist()
        [0.0, 0.0, 1.0, 0.0]
    """
    check_flag("is_slippery", is_slippery)
    check_number("success_rate", success_rate, low=0, high=1)
    if not _is_listed(reward_schedule) or len(reward_schedule) != 3:
        raise ConfigError("reward_schedule", reward_schedule, "give three numbers: goal, hole, frozen")
    for i, reward in enumerate(reward_schedule):
        check_number(f"reward_schedule[{i}]", reward, low=-LARGEST, high=LARGEST)
    if custom_map is None:
        check_choice("map_name", map_name, MAPS)
    rows = MAPS[map_name] if custom_map is None else _parse(custom_map)
    goal, hole, frozen = (float(reward) for reward in reward_schedule)
    model = _model(rows, float(success_rate) if is_slippery else None, goal, hole, frozen)
    picture = MapPicture(rows)
    return finite(model, (picture.panel(MOVES, NAMES),), time_limit, picture)


def _model(rows: tuple[str, ...], success_rate: float | None, goal: float, hole: float, frozen: float) -> TabularModel:
    """Builds the exact model; a goal or a hole leads to itself, terminated, without reward."""
    glyph = np.array([list(row) for row in rows]).reshape(-1)
    over = np.isin(glyph, ["G", "H"])
    target = destinations(len(rows), len(rows[0]), MOVES)
    if success_rate is None:
        taken, chances = np.arange(4)[:, None], np.array([1.0])
    else:
        side = (1.0 - success_rate) / 2.0
        taken, chances = turned(4), np.array([side, success_rate, side])
    next_state = target[:, taken]
    probability = np.broadcast_to(chances, next_state.shape).copy()
    reward = np.select([glyph == "G", glyph == "H"], [goal, hole], frozen)[next_state]
    terminated = over[next_state]
    probability[over], reward[over], terminated[over] = np.eye(1, len(chances)), 0.0, True
    next_state[over] = np.flatnonzero(over).astype(np.int32)[:, None, None]
    start = (glyph == "S").astype(float)
    return TabularModel(probability, next_state, reward, terminated, start / start.sum())


def _is_listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _parse(custom_map: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the rows of a map.

    Raises:
        ConfigError: for an empty, ragged or huge map, an unknown glyph, no start, or no way from a start to a goal.
    """
    rows = tuple(custom_map.split() if isinstance(custom_map, str) else custom_map if _is_listed(custom_map) else ())
    if not rows or not rows[0] or not all(isinstance(row, str) for row in rows):
        raise ConfigError("custom_map", custom_map, "give at least one row of glyphs, such as ['SFF', 'FFG']")
    if len(rows) * len(rows[0]) > MAX_CELLS:
        raise ConfigError("custom_map", f"{len(rows)} x {len(rows[0])} cells", f"use at most {MAX_CELLS} cells")
    for r, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ConfigError(f"custom_map row {r}", row, f"every row needs {len(rows[0])} cells like row 0")
        for c, glyph in enumerate(row):
            if glyph not in GLYPHS:
                known = ", ".join(f"{mark!r} {name}" for mark, name in GLYPHS.items())
                raise ConfigError(f"custom_map row {r} column {c}", glyph, f"use {known}")
    _check_ways(rows)
    return rows


def _check_ways(rows: tuple[str, ...]) -> None:
    layout = GridLayout(tuple(row.replace("F", FLOOR).replace("H", PIT) for row in rows))
    for glyph in ("S", "G"):
        if not layout.cells(glyph):
            name = GLYPHS[glyph]
            raise ConfigError("custom_map", f"a map without a {name}", f"mark at least one cell with {glyph!r}")
    for start in layout.cells("S"):
        if not np.any(reachable(layout, start, np.array(MOVES)) & layout.where("G")):
            raise ConfigError("custom_map", f"no way from the start at {start} to a goal", "leave a path between holes")
