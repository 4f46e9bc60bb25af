"""MiniGrid's MultiRoom, room by room: which are in the grid, which overlap, and what is drawn of the next one."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.envs.minigrid.cells import CLOSED_DOOR, GREY_WALL, NOTHING
from kousoku.envs.minigrid.multi_room import BOTTOM, LEFT, RIGHT, TOP, Room, first_room, next_room, with_doors

KEY = jax.random.key(0)
MANY = 2000


def room(x, y, width, height, door_x=0, door_y=0, entry=LEFT):
    return Room(*(jnp.int32(number) for number in (x, y, width, height, door_x, door_y, entry)))


def even(counts, kinds):
    """Asserts that so many kinds were drawn, each as often as the others within six deviations."""
    assert len(counts) == kinds, counts
    expected = sum(counts.values()) / kinds
    assert max(abs(n - expected) for n in counts.values()) < 6 * np.sqrt(expected), counts


@pytest.mark.parametrize(
    ("x", "y", "width", "height", "inside"),
    [
        (0, 0, 4, 4, True),
        (-1, 0, 4, 4, False),
        (0, -1, 4, 4, False),
        (21, 0, 4, 4, True),
        (22, 0, 4, 4, False),
        (0, 20, 4, 4, True),
        (0, 21, 4, 4, False),  # the last row is left out
        (15, 14, 10, 10, True),
    ],
)
def test_a_room_is_in_the_grid_or_not(x, y, width, height, inside):
    assert bool(room(x, y, width, height).is_inside()) == inside


@pytest.mark.parametrize(
    ("x", "y", "overlaps"),
    [
        (10, 10, True),
        (13, 13, True),
        (14, 10, False),
        (10, 14, False),
        (6, 10, True),  # side by side: to the left of another a line has to be free
        (5, 10, False),
        (10, 6, True),
        (10, 5, False),
        (14, 14, False),
    ],
)
def test_rooms_overlap_or_touch(x, y, overlaps):
    others = jax.tree.map(lambda a, b: jnp.stack([a, b]), room(10, 10, 4, 4), room(0, 0, 1, 1))
    assert room(x, y, 4, 4).overlaps(others).tolist() == [overlaps, False]


def test_a_room_covers_its_walls_and_all_between():
    covered = np.asarray(room(3, 5, 4, 6).covers(jnp.zeros((25, 25), jnp.uint8)))
    wanted = np.zeros((25, 25), bool)
    wanted[3:7, 5:11] = True
    np.testing.assert_array_equal(covered, wanted)


@pytest.mark.parametrize("max_size", [4, 7])
def test_the_first_room_is_anywhere_and_of_any_size(max_size):
    rooms = jax.jit(jax.vmap(lambda key: first_room(key, max_size)))(jax.random.split(KEY, MANY))
    for size in (rooms.width, rooms.height):
        counts = Counter(size.tolist())
        assert set(counts) == set(range(4, max_size + 1))
        even(counts, max_size - 3)
    even(Counter(zip(rooms.width.tolist(), rooms.height.tolist(), strict=True)), (max_size - 3) ** 2)
    for place in (rooms.x, rooms.y):
        assert set(place.tolist()) == set(range(23))
        even(Counter(place.tolist()), 23)
    assert rooms.door_x.tolist() == rooms.x.tolist()
    assert rooms.door_y.tolist() == rooms.y.tolist()
    assert set(rooms.entry.tolist()) == {LEFT}


@pytest.mark.parametrize("entry", [RIGHT, BOTTOM, LEFT, TOP])
def test_the_next_room_is_behind_a_wall_without_an_entry(entry):
    """Its door is in its own wall and in that of the last room, in no corner of either."""
    last = room(10, 8, 5, 7, entry=entry)
    words = jax.random.bits(KEY, (MANY, 5), jnp.uint32)
    rooms = jax.tree.map(np.asarray, jax.jit(jax.vmap(lambda word: next_room(last, 6, word)))(words))
    even(Counter(rooms.entry.tolist()), 3)
    assert (entry + 2) % 4 not in rooms.entry  # opposite is the wall that has the last room's entry
    for size in (rooms.width, rooms.height):
        even(Counter(size.tolist()), 3)
        assert set(size.tolist()) == {4, 5, 6}
    even(Counter(zip(rooms.width.tolist(), rooms.height.tolist(), strict=True)), 9)
    walls = {  # of the last room, by the entry of the next: column and row of the door, and the next room's far side
        LEFT: (14, None), RIGHT: (10, None), TOP: (None, 14), BOTTOM: (None, 8),
    }  # fmt: skip
    for side, (column, row) in walls.items():
        of_side = rooms.entry == side
        x, y, width, height = (part[of_side] for part in (rooms.x, rooms.y, rooms.width, rooms.height))
        door_x, door_y = rooms.door_x[of_side], rooms.door_y[of_side]
        if not of_side.any():
            continue
        if column is not None:
            assert set(door_x.tolist()) == {column}
            even(Counter(door_y.tolist()), 5)
            assert set(door_y.tolist()) == set(range(9, 14))
            np.testing.assert_array_equal(x, column if side == LEFT else column - width + 1)
            even(Counter((door_y - y)[height == 6].tolist()), 4)
            assert ((door_y > y) & (door_y < y + height - 1)).all()
        else:
            assert set(door_y.tolist()) == {row}
            even(Counter(door_x.tolist()), 3)
            assert set(door_x.tolist()) == {11, 12, 13}
            np.testing.assert_array_equal(y, row if side == TOP else row - height + 1)
            even(Counter((door_x - x)[width == 6].tolist()), 4)
            assert ((door_x > x) & (door_x < x + width - 1)).all()


def test_walls_are_built_and_each_door_has_another_colour_than_the_last():
    rooms = jax.tree.map(
        lambda *parts: jnp.stack(parts), room(0, 0, 4, 4), room(3, 0, 4, 4, 3, 1), room(6, 0, 4, 4, 6, 2)
    )
    empty = jnp.full((25, 25), NOTHING, jnp.uint8)
    words = jax.random.bits(KEY, (MANY, 3), jnp.uint32)
    cells = np.array(jax.jit(jax.vmap(lambda word: with_doors(empty, rooms, word)))(words))
    doors = cells[:, [3, 6], [1, 2]]
    assert (doors & 15 == CLOSED_DOOR).all()
    even(Counter(map(tuple, (doors >> 4).tolist())), 6 * 5)
    assert (doors[:, 0] != doors[:, 1]).all()
    wanted = np.full((25, 25), NOTHING)
    wanted[:10, :4] = GREY_WALL
    for x in (1, 4, 7):
        wanted[x : x + 2, 1:3] = NOTHING
    cells[:, [3, 6], [1, 2]] = GREY_WALL
    np.testing.assert_array_equal(cells, np.broadcast_to(wanted, cells.shape))
