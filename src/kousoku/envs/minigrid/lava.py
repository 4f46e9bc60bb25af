"""MiniGrid's gaps and crossings: lava, or walls, with few ways through."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from ...core.errors import ConfigError
from ...ops.exploration import pick, uniform_index
from ..fields import count
from .cells import GREY_WALL, NOTHING, RED_LAVA, Flag, Whole, put
from .env import SquareGrid
from .layout import Layout, between, columns_and_rows, room_with_goal, started, words_of

AVOID = "avoid the lava and get to the green goal square"
FIND = "find the opening and get to the green goal square"


class LavaGap(SquareGrid):
    """MiniGrid-LavaGap: a strip of lava from wall to wall, with one gap.

    Attributes:
        size: cells of a side, walls included.

    Examples:
        >>> LavaGap(size=5).time_limit
        100
    """

    size: int = count("size", 7, 5, 64)

    mission_text: ClassVar[str] = AVOID

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the strip's column and the gap's row."""
        column_word, row_word = words_of(key, 2)
        walls = room_with_goal(*self.shape)
        columns, rows = columns_and_rows(*self.shape)
        x, y = between(column_word, 2, self.size - 2), between(row_word, 1, self.size - 1)
        strip = (columns == x) & (rows > 0) & (rows < self.size - 1)
        cells = jnp.where(strip, RED_LAVA, walls).astype(jnp.uint8)
        return started(put(cells, x, y, NOTHING), False, [])


class Crossing(SquareGrid):
    """Rivers of lava, or walls, from side to side of a room; there is a way through all of them, by one gap in each.

    Attributes:
        size: cells of a side, walls included; odd.
        num_crossings: how many rivers cross the room.
    """

    size: int = count("size", 9, 5, 63)
    num_crossings: int = count("num_crossings", 1, 1, 60)

    obstacle: ClassVar[int]

    def __check_init__(self) -> None:
        if self.size % 2 == 0:
            raise ConfigError("size", self.size, f"use an odd number, such as {self.size + 1}")
        if self.num_crossings > self.size - 3:
            raise ConfigError(
                "num_crossings", self.num_crossings, f"use at most {self.size - 3}, as size is {self.size}"
            )

    def layout(self, key: PRNGKeyArray) -> Layout:
        """Draws the rivers, then the gaps along a way through them."""
        river_key, way_key = jax.random.split(key)
        walls = room_with_goal(*self.shape)
        columns, rows = columns_and_rows(*self.shape)
        upright, level = self._rivers(jax.random.bits(river_key, (self.num_crossings,), jnp.uint32))
        inside = (columns > 0) & (columns < self.size - 1) & (rows > 0) & (rows < self.size - 1)
        flooded = inside & (upright[:, None] | level[None, :])
        cells = jnp.where(flooded, self.obstacle, walls).astype(jnp.uint8)
        xs, ys = way_through(upright, level, jax.random.bits(way_key, (self.num_crossings, 2), jnp.uint32))
        gaps = jnp.any((columns[None] == xs[:, None, None]) & (rows[None] == ys[:, None, None]), axis=0)
        return started(jnp.where(gaps, NOTHING, cells).astype(jnp.uint8), False, [])

    def _rivers(self, words: UInt32[Array, " n"]) -> tuple[Bool[Array, " size"], Bool[Array, " size"]]:
        """Draws in which columns and which rows rivers are: a subset of the even ones, each equally likely."""
        at = np.arange(self.size)
        even = jnp.asarray(np.tile((at >= 2) & (at < self.size - 2) & (at % 2 == 0), 2))

        def flood(rivers: Bool[Array, " n"], word: UInt32[Array, ""]) -> tuple[Bool[Array, " n"], None]:
            chosen = pick(even & ~rivers, word)
            return rivers | (np.arange(2 * self.size, dtype=np.int32) == chosen), None

        rivers, _ = jax.lax.scan(flood, jnp.zeros(2 * self.size, bool), words)
        return rivers[: self.size], rivers[self.size :]


class LavaCrossing(Crossing):
    """MiniGrid-LavaCrossing: rivers of lava.

    Examples:
        >>> LavaCrossing(size=9, num_crossings=2).time_limit
        324
    """

    obstacle: ClassVar[int] = RED_LAVA
    mission_text: ClassVar[str] = AVOID


class SimpleCrossing(Crossing):
    """MiniGrid-SimpleCrossing: walls.

    Examples:
        >>> SimpleCrossing(size=11, num_crossings=5).time_limit
        484
    """

    obstacle: ClassVar[int] = GREY_WALL
    mission_text: ClassVar[str] = FIND


def way_through(
    upright: Bool[Array, " size"], level: Bool[Array, " size"], words: UInt32[Array, "n 2"]
) -> tuple[Int[Array, " n"], Int[Array, " n"]]:
    """Draws a way from the top left room to the bottom right one: returns where it crosses each river, (x, y).

    A room lies between neighbouring rivers. The way goes right or down, in an order of which each is equally likely,
    and crosses a side of its room anywhere.
    """
    size = len(upright)
    at = np.arange(size, dtype=np.int32)

    def rest(rivers: Bool[Array, " size"], last: Whole) -> tuple[Whole, Whole]:
        """Returns how many rivers are beyond the last one, and where the next is: the wall if there is none."""
        beyond = rivers & (at > last)
        return jnp.sum(beyond, dtype=jnp.int32), jnp.min(jnp.where(beyond, at, size - 1))

    def cross(room: tuple[Whole, Whole], words: UInt32[Array, " 2"]) -> tuple[tuple[Whole, Whole], tuple[Whole, Whole]]:
        left, top = room
        num_right, right = rest(upright, left)
        num_down, bottom = rest(level, top)
        goes_right: Flag = uniform_index(words[0], num_right + num_down) < num_right
        x = jnp.where(goes_right, right, between(words[1], left + 1, right))
        y = jnp.where(goes_right, between(words[1], top + 1, bottom), bottom)
        return (jnp.where(goes_right, x, left), jnp.where(goes_right, top, y)), (x, y)

    return jax.lax.scan(cross, (jnp.int32(0), jnp.int32(0)), words)[1]
