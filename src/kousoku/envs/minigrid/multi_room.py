"""MiniGrid's MultiRoom: a chain of rooms of random sizes and places, with a door from each to the next."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from ...ops.exploration import uniform_index
from ...ops.trees import select
from ..fields import count
from .cells import CLOSED_DOOR, GREEN_GOAL, GREY_WALL, NOTHING, NUM_COLORS, Cells, Flag, Whole, put
from .env import MiniGrid
from .layout import Layout, between, columns_and_rows, is_cell, is_free, is_in, place, words_of
from .rooms import colored

SIDE = 25
SMALLEST = 4
TRIES = 8
"""Exits that are tried for a room until the next one fits behind it."""
RIGHT, BOTTOM, LEFT, TOP = range(4)


class MultiRoom(MiniGrid):
    """MiniGrid-MultiRoom: walk through all rooms; the goal is in the last one.

    Attributes:
        num_rooms: how many rooms.
        max_room_size: cells of the longest side, walls included; the shortest has 4.

    Examples:
        >>> MultiRoom(num_rooms=2, max_room_size=4).time_limit
        40
    """

    num_rooms: int = count("num_rooms", 6, 1, 6)
    max_room_size: int = count("max_room_size", 10, SMALLEST, 10)

    mission_text: ClassVar[str] = "traverse the rooms to get to the goal"

    @property
    def shape(self) -> tuple[int, int]:
        """25 x 25, most of it outside the rooms."""
        return SIDE, SIDE

    @property
    def package_time_limit(self) -> int:
        """Twenty steps a room."""
        return 20 * self.num_rooms

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws chains until all rooms have found a place, then doors, agent and goal."""
        chain_key, own_key = jax.random.split(key)
        rooms = self._chain(chain_key)
        *colors, agent_word, direction_word, goal_word = words_of(own_key, self.num_rooms + 3)
        cells = with_doors(jnp.full(self.shape, NOTHING, jnp.uint8), rooms, jnp.stack(colors))
        first, last = (jax.tree.map(lambda x, i=i: x[i], rooms) for i in (0, -1))
        x, y = place(first.covers(cells) & is_free(cells), agent_word)
        goal = place(last.covers(cells) & is_free(cells) & ~is_cell(cells, x, y), goal_word)
        return Layout(put(cells, *goal, GREEN_GOAL), x, y, between(direction_word, 0, 4), jnp.int32(0))

    def _chain(self, key: PRNGKeyArray) -> Room:
        """Draws rooms [num_rooms] one behind the other: all anew until each has a place."""

        def again(attempt: tuple[Whole, Flag, Room]) -> tuple[Whole, Flag, Room]:
            number, _, _ = attempt
            complete, rooms = self._attempt(jax.random.fold_in(key, number))
            return number + 1, complete, rooms

        none = jax.tree.map(lambda x: jnp.zeros(self.num_rooms, x.dtype), first_room(key, self.max_room_size))
        return jax.lax.while_loop(lambda attempt: ~attempt[1], again, (jnp.int32(0), jnp.array(False), none))[2]

    def _attempt(self, key: PRNGKeyArray) -> tuple[Flag, Room]:
        """Draws rooms, and tells whether all have a place."""
        first_key, others_key = jax.random.split(key)
        first = first_room(first_key, self.max_room_size)
        numbers = jnp.arange(self.num_rooms, dtype=jnp.int32)
        rooms = jax.tree.map(lambda x: jnp.where(numbers == 0, x, 0), first)
        complete = first.is_inside()
        words = jax.random.bits(others_key, (self.num_rooms - 1, TRIES, 5), jnp.uint32)

        def extend(chain: tuple[Flag, Room, Room], now: tuple[Whole, Array]) -> tuple[tuple[Flag, Room, Room], None]:
            complete, rooms, last = chain
            number, words = now

            def attempt(found: tuple[Flag, Room], words: UInt32[Array, " 5"]) -> tuple[tuple[Flag, Room], None]:
                room = next_room(last, self.max_room_size, words)
                # A room shares a wall with the one before; of those before that it overlaps none.
                overlaps = jnp.any(room.overlaps(rooms) & (numbers < number - 1))
                fits = ~found[0] & room.is_inside() & ~overlaps
                return (found[0] | fits, select(fits, room, found[1])), None

            (fits, room), _ = jax.lax.scan(attempt, (jnp.array(False), last), words)
            rooms = jax.tree.map(lambda x, new: jnp.where(numbers == number, new, x), rooms, room)
            return (complete & fits, rooms, room), None

        (complete, rooms, _), _ = jax.lax.scan(extend, (complete, rooms, first), (numbers[1:], words))
        return complete, rooms


class Room(eqx.Module):
    """A room, or several.

    Attributes:
        x, y: its top left cell.
        width, height: cells, walls included.
        door_x, door_y: its entry.
        entry: the wall in which that is: 0 right, 1 bottom, 2 left, 3 top.
    """

    x: Int[Array, "*n"]
    y: Int[Array, "*n"]
    width: Int[Array, "*n"]
    height: Int[Array, "*n"]
    door_x: Int[Array, "*n"]
    door_y: Int[Array, "*n"]
    entry: Int[Array, "*n"]

    def is_inside(self) -> Flag:
        """Returns whether it is in the grid; the last row is left out, as in the package."""
        return (self.x >= 0) & (self.y >= 0) & (self.x + self.width <= SIDE) & (self.y + self.height < SIDE)

    def overlaps(self, others: Room) -> Bool[Array, " n"]:
        """Tells which others it overlaps or touches: to their left and above them, a free line belongs to them."""
        beside = (self.x + self.width < others.x) | (others.x + others.width <= self.x)
        return ~(beside | (self.y + self.height < others.y) | (others.y + others.height <= self.y))

    def covers(self, cells: Cells) -> Bool[Array, "width height"]:
        """Tells which cells are in it or in its walls."""
        return is_in(cells, self.x, self.y, self.width, self.height)


def first_room(key: PRNGKeyArray, max_size: int) -> Room:
    """Draws the first room, which may reach beyond the grid."""
    x_word, y_word, width_word, height_word = words_of(key, 4)
    x, y = between(x_word, 0, SIDE - 2), between(y_word, 0, SIDE - 2)
    width, height = (between(word, SMALLEST, max_size + 1) for word in (width_word, height_word))
    return Room(x, y, width, height, x, y, jnp.int32(LEFT))


def next_room(last: Room, max_size: int, words: UInt32[Array, " 5"]) -> Room:
    """Draws a room behind one of the three walls of another in which there is no entry."""
    wall = uniform_index(words[0], 3)
    wall = wall + (wall >= last.entry).astype(jnp.int32)
    upright = (wall == RIGHT) | (wall == LEFT)
    along = between(words[1], 1, jnp.where(upright, last.height, last.width) - 1)
    door_x = last.x + jnp.where(upright, jnp.where(wall == RIGHT, last.width - 1, 0), along)
    door_y = last.y + jnp.where(upright, along, jnp.where(wall == BOTTOM, last.height - 1, 0))
    width, height = (between(word, SMALLEST, max_size + 1) for word in (words[2], words[3]))
    # The door is anywhere in the new room's wall but at a corner.
    before = between(words[4], 1, jnp.where(upright, height, width) - 1)
    x = door_x - jnp.where(upright, jnp.where(wall == LEFT, width - 1, 0), before)
    y = door_y - jnp.where(upright, before, jnp.where(wall == TOP, height - 1, 0))
    return Room(x, y, width, height, door_x, door_y, (wall + 2) & 3)


def with_doors(cells: Cells, rooms: Room, words: UInt32[Array, " n"]) -> Cells:
    """Builds the rooms' walls one after the other, each but the first with its entry in a colour unlike the last."""

    def build(
        built: tuple[Cells, Whole], now: tuple[Whole, Room, UInt32[Array, ""]]
    ) -> tuple[tuple[Cells, Whole], None]:
        cells, last_color = built
        number, room, word = now
        columns, rows = columns_and_rows(*cells.shape)
        inner = is_in(cells, room.x + 1, room.y + 1, room.width - 2, room.height - 2)
        cells = jnp.where(room.covers(cells) & ~inner, GREY_WALL, cells).astype(jnp.uint8)
        other = uniform_index(word, NUM_COLORS - 1)
        color = jnp.where(number == 1, uniform_index(word, NUM_COLORS), other + (other >= last_color).astype(jnp.int32))
        is_door = (number > 0) & (columns == room.door_x) & (rows == room.door_y)
        cells = jnp.where(is_door, colored(CLOSED_DOOR, color).astype(jnp.uint8), cells)
        return (cells, color), None

    numbers = jnp.arange(len(words), dtype=jnp.int32)
    return jax.lax.scan(build, (cells, jnp.int32(0)), (numbers, rooms, words))[0][0]
