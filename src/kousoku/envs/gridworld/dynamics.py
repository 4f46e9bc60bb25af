"""The exact outcome tables of a map: moves, walls, wind, slip, cliffs and teleports."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from ...core.errors import ConfigError
from ...core.model import TabularModel
from .layout import CLIFF, GOAL, PIT, START, WALL, GridLayout

FOUR_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
DIAGONAL_MOVES = ((-1, 1), (1, 1), (1, -1), (-1, -1))
STAY = (0, 0)
NAMES = {
    (-1, 0): "up", (0, 1): "right", (1, 0): "down", (0, -1): "left",
    (-1, 1): "up-right", (1, 1): "down-right", (1, -1): "down-left", (-1, -1): "up-left", STAY: "stay",
}  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """Everything that turns a map into probabilities and rewards. See `gridworld` for the meaning.

    Rules that differ in numbers alone count as equal: numbers are in the tables, and what is compiled for some of them
    does for others.
    """

    moves: tuple[tuple[int, int], ...]
    wind: tuple[int, ...]
    slip: float = field(compare=False)
    step_reward: float = field(compare=False)
    goal_reward: float = field(compare=False)
    pit_reward: float = field(compare=False)
    cliff_reward: float = field(compare=False)
    bump_reward: float = field(compare=False)
    teleports: tuple[tuple[tuple[int, int], tuple[int, int], float], ...]


def action_moves(num_moves: int, stay: bool) -> tuple[tuple[int, int], ...]:
    """Returns (d_row, d_column) of each action: up, right, down, left, the four diagonals, stay."""
    return FOUR_MOVES + (DIAGONAL_MOVES if num_moves == 8 else ()) + ((STAY,) if stay else ())


def travel(
    layout: GridLayout, wall: np.ndarray, cell: tuple[int, int], move: tuple[int, int], wind: int
) -> tuple[int, int]:
    """Returns where a move ends: move and wind add up, and the sum is walked cell by cell, the diagonal step first.

    Each step is clipped to the grid coordinate by coordinate, as in Sutton and Barto's windy grid. If a wall stands in
    the way of the first step, then the move comes first, unless a wall is there too, and all of the wind after it. The
    wind blows up to a wall and no further.
    """
    d_row, d_column = move[0] - wind, move[1]
    onward, left = int(np.sign(d_row)), abs(d_row) - 1
    target = _clip(layout, cell, (onward, d_column))
    if wall[target]:
        moved = _clip(layout, cell, move)
        target, onward, left = cell if wall[moved] else moved, -int(np.sign(wind)), abs(wind)
    for _ in range(left):
        beyond = _clip(layout, target, (onward, 0))
        if wall[beyond] or beyond == target:
            break
        target = beyond
    return target


def slips(rules: Rules, action: int) -> list[tuple[float, int]]:
    """Returns (probability, action really taken): slip / 2 for each of the two moves at right angles; staying never
    slips.
    """
    move = rules.moves[action]
    if rules.slip == 0 or move == STAY:
        return [(1.0, action)]
    sideways = [rules.moves.index((move[1], -move[0])), rules.moves.index((-move[1], move[0]))]
    return [(1.0 - rules.slip, action)] + [(rules.slip / 2, other) for other in sideways]


def build_model(layout: GridLayout, rules: Rules) -> TabularModel:
    """Builds the exact model of a map; state index = row * width + column, walls included (never entered)."""
    outcomes = 3 if rules.slip > 0 else 1
    shape = (layout.num_cells, len(rules.moves), outcomes)
    probability, reward = np.zeros(shape), np.zeros(shape)
    next_state, terminated = np.zeros(shape, np.int32), np.zeros(shape, bool)
    target, gain, ends = _move_tables(layout, rules)
    for action in range(len(rules.moves)):
        for k, (p, taken) in enumerate(slips(rules, action)):
            probability[:, action, k] = p
            next_state[:, action, k] = target[:, taken]
            reward[:, action, k] = gain[:, taken]
            terminated[:, action, k] = ends[:, taken]
    for cell in np.flatnonzero(layout.where(GOAL) | layout.where(PIT)):
        next_state[cell], reward[cell], terminated[cell] = cell, 0.0, True
    start = layout.where(START).reshape(-1).astype(float)
    return TabularModel(probability, next_state, reward, terminated, start / start.sum())


def check_ways(field: str, layout: GridLayout, model: TabularModel) -> None:
    """Refuses a map with a start from which no moves lead to a goal, slip, wind and teleports included.

    Raises:
        ConfigError: naming the start.
    """
    possible = np.asarray(model.probability) > 0  # a pit leads to itself alone, so that no way goes through one
    before: dict[int, set[int]] = {}
    origin, target = np.nonzero(possible)[0].tolist(), np.asarray(model.next_state)[possible].tolist()
    for here, there in zip(origin, target, strict=True):
        before.setdefault(there, set()).add(here)
    frontier = np.flatnonzero(layout.where(GOAL)).tolist()
    found = set(frontier)
    while frontier:
        fresh = before.get(frontier.pop(), set()) - found
        found |= fresh
        frontier.extend(fresh)
    for row, column in layout.cells(START):
        if row * layout.width + column not in found:
            given = f"no way from the start at {(row, column)} to a goal"
            raise ConfigError(field, given, "open a way that meets no pit, or pass continuing=True")


def _move_tables(
    layout: GridLayout, rules: Rules
) -> tuple[Int[np.ndarray, "S A"], Float[np.ndarray, "S A"], np.ndarray]:
    """Returns (next_state, reward, terminated) of each cell and each move that really happens."""
    shape = (layout.num_cells, len(rules.moves))
    target, reward, ends = np.zeros(shape, np.int32), np.zeros(shape), np.zeros(shape, bool)
    wall = layout.where(WALL)
    gateways = {here: (there, gain) for here, there, gain in rules.teleports}
    for index in range(layout.num_cells):
        cell = divmod(index, layout.width)
        for action, move in enumerate(rules.moves):
            if cell in gateways:
                there, gain = gateways[cell]
            else:
                there = travel(layout, wall, cell, move, rules.wind[cell[1]])
                there, gain = _arrive(layout, rules, cell, move, there)
            target[index, action] = there[0] * layout.width + there[1]
            reward[index, action] = gain
            ends[index, action] = layout.rows[there[0]][there[1]] in (GOAL, PIT)
    return target, reward, ends


def _arrive(
    layout: GridLayout, rules: Rules, cell: tuple[int, int], move: tuple[int, int], there: tuple[int, int]
) -> tuple[tuple[int, int], float]:
    """Returns where one really ends after arriving at a cell, and the reward of the whole step."""
    glyph = layout.rows[there[0]][there[1]]
    if glyph == CLIFF:
        return layout.cells(START)[0], rules.step_reward + rules.cliff_reward
    extra = {GOAL: rules.goal_reward, PIT: rules.pit_reward}.get(glyph, 0.0)
    bumped = there == cell and move != STAY
    return there, rules.step_reward + extra + (rules.bump_reward if bumped else 0.0)


def _clip(layout: GridLayout, cell: tuple[int, int], move: tuple[int, int]) -> tuple[int, int]:
    row = min(max(cell[0] + move[0], 0), layout.height - 1)
    column = min(max(cell[1] + move[1], 0), layout.width - 1)
    return row, column
