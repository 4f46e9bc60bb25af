"""Balls in their box, as data."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Array, Float

from ...core.scene import Circle, Line, Rect, Scene, Shape
from ..drawing import ACCENT, AGENT, GOAL, GROUND, INK, STEEL, paper

COLORS = (AGENT, ACCENT, GOAL, "#e0a030", STEEL)
MARGIN, LARGEST = 0.06, 0.018
SHARE_OF_SPACING = 0.3
"""How large a radius is at most, of the distance between as many balls spread evenly."""
WALL = 0.006


def balls_scene(
    x: Float[Array, " n"] | Float[np.ndarray, " n"],
    z: Float[Array, " n"] | Float[np.ndarray, " n"],
    size: tuple[float, float],
    walls: bool,
    floor: bool,
) -> Scene:
    """Draws a box of `size` with a margin around it; balls that have left the picture are not drawn.

    Balls are drawn smaller where there are many. They are points to the physics: the box is drawn a radius wider.
    """
    longer = max(size)
    margin = MARGIN * longer
    width, height = size[0] + 2.0 * margin, size[1] + 2.0 * margin
    radius = min(LARGEST * longer, SHARE_OF_SPACING * math.sqrt(size[0] * size[1] / len(x)))
    background = (paper(width, height), *_box(size, margin, radius, walls, floor))
    places = zip(np.asarray(x).tolist(), np.asarray(z).tolist(), strict=True)
    foreground: list[Shape] = []
    for i, (right, up) in enumerate(places):
        across, down = margin + right, margin + size[1] - up
        if radius <= across <= width - radius and radius <= down <= height - radius:
            foreground.append(Circle(across, down, radius, COLORS[i % len(COLORS)]))
    return Scene(width, height, background, tuple(foreground))


def _box(size: tuple[float, float], margin: float, radius: float, walls: bool, floor: bool) -> list[Shape]:
    thickness = WALL * max(size)
    away = radius + 0.5 * thickness
    left, top, right, ground = margin - away, margin - away, margin + size[0] + away, margin + size[1] + away
    shapes: list[Shape] = []
    if floor:
        whole, bottom = size[0] + 2.0 * margin, size[1] + 2.0 * margin
        shapes.append(Rect(0.0, ground, whole, bottom - ground, GROUND))
        shapes.append(Line(left, ground, right, ground, thickness, INK))
    if walls:
        ends = ((left, top, left, ground), (right, top, right, ground), (left, top, right, top))
        shapes += [Line(*end, thickness, STEEL) for end in ends]
    return shapes
