"""Random mazes: trees by seed, all of a piece, never of an absurd size."""

import numpy as np
import pytest
from fresh_process import refusals

import kousoku as ks
from kousoku.envs.gridworld.maze import maze_map

SIZES = [(3, 5), (5, 3), (7, 7), (5, 21), (21, 21), (41, 31)]


def floor(rows: tuple[str, ...]) -> set[tuple[int, int]]:
    return {(r, c) for r, row in enumerate(rows) for c, glyph in enumerate(row) if glyph != "#"}


def ways(cells: set[tuple[int, int]]) -> int:
    """Pairs of cells that lie side by side."""
    return sum((r + dr, c + dc) in cells for r, c in cells for dr, dc in ((0, 1), (1, 0)))


def connected(cells: set[tuple[int, int]]) -> bool:
    frontier = [min(cells)]
    seen = set(frontier)
    while frontier:
        r, c = frontier.pop()
        fresh = {(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)} & cells - seen
        seen |= fresh
        frontier += fresh
    return seen == cells


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_loops_a_maze_is_a_spanning_tree_inside_a_frame(height, width, seed):
    rows = maze_map(height, width, seed)
    cells = floor(rows)
    assert (len(rows), {len(row) for row in rows}) == (height, {width})
    assert {(r, c) for r in range(1, height, 2) for c in range(1, width, 2)} <= cells
    assert not {(r, c) for r in range(0, height, 2) for c in range(0, width, 2)} & cells
    assert all(0 < r < height - 1 and 0 < c < width - 1 for r, c in cells)
    assert connected(cells)
    assert ways(cells) == len(cells) - 1
    assert (rows[1][1], rows[height - 2][width - 2]) == ("S", "G")
    assert "".join(rows).count("S") == "".join(rows).count("G") == 1


@pytest.mark.parametrize("loops", [0.1, 0.5, 1.0])
def test_loops_open_that_share_of_the_walls_between_cells(loops):
    tree, opened = floor(maze_map(21, 31, 4)), floor(maze_map(21, 31, 4, loops))
    inner = [(r, c) for r in range(1, 20) for c in range(1, 30) if r % 2 != c % 2]
    closed = sum(cell not in tree for cell in inner)
    assert tree < opened
    assert len(opened - tree) == round(loops * closed)
    assert opened - tree <= set(inner)
    assert connected(opened)


def test_a_maze_is_its_seed_s():
    assert maze_map(15, 15, 7) == maze_map(15, 15, 7)
    assert maze_map(15, 15, 7, 0.3) == maze_map(15, 15, 7, 0.3)
    assert len({maze_map(15, 15, seed) for seed in range(50)}) == 50
    before = np.random.get_state()[1].tolist()
    maze_map(9, 9, 1)
    assert np.random.get_state()[1].tolist() == before


def test_turns_are_random():
    """Two by two cells have two depth-first trees from a corner, one for each first turn."""
    trees = [maze_map(5, 5, seed) for seed in range(200)]
    counts = [trees.count(tree) for tree in set(trees)]
    assert len(counts) == 2
    assert min(counts) > 70


def test_a_maze_is_an_environment_with_its_options():
    env = ks.make("Maze-v0", height=7, width=9, seed=3, loops=0.0, slip=0.1, step_reward=-1.0, observation="window")
    assert env.layout.rows == maze_map(7, 9, 3)
    assert env.observation_space.shape == (5, 5, 4)
    assert env.rules.slip == 0.1
    assert env.rules.step_reward == -1.0
    assert ks.make("Maze-v0").layout.rows == maze_map(21, 21, 0, 0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"height": 10}, "height: got 10; use an odd number, such as 11"),
        ({"width": 4}, "width: got 4; use an odd number, such as 5"),
        ({"height": 1}, "height: got 1; use a whole number of at least 3"),
        ({"width": -7}, "width: got -7; use a whole number of at least 3"),
        ({"height": 3, "width": 3}, "height x width: got '3 x 3'; leave room for a start and a goal"),
        ({"height": 10**9 + 1}, "height x width: got '1000000001 x 21'; use at most 1048576 cells"),
        ({"height": 1025, "width": 1025}, "height x width: got '1025 x 1025'; use at most 1048576 cells"),
        ({"seed": -1}, "seed: got -1; use a whole number of at least 0"),
        ({"loops": 1.1}, "loops: got 1.1; use a number in [0, 1]"),
        ({"loops": float("nan")}, "loops: got nan; use a number in [0, 1]"),
    ],
)
def test_absurd_mazes_are_refused_in_one_line(options, message):
    with pytest.raises(ks.ConfigError) as caught:
        ks.make("Maze-v0", **options)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_values_of_another_kind_are_refused_as_well_where_nothing_checks_types():
    calls = {
        "height: got '9'; use a whole": "maze_map('9')",
        "width: got 9.5; use a whole": "maze_map(9, 9.5)",
        "seed: got None; use a whole": "maze_map(9, 9, None)",
        "seed: got 1.5; use a whole": "maze_map(9, 9, 1.5)",
        "loops: got '0'; use a number": "maze_map(9, 9, 0, '0')",
    }
    setup = "from kousoku.envs.gridworld.maze import maze_map; assert maze_map(9.0, 7.0, 2.0) == maze_map(9, 7, 2)"
    for start, message in refusals(calls, setup).items():
        assert message.startswith(start), message
