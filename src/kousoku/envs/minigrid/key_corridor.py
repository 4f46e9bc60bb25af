"""MiniGrid's KeyCorridor: a hallway between rooms, one of which is locked, and its key in another."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from ...ops.exploration import pick, uniform_index
from ..fields import count
from .cells import BALL, CLOSED_DOOR, KEY, LOCKED_DOOR, NOTHING, Cells, Flag, Whole, cell_at, kind_of, put
from .env import PICKUP, MiniGrid, MiniGridState
from .layout import Layout, words_of
from .rooms import RoomGrid, any_color, colored


class KeyCorridor(MiniGrid):
    """MiniGrid-KeyCorridor: find the key in a room on the left, unlock a room on the right, pick up the ball in it.

    Attributes:
        room_size: cells of a room's side, walls included.
        num_rows: rooms on each side of the hallway.

    Examples:
        >>> KeyCorridor(room_size=3, num_rows=2).shape, KeyCorridor(room_size=3, num_rows=2).time_limit
        ((7, 5), 270)
    """

    room_size: int = count("room_size", 6, 3, 12)
    num_rows: int = count("num_rows", 3, 1, 5)

    mission_text: ClassVar[str] = "pick up the {color} ball"

    @property
    def shape(self) -> tuple[int, int]:
        """Three columns of rooms."""
        return self._rooms.shape

    @property
    def package_time_limit(self) -> int:
        """Thirty steps a cell of a room."""
        return 30 * self.room_size**2

    @property
    def _rooms(self) -> RoomGrid:
        return RoomGrid(self.room_size, self.num_rows, num_cols=3)

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the locked room, the ball in it, its key, the agent, and doors until every room can be reached."""
        own_key, door_key = jax.random.split(key)
        room_word, color_word, door_word, ball_word, ball_color, key_row, key_word, agent_word = words_of(own_key, 8)
        rooms, locked = self._rooms, uniform_index(room_word, self.num_rows)
        walls = rooms.walls()
        walls[rooms.stride + 1 : 2 * rooms.stride, rooms.stride : -1 : rooms.stride] = NOTHING
        color, of_ball = any_color(color_word), any_color(ball_color)
        cells = jnp.asarray(walls)
        cells = put(cells, 2 * rooms.stride, rooms.along_wall(door_word, locked), colored(LOCKED_DOOR, color))
        cells = put(cells, *rooms.place_in_room(cells, 2, locked, ball_word), colored(BALL, of_ball))
        row = uniform_index(key_row, self.num_rows)
        cells = put(cells, *rooms.place_in_room(cells, 0, row, key_word), colored(KEY, color))
        x, y, direction = rooms.place_agent(cells, 1, self.num_rows // 2, agent_word)
        return Layout(connected(rooms, cells, locked, door_key), x, y, direction, of_ball)

    def succeeded(self, action: Whole, front: Whole, state: MiniGridState) -> Flag:
        """Returns whether the ball was picked up; there is one only."""
        return (action == PICKUP) & (kind_of(state.carrying) == BALL)


def connected(rooms: RoomGrid, cells: Cells, locked: Whole, key: PRNGKeyArray) -> Cells:
    """Puts doors into walls at random, one after the other, until every room can be reached from the hallway.

    Walls that may get one come in four groups: from the hallway to the left rooms and to the right ones, one for each
    row; between the left rooms, and between the right ones. Those of the locked room stay as they are.
    """
    rows = rooms.num_rows
    wall_key, place_key, color_key = jax.random.split(key, 3)
    num_walls = 4 * rows - 2
    row = np.concatenate([np.arange(rows), np.arange(rows), np.arange(rows - 1), np.arange(rows - 1)]).astype(np.int32)
    across = np.arange(num_walls) < 2 * rows
    right = np.repeat([False, True, False, True], [rows, rows, rows - 1, rows - 1])
    allowed = ~(right & ((row == locked) | (~across & (row + 1 == locked))))
    doors = _doors(rows, allowed, locked, jax.random.bits(wall_key, (num_walls,), jnp.uint32))

    def put_door(cells: Cells, wall: tuple[Array, ...]) -> tuple[Cells, None]:
        is_door, is_across, is_right, row, along, color = wall
        offset = 1 + uniform_index(along, rooms.room_size - 2)
        side = jnp.where(is_right, 2 * rooms.stride, 0)
        x = jnp.where(is_across, jnp.where(is_right, side, rooms.stride), side + offset)
        y = jnp.where(is_across, row * rooms.stride + offset, (row + 1) * rooms.stride)
        door = colored(CLOSED_DOOR, any_color(color))
        return put(cells, x, y, jnp.where(is_door, door, cell_at(cells, x, y))), None

    along, colors = (jax.random.bits(k, (num_walls,), jnp.uint32) for k in (place_key, color_key))
    walls = (doors, jnp.asarray(across), jnp.asarray(right), jnp.asarray(row), along, colors)
    return jax.lax.scan(put_door, cells, walls)[0]


def _doors(rows: int, allowed: Bool[Array, " n"], locked: Whole, words: UInt32[Array, " n"]) -> Bool[Array, " n"]:
    """Draws which walls have a door: one of the walls without, until every room can be reached."""
    numbers: Int[np.ndarray, " n"] = np.arange(4 * rows - 2, dtype=np.int32)
    behind_lock = np.arange(rows, dtype=np.int32) == locked

    def add(doors: Bool[Array, " n"], word: UInt32[Array, ""]) -> tuple[Bool[Array, " n"], None]:
        left, right = doors[:rows], doors[rows : 2 * rows] | behind_lock
        above_left, above_right = doors[2 * rows : 3 * rows - 1], doors[3 * rows - 1 :]
        done = jnp.all(reached(left, above_left)) & jnp.all(reached(right, above_right))
        return doors | ((numbers == pick(allowed & ~doors, word)) & ~done), None

    return jax.lax.scan(add, jnp.zeros(len(numbers), bool), words)[0]


def reached(from_hallway: Bool[Array, " rows"], below: Bool[Array, " rows_1"]) -> Bool[Array, " rows"]:
    """Tells which rooms of a side can be reached, by doors from the hallway and doors to the room below."""
    rooms, closed = from_hallway, jnp.zeros(1, bool)
    down, up = jnp.concatenate([closed, below]), jnp.concatenate([below, closed])
    for _ in range(len(from_hallway) - 1):
        rooms = rooms | (down & jnp.roll(rooms, 1)) | (up & jnp.roll(rooms, -1))
    return rooms
