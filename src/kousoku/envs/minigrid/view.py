"""Views: the square before an agent, turned so that it looks up, without what walls and closed doors hide."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from .cells import GREY_WALL, HIDES, UNSEEN, Cells, Whole, is_any, kind_of

View = Int[Array, "size size"]
Seen = Bool[Array, "size size"]


def ahead(direction: Whole) -> tuple[Whole, Whole]:
    """Returns (dx, dy) of a step forward."""
    one = lambda code: (direction == code).astype(jnp.int32)  # noqa: E731
    return one(0) - one(2), one(1) - one(3)


def view_positions(x: Whole, y: Whole, direction: Whole, size: int) -> tuple[View, View]:
    """Returns the coordinates [size, size] of the cells in view: first index from left to right, second from afar.

    The agent is in the middle of the last row.
    """
    column, row = np.mgrid[:size, :size].astype(np.int32)
    forward, right = size - 1 - row, column - size // 2
    dx, dy = ahead(direction)
    return x + dx * forward - dy * right, y + dy * forward + dx * right


def look(cells: Cells, xs: View, ys: View) -> View:
    """Returns the cells at some coordinates, as int32: walls beyond the grid."""
    width, height = cells.shape
    inside = (xs >= 0) & (xs < width) & (ys >= 0) & (ys < height)
    at = jnp.where(inside, xs * height + ys, 0)
    found = cells.reshape(-1).at[at].get(mode="promise_in_bounds").astype(jnp.int32)
    return jnp.where(inside, found, GREY_WALL)


def visible(view: View) -> Seen:
    """Tells which cells of a view are seen: MiniGrid's `process_vis`, with a row's cells as the bits of a number.

    From the agent's row on to the farthest: light spreads from each cell that is seen and hides nothing to its
    neighbours to the right and beyond it, then to the left.
    """
    size = view.shape[0]
    bits = jnp.asarray(1 << np.arange(size, dtype=np.int32))
    clear = jnp.sum(jnp.where(is_any(kind_of(view), HIDES), 0, bits[:, None]), axis=0, dtype=jnp.int32)
    first, last = 1, 1 << (size - 1)
    rows, row = [], jnp.int32(1 << (size // 2))
    for j in reversed(range(size)):
        from_left, from_right = clear[j] & ~last, clear[j] & ~first
        row = _spread(row, from_left << 1, size, jnp.left_shift)
        rightwards = row & from_left
        row = _spread(row, from_right >> 1, size, jnp.right_shift)
        leftwards = row & from_right
        rows.append(row)
        row = rightwards | (rightwards << 1) | leftwards | (leftwards >> 1)
    seen = jnp.stack(rows[::-1])
    return (seen[None, :] >> np.arange(size, dtype=np.int32)[:, None]) & 1 == 1


def _spread(row: Whole, entered: Whole, size: int, shift: Callable[..., Whole]) -> Whole:
    """Spreads bits to one side through neighbours that can be entered, over twice as many in each round."""
    distance = 1
    while distance < size:
        row = row | (entered & shift(row, distance))
        entered = entered & shift(entered, distance)
        distance *= 2
    return row


def seen_cells(view: View, see_through_walls: bool, carried: Whole) -> View:
    """Returns a view without what is hidden, with what the agent carries in its place."""
    size = view.shape[0]
    shown = view if see_through_walls else jnp.where(visible(view), view, UNSEEN)
    column, row = np.mgrid[:size, :size]
    return jnp.where((column == size // 2) & (row == size - 1), carried, shown)
