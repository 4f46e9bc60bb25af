"""Named maps: arguments of `gridworld` by id. Every one of them can be overridden in `kousoku.make`."""

from __future__ import annotations

from typing import Any

ARTICLE_GRID = "\n".join(["G" + "." * 11, *["." * 12] * 6, "." * 11 + "S"])

WINDY_GRID = "\n".join([*[".........."] * 3, "S......G..", *[".........."] * 3])

CLIFF_GRID = "\n".join([*["." * 12] * 3, "S" + "C" * 10 + "G"])

DYNA_MAZE = """
.......#G
..#....#.
S.#....#.
..#......
.....#...
.........
"""

OPEN_RIGHT = """
........G
.........
.........
########.
.........
...S.....
"""

OPEN_LEFT = """
........G
.........
.........
.########
.........
...S.....
"""

OPEN_BOTH = """
........G
.........
.........
.#######.
.........
...S.....
"""

FOUR_ROOMS = """
#############
#S....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###.###
#.....#.....#
#.....#.....#
#...........#
#.....#....G#
#############
"""

NAMED: dict[str, dict[str, Any]] = {
    # The grid of the article on Q-learning in JAX: 8 x 12, start bottom right, goal top left, discount 0.9 there.
    "GridWorld-v0": {"map": ARTICLE_GRID},
    # Sutton and Barto (2nd ed.), example 3.5: A and B teleport, leaving the grid costs 1; a continuing task.
    "TeleportGrid-v0": {
        "map": "\n".join(["SSSSS"] * 5),
        "teleports": {(0, 1): ((4, 1), 10.0), (0, 3): ((2, 3), 5.0)},
        "bump_reward": -1.0,
        "continuing": True,
    },
    # Example 6.5; exercise 6.9 adds moves=8 ("king's moves") and stay=True.
    "WindyGridWorld-v0": {
        "map": WINDY_GRID,
        "wind": (0, 0, 0, 1, 1, 1, 2, 2, 1, 0),
        "step_reward": -1.0,
        "goal_reward": 0.0,
    },
    # Example 6.6: -1 a step, -100 in all for the step over the cliff.
    "CliffGridWorld-v0": {"map": CLIFF_GRID, "step_reward": -1.0, "goal_reward": 0.0, "cliff_reward": -99.0},
    # Example 8.1, discount 0.95 there.
    "DynaMaze-v0": {"map": DYNA_MAZE},
    # Figure 8.4: the way round the right end closes after 1000 steps and one round the left end opens.
    "BlockingMaze-v0": {"map": (OPEN_RIGHT, OPEN_LEFT), "change_at": (1000,)},
    # Figure 8.5: after 3000 steps a shorter way opens on the right.
    "ShortcutMaze-v0": {"map": (OPEN_LEFT, OPEN_BOTH), "change_at": (3000,)},
    # Sutton, Precup and Singh, Artificial Intelligence 112 (1999), section 3.
    "FourRooms-v0": {"map": FOUR_ROOMS},
}

SUMMARIES: dict[str, str] = {
    "GridWorld-v0": "8 x 12 empty cells, from the bottom right to the top left.",
    "TeleportGrid-v0": "two cells that teleport and pay, a continuing task.",
    "WindyGridWorld-v0": "an upward wind of a strength for each column.",
    "CliffGridWorld-v0": "a cliff along the short way, as a map.",
    "DynaMaze-v0": "the maze that Dyna-Q plans in.",
    "BlockingMaze-v0": "the way closes after 1000 steps and another opens.",
    "ShortcutMaze-v0": "a shorter way opens after 3000 steps.",
    "FourRooms-v0": "four rooms with a door between each two.",
    "CustomGrid-v0": "a map of your own: --env.map FILE.",
}
"""{id: what it is}, in one line."""
