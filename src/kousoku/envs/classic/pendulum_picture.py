"""The pendulum, as data."""

from __future__ import annotations

import math

from ...core.scene import Circle, Line, Polygon, Polyline, Scene, Shape
from ..drawing import ACCENT, AGENT, INK, STEEL, arc, paper, turned

SIZE, ROD, RING = 2.8, 0.2, 0.42


def pendulum_scene(theta: float, strength: float) -> Scene:
    """Draws the rod, one unit long, and an arrow around the axle as long as the torque is strong (-1 to 1)."""
    middle = SIZE / 2.0
    background: tuple[Shape, ...] = (
        paper(SIZE, SIZE),
        Polyline(arc(middle, middle, 1.0, 0.0, 2.0 * math.pi), 0.01, "#ddd8cc"),
        Line(middle, middle - 1.14, middle, middle - 1.22, 0.03, STEEL),
    )
    tip = (middle - math.sin(theta), middle - math.cos(theta))
    foreground: tuple[Shape, ...] = (
        Line(middle, middle, *tip, ROD, AGENT),
        *_arrow(middle, strength),
        Circle(middle, middle, 0.055, INK),
    )
    return Scene(SIZE, SIZE, background, foreground)


def _arrow(middle: float, strength: float) -> tuple[Shape, ...]:
    """Draws an arc that begins below the axle, counter-clockwise for a positive torque."""
    if abs(strength) < 0.02:
        return ()
    side = math.copysign(1.0, strength)
    start, end = -math.pi / 2.0, -math.pi / 2.0 + 1.5 * math.pi * strength
    x, y = middle + RING * math.cos(end), middle - RING * math.sin(end)
    head = turned(((0.0, -0.16), (-0.09, 0.0), (0.09, 0.0)), x, y, end if side > 0 else end + math.pi)
    return Polyline(arc(middle, middle, RING, start, end), 0.05, ACCENT), Polygon(head, ACCENT)
