"""Moves that the toy-text grids share: where one leads, and how slippery ground turns it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

Moves = tuple[tuple[int, int], ...]


def destinations(height: int, width: int, moves: Moves) -> Int[np.ndarray, "S A"]:
    """Returns the cell that each (d_row, d_column) leads to from each cell; a move over the edge stays where it is.

    Examples:
        >>> destinations(1, 3, ((0, 1),)).ravel().tolist()
        [1, 2, 2]
    """
    row, column = np.divmod(np.arange(height * width, dtype=np.int32)[:, None], width)
    d_row, d_column = np.array(moves, np.int32).T
    return np.clip(row + d_row, 0, height - 1) * width + np.clip(column + d_column, 0, width - 1)


def turned(num_moves: int) -> Int[np.ndarray, "A 3"]:
    """Returns the move really made on slippery ground: the one before, itself, the one after, round the compass."""
    return (np.arange(num_moves)[:, None] + np.array([-1, 0, 1])) % num_moves


def arrows(moves: Moves) -> tuple[tuple[float, float], ...]:
    """Returns (dx, dy) of each (d_row, d_column), y down, as a panel wants them."""
    return tuple((float(d_column), float(d_row)) for d_row, d_column in moves)
