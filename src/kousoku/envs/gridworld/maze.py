"""Random mazes by size and seed."""

from __future__ import annotations

import numpy as np

from ...core.errors import ConfigError, check_count, check_number
from .env import GridWorld, gridworld
from .layout import FLOOR, GOAL, MAX_CELLS, START, WALL


def maze_map(height: int = 21, width: int = 21, seed: int = 0, loops: float = 0.0) -> tuple[str, ...]:
    """Makes a maze as a map: start top left, goal bottom right, walls around.

    A spanning tree of the cells with odd row and column, grown depth first with random turns, so that there is
    exactly one way between any two cells; then a share `loops` of the walls between neighbours is opened.

    Args:
        height: height of the whole map, walls included: odd and at least 3.
        width: width of the whole map, walls included: odd and at least 3.
        seed: seed of the maze, for NumPy's PCG64.
        loops: share in [0, 1] of the remaining inner walls to open.

    Raises:
        ConfigError: for an even or absurd size, a negative seed, a share outside [0, 1].

    Examples:
        >>> print(*maze_map(5, 7, seed=1), sep="\\n")
        #######
        #S..#.#
        ###.#.#
        #....G#
        #######
    """
    height, width = check_count("height", height, low=3), check_count("width", width, low=3)
    for name, size in (("height", height), ("width", width)):
        if size % 2 == 0:
            raise ConfigError(name, size, f"use an odd number, such as {size + 1}")
    if height * width > MAX_CELLS:
        raise ConfigError("height x width", f"{height} x {width}", f"use at most {MAX_CELLS} cells")
    seed = check_count("seed", seed, low=0)
    check_number("loops", loops, low=0, high=1)
    if height == width == 3:
        raise ConfigError("height x width", "3 x 3", "leave room for a start and a goal: make one of them at least 5")
    rng = np.random.default_rng(seed)
    floor = _carve(height, width, rng)
    if loops > 0:
        between = [
            (r, c)
            for r in range(1, height - 1)
            for c in range(1, width - 1)
            if not floor[r, c] and (r % 2) + (c % 2) == 1
        ]
        for i in rng.permutation(len(between))[: round(loops * len(between))]:
            floor[between[i]] = True
    glyphs = np.where(floor, FLOOR, WALL)
    glyphs[1, 1], glyphs[height - 2, width - 2] = START, GOAL
    return tuple("".join(row) for row in glyphs)


def random_maze(
    height: int = 21,
    width: int = 21,
    seed: int = 0,
    loops: float = 0.05,
    *,
    slip: float = 0.0,
    step_reward: float = 0.0,
    goal_reward: float = 1.0,
    observation: str = "index",
    window_radius: int = 2,
    time_limit: int | None = None,
) -> GridWorld:
    """Makes a GridWorld on a random maze.

    Args:
        height, width, seed, loops: see `maze.maze_map`.
        slip, step_reward, goal_reward, observation, window_radius, time_limit: see `env.gridworld`.
    """
    return gridworld(
        maze_map(height, width, seed, loops),
        slip=slip,
        step_reward=step_reward,
        goal_reward=goal_reward,
        observation=observation,
        window_radius=window_radius,
        time_limit=time_limit,
    )


def _carve(height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Returns True where there is floor: a depth-first spanning tree of the odd cells."""
    floor = np.zeros((height, width), bool)
    floor[1, 1] = True
    path = [(1, 1)]
    while path:
        r, c = path[-1]
        around = [(r + dr, c + dc) for dr, dc in ((-2, 0), (0, 2), (2, 0), (0, -2))]
        fresh = [(i, j) for i, j in around if 0 < i < height and 0 < j < width and not floor[i, j]]
        if not fresh:
            path.pop()
            continue
        i, j = fresh[rng.integers(len(fresh))]
        floor[(r + i) // 2, (c + j) // 2] = floor[i, j] = True
        path.append((i, j))
    return floor
