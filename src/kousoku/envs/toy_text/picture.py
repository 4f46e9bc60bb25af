"""Pictures of the toy-text maps, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.panel import Panel
from ...core.scene import Circle, Rect, Scene, Shape, Text
from ..drawing import AGENT, INK
from .moves import Moves, arrows

COLORS = {"S": "#cfe3f5", "G": "#bfe3c0", "F": "#eaf4fb", "H": "#5c7fa3", ".": "#f4f1ea", "C": "#d8c3a5"}
PLAIN = ("F", ".")


@dataclass(frozen=True)
class MapPicture:
    """A map of glyphs, and the agent on it: state = row * width + column.

    A frozen value instead of a closure: two pictures of one map are equal, so that two environments are.

    Attributes:
        rows: equally long strings of the glyphs in `COLORS`.
    """

    rows: tuple[str, ...]

    def panel(self, moves: Moves, names: tuple[str, ...]) -> Panel:
        """Draws the map as one panel: greedy arrows are the moves."""
        width = len(self.rows[0])
        return Panel(
            title="",
            states=tuple(tuple(r * width + c for c in range(width)) for r in range(len(self.rows))),
            labels=tuple((r, c, g) for r, row in enumerate(self.rows) for c, g in enumerate(row) if g not in PLAIN),
            action_names=names,
            action_arrows=arrows(moves),
        )

    def __call__(self, state: Any) -> Scene:
        """Draws the map with the agent as a disc."""
        height, width = len(self.rows), len(self.rows[0])
        background: list[Shape] = []
        for r, row in enumerate(self.rows):
            for c, glyph in enumerate(row):
                background.append(Rect(c + 0.02, r + 0.02, 0.96, 0.96, COLORS[glyph], radius=0.08))
                if glyph in ("S", "G"):
                    background.append(Text(c + 0.5, r + 0.5, glyph, 0.45, INK))
        row_of_agent, column = divmod(int(state), width)
        agent = Circle(column + 0.5, row_of_agent + 0.5, 0.3, AGENT)
        return Scene(float(width), float(height), tuple(background), (agent,))
