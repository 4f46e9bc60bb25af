"""Pictures of a grid, as data."""

from __future__ import annotations

import functools

from ...core.panel import Panel
from ...core.scene import Circle, Rect, Scene, Shape, Text
from ..drawing import AGENT
from .dynamics import NAMES, Rules
from .layout import CLIFF, FLOOR, GOAL, PIT, START, WALL, GridLayout

COLORS = {FLOOR: "#f4f1ea", WALL: "#2b2d42", START: "#cfe3f5", GOAL: "#bfe3c0", PIT: "#f2b8b5", CLIFF: "#d8c3a5"}


def grid_panel(layout: GridLayout, rules: Rules) -> Panel:
    """Draws the map as one panel: greedy arrows are the moves."""
    wall = layout.where(WALL)
    states = tuple(
        tuple(-1 if wall[r, c] else r * layout.width + c for c in range(layout.width)) for r in range(layout.height)
    )
    labels = [(r, c, glyph) for glyph in (START, GOAL, PIT, CLIFF) for r, c in layout.cells(glyph)]
    for i, (here, there, reward) in enumerate(rules.teleports):
        letter = chr(ord("A") + i)
        labels += [(*here, f"{letter} {reward:+g}"), (*there, f"{letter}'")]
    return Panel(
        title="",
        states=states,
        labels=tuple(labels),
        action_names=tuple(NAMES[move] for move in rules.moves),
        action_arrows=tuple((float(dc), float(dr)) if (dr or dc) else None for dr, dc in rules.moves),
    )


def grid_scene(layout: GridLayout, cell: int) -> Scene:
    """Draws the map with the agent as a disc."""
    row, column = divmod(cell, layout.width)
    agent = Circle(column + 0.5, row + 0.5, 0.3, AGENT)
    return Scene(float(layout.width), float(layout.height), _cells(layout), (agent,))


@functools.lru_cache(maxsize=16)
def _cells(layout: GridLayout) -> tuple[Shape, ...]:
    """Draws the map, the same at every step of a film."""
    background: list[Shape] = []
    for r, row in enumerate(layout.rows):
        for c, glyph in enumerate(row):
            background.append(Rect(c + 0.02, r + 0.02, 0.96, 0.96, COLORS[glyph], radius=0.08))
            if glyph in (START, GOAL):
                background.append(Text(c + 0.5, r + 0.5, glyph, 0.45, COLORS[WALL]))
    return tuple(background)
