"""What MiniGrid's Unlock, UnlockPickup and Dynamic-Obstacles draw: what there is, where it may be, in which colours."""

from collections import Counter

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.envs.minigrid.cells import BALL, BLUE_BALL, BOX, GREEN_GOAL, GREY_WALL, KEY, LOCKED_DOOR, NOTHING

MANY = 600


def drawn(env, keys=MANY):
    return jax.device_get(jax.jit(jax.vmap(lambda key: env.layout(key)))(jax.random.split(jax.random.key(0), keys)))


def places(cells, kind):
    """Where the one cell of a kind is in each grid, and its colour."""
    at = np.argwhere(cells & 15 == kind)
    np.testing.assert_array_equal(at[:, 0], np.arange(len(cells)))
    x, y = at[:, 1:].T
    return zip_list(x.tolist(), y.tolist()), (cells[at[:, 0], x, y] >> 4).tolist()


def assert_even(found, kinds):
    """Checks that each of the kinds was found about as often as the others, and no other."""
    counts, expected = Counter(found), len(found) / len(kinds)
    assert set(counts) == set(kinds)
    assert max(abs(n - expected) for n in counts.values()) < 6 * np.sqrt(expected), counts


def assert_unrelated(one, other):
    """Checks that the one is drawn with nearly all of the other, as far as there are draws enough."""
    kinds = len(set(one)) * len(set(other))
    assert len({*zip_list(one, other)}) > 0.9 * kinds * (1.0 - np.exp(-len(one) / kinds))


def zip_list(one, other):
    return list(zip(one, other, strict=True))


@pytest.mark.parametrize("id", ["MiniGrid-Unlock-v0", "MiniGrid-UnlockPickup-v0"])
def test_a_locked_door_is_between_two_rooms_and_its_key_in_the_left_one(id):
    env = ks.make(id)
    layouts, with_box = drawn(env), "Pickup" in id
    cells, colors = layouts.cells, range(6)
    left = [(x, y) for x in range(1, 5) for y in range(1, 5)]
    doors, door_colors = places(cells, LOCKED_DOOR)
    keys, key_colors = places(cells, KEY)
    assert_even(doors, [(5, y) for y in range(1, 5)])
    assert_even(keys, left)
    assert key_colors == door_colors
    assert_unrelated(keys, doors)
    assert_unrelated(keys, key_colors)
    agents = zip_list(layouts.x.tolist(), layouts.y.tolist())
    assert set(agents) == set(left)
    assert not any(map(tuple.__eq__, agents, keys))
    assert set(layouts.direction.tolist()) == set(range(4))
    if with_box:
        boxes, box_colors = places(cells, BOX)
        right = [(x, y) for x in range(6, 10) for y in range(1, 5)]
        assert_even(boxes, [(x, y) for x, y in right if abs(x - 8) + abs(y - 3) > 1])  # MiniGrid's agent is in the way
        assert layouts.mission.tolist() == box_colors
        assert_unrelated(boxes, box_colors)
        assert_unrelated(boxes, keys)
        assert_even(zip_list(box_colors, door_colors), [(box, door) for box in colors for door in colors])
        cells = np.where(cells & 15 == BOX, NOTHING, cells)
    else:
        assert_even(door_colors, colors)
        assert not layouts.mission.any()
    cells = np.where(cells & 15 == KEY, NOTHING, cells)
    cells = np.where(cells & 15 == LOCKED_DOOR, GREY_WALL, cells)
    walls = np.full((11, 6), NOTHING)
    walls[[0, 5, 10]] = walls[:, [0, 5]] = GREY_WALL
    np.testing.assert_array_equal(cells, np.broadcast_to(walls, cells.shape))


@pytest.mark.parametrize(("size", "given", "balls"), [(5, 3, 3), (5, 4, 2), (6, 4, 4), (6, 5, 3), (7, 64, 3)])
def test_more_balls_than_half_the_size_and_one_are_taken_as_half_the_size(size, given, balls):
    env = ks.make("MiniGrid-Dynamic-Obstacles-6x6-v0", size=size, n_obstacles=given)
    assert jax.eval_shape(env.layout, jax.random.key(0)).obstacles.shape == (balls, 2)


@pytest.mark.parametrize(("size", "balls", "anywhere"), [(5, 3, False), (7, 4, True)])
def test_balls_are_anywhere_but_on_each_other_the_agent_and_the_goal(size, balls, anywhere):
    layouts = drawn(ks.make("MiniGrid-Dynamic-Obstacles-6x6-v0", size=size, n_obstacles=balls, random_start=anywhere))
    assert layouts.obstacles.shape == (MANY, balls, 2)
    inside = {(x, y) for x in range(1, size - 1) for y in range(1, size - 1)} - {(size - 2, size - 2)}
    agents = zip_list(layouts.x.tolist(), layouts.y.tolist())
    for agent, cells, at in zip(agents, layouts.cells, layouts.obstacles, strict=True):
        there = {*map(tuple, at.tolist())}
        assert there == {*map(tuple, np.argwhere(cells & 15 == BALL).tolist())}
        assert len(there) == balls
        assert there <= inside - {agent}
        assert cells[size - 2, size - 2] == GREEN_GOAL
        assert {cells[place] for place in there} == {BLUE_BALL}
    for ball in range(balls):
        assert {*map(tuple, layouts.obstacles[:, ball].tolist())} == inside - (set() if anywhere else {(1, 1)})
    walls = np.full((size, size), NOTHING)
    walls[[0, -1]] = walls[:, [0, -1]] = GREY_WALL
    walls[-2, -2] = GREEN_GOAL
    np.testing.assert_array_equal(np.where(layouts.cells == BLUE_BALL, NOTHING, layouts.cells), [walls] * MANY)
