"""Beginnings of episodes: walls, and things that are put on one of the cells that are free, each equally likely.

MiniGrid draws cells until one is free; here one of the free cells is drawn, which is the same distribution.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8, UInt32

from ...ops.exploration import pick, uniform_index
from .cells import EMPTY, GREEN_GOAL, GREY_WALL, NOTHING, WALL, Cells, Whole, is_any, kind_of

Mask = Bool[Array, "width height"]
Word = UInt32[Array, ""]


class Layout(eqx.Module):
    """Places of everything before the first step.

    Attributes:
        cells: [width, height] bytes, see `cells`.
        x, y: the agent's cell, from the top left.
        direction: where it looks: 0 right, 1 down, 2 left, 3 up.
        mission: the colour that the mission names, 0 to 5; 0 where it names none.
        obstacles: [n, 2] cells of the balls that roll, in the order in which they do; None where there are none.
    """

    cells: Cells
    x: Whole
    y: Whole
    direction: Whole
    mission: Whole
    obstacles: Int[Array, "n 2"] | None = None


def words_of(key: PRNGKeyArray, count: int) -> list[Word]:
    """Returns random words, each to be used once."""
    return list(jax.random.bits(key, (count,), jnp.uint32))


def walled(width: int, height: int) -> UInt8[np.ndarray, "width height"]:
    """Returns an empty grid with walls around it."""
    cells = np.full((width, height), NOTHING, np.uint8)
    cells[[0, -1], :] = GREY_WALL
    cells[:, [0, -1]] = GREY_WALL
    return cells


def room_with_goal(width: int, height: int) -> UInt8[np.ndarray, "width height"]:
    """Returns an empty grid with walls around it, and the goal in its bottom right corner."""
    cells = walled(width, height)
    cells[-2, -2] = GREEN_GOAL
    return cells


def between(word: Word, low: Whole | int, stop: Whole | int) -> Whole:
    """Returns a whole number from low to stop - 1."""
    return low + uniform_index(word, stop - low)


def columns_and_rows(width: int, height: int) -> tuple[Int[np.ndarray, "width 1"], Int[np.ndarray, "1 height"]]:
    """Returns the coordinates of a grid's cells."""
    return np.arange(width, dtype=np.int32)[:, None], np.arange(height, dtype=np.int32)[None, :]


def is_cell(cells: Cells, x: Whole | int, y: Whole | int) -> Mask:
    """Tells which cell is that at (x, y): none if it is outside."""
    columns, rows = columns_and_rows(*cells.shape)
    return jnp.asarray((columns == x) & (rows == y))


def is_in(cells: Cells, x: Whole | int, y: Whole | int, width: Whole | int, height: Whole | int) -> Mask:
    """Tells which cells are in a rectangle whose top left cell is (x, y)."""
    columns, rows = columns_and_rows(*cells.shape)
    return jnp.asarray((columns >= x) & (columns < x + width) & (rows >= y) & (rows < y + height))


def is_free(cells: Cells) -> Mask:
    """Tells which cells are empty."""
    return cells == NOTHING


def place(where: Mask, word: Word) -> tuple[Whole, Whole]:
    """Returns one of the cells (x, y) where a mask is true."""
    index = pick(where.reshape(-1), word)
    return index // where.shape[1], index % where.shape[1]


def started(cells: Cells, random_start: bool, words: list[Word]) -> Layout:
    """Begins in an empty cell, looking anywhere, by two words; or in the top left corner, looking right."""
    x, y = place(is_free(cells), words[0]) if random_start else (jnp.int32(1), jnp.int32(1))
    direction = between(words[1], 0, 4) if random_start else jnp.int32(0)
    return Layout(cells, x, y, direction, jnp.int32(0))


def place_facing(cells: Cells, where: Mask, word: Word) -> tuple[Whole, Whole, Whole]:
    """Returns (x, y, direction): an empty cell where the mask is true, and before the agent nothing or a wall."""
    clear = is_any(kind_of(cells.astype(jnp.int32)), (EMPTY, WALL))
    ahead = [jnp.roll(clear, shift, axis) for shift, axis in ((-1, 0), (-1, 1), (1, 0), (1, 1))]
    choices = jnp.stack(ahead, axis=-1) & (where & is_free(cells))[..., None]
    index = pick(choices.reshape(-1), word)
    cell, direction = index // 4, index % 4
    return cell // cells.shape[1], cell % cells.shape[1], direction
