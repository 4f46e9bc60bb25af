"""Rooms side by side, as MiniGrid's RoomGrid: walls, where doors may be, and things in a room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from ...ops.exploration import uniform_index
from .cells import GREY_WALL, NOTHING, NUM_COLORS, Cells, Whole
from .layout import Mask, Word, between, columns_and_rows, is_free, is_in, place, place_facing


class RoomGrid(NamedTuple):
    """A grid of square rooms that share their walls.

    Attributes:
        room_size: cells of a room's side, walls included.
        num_rows, num_cols: rooms below each other, and beside each other.
    """

    room_size: int
    num_rows: int
    num_cols: int

    @property
    def stride(self) -> int:
        """The cells from one room to the next."""
        return self.room_size - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Width and height of the grid."""
        return self.stride * self.num_cols + 1, self.stride * self.num_rows + 1

    def walls(self) -> UInt8[np.ndarray, "width height"]:
        """Returns the grid with the walls of all rooms."""
        cells = np.full(self.shape, NOTHING, np.uint8)
        cells[:: self.stride, :] = GREY_WALL
        cells[:, :: self.stride] = GREY_WALL
        return cells

    def along_wall(self, word: Word, room: Whole | int) -> Whole:
        """Draws where a door is along a wall of a room in that row, or column."""
        return room * self.stride + between(word, 1, self.room_size - 1)

    def room(self, cells: Cells, column: Whole | int, row: Whole | int) -> Mask:
        """Tells which cells are in a room or in its walls."""
        return is_in(cells, column * self.stride, row * self.stride, self.room_size, self.room_size)

    def place_in_room(self, cells: Cells, column: Whole | int, row: Whole | int, word: Word) -> tuple[Whole, Whole]:
        """Draws an empty cell of a room, none at or beside the middle of the middle room.

        There MiniGrid's agent stands while objects are put into rooms, and later it is put elsewhere.
        """
        columns, rows = columns_and_rows(*self.shape)
        x, y = (n // 2 * self.stride + self.room_size // 2 for n in (self.num_cols, self.num_rows))
        away = np.abs(columns - x) + np.abs(rows - y) >= 2
        return place(self.room(cells, column, row) & is_free(cells) & away, word)

    def place_agent(self, cells: Cells, column: int, row: int, word: Word) -> tuple[Whole, Whole, Whole]:
        """Draws (x, y, direction) in a room, such that nothing but a wall is right before the agent."""
        return place_facing(cells, self.room(cells, column, row), word)


def any_color(word: Word) -> Whole:
    """Draws a colour."""
    return uniform_index(word, NUM_COLORS)


def colored(kind: int, color: Whole) -> Whole:
    """Returns the byte of an object of a colour that is drawn."""
    return kind + 16 * color
