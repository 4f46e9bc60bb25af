"""Panels: how the states of a finite environment lie in a picture, so that any table over states can be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

from .errors import ConfigError, check_count

WALL = -1
"""The state of a cell that shows none."""


@no_type_check
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

    Numbers may be NumPy's or JAX's, and lists arrays; all are kept as tuples of Python's.

    Raises:
        ConfigError: for rows of different lengths, or a state that is none.
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

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise ConfigError("Panel.title", self.title, "use a text; '' for none")
        rows = [[check_count("Panel.states", x, low=WALL) for x in row] for row in self.states]
        if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
            raise ConfigError("Panel.states", [len(row) for row in rows], "give rows of one length, of at least 1")
        plain = {
            "states": tuple(map(tuple, rows)),
            "labels": tuple((int(row), int(column), str(text)) for row, column, text in self.labels),
            "walls": tuple(tuple(map(float, wall)) for wall in self.walls),
            "action_arrows": tuple(
                None if arrow is None else (float(arrow[0]), float(arrow[1])) for arrow in self.action_arrows
            ),
        }
        plain |= {name: tuple(map(str, getattr(self, name))) for name in ("row_ticks", "column_ticks", "action_names")}
        for name, value in plain.items():
            object.__setattr__(self, name, value)


def check_panels(panels: Any, num_states: int) -> tuple[Panel, ...]:
    """Returns panels, if they show states that there are.

    Raises:
        ConfigError: for what is no tuple of panels, or a state beyond the last.
    """
    if not isinstance(panels, tuple | list) or not all(isinstance(panel, Panel) for panel in panels):
        raise ConfigError("panels", panels, "use a tuple of kousoku.core.panel.Panel; () for no picture")
    for panel in panels:
        largest = max(max(row) for row in panel.states)
        if largest >= num_states:
            raise ConfigError("Panel.states", largest, f"there are {num_states} states; the last is {num_states - 1}")
    return tuple(panels)
