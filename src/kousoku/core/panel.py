"""Panels: how the states of a finite environment lie in a picture, so that any table over states can be drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """A rectangle of cells, each showing one state.

    A grid has one panel, its map. Taxi has one for each pair of passenger place and destination; Blackjack one with
    and one without a usable ace.

    Attributes:
        title: above the panel; may be empty.
        states: index of the state shown in each cell, row by row; -1 for a wall.
        labels: (row, column, text) written into cells, such as "S" and "G".
        walls: lines between cells, (x0, y0, x1, y1) in cells from the upper left corner.
        row_label, column_label: names of the axes; may be empty.
        row_ticks, column_ticks: names of the rows and columns; may be empty.
        action_names: one short name for each action.
        action_arrows: one (dx, dy) for each action, y down, for drawing greedy arrows; None where the action's name
            is written instead.
    """

    title: str
    states: tuple[tuple[int, ...], ...]
    labels: tuple[tuple[int, int, str], ...] = ()
    walls: tuple[tuple[float, float, float, float], ...] = ()
    row_label: str = ""
    column_label: str = ""
    row_ticks: tuple[str, ...] = ()
    column_ticks: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    action_arrows: tuple[tuple[float, float] | None, ...] = ()
