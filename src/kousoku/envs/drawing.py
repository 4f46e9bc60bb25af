"""Parts that the pictures of environments share: colours, a sheet behind everything, and shapes that are turned."""

from __future__ import annotations

import math

from ..core.scene import Polygon, Rect

PAPER, INK, GROUND, STEEL, GOAL = "#f4f1ea", "#2b2d42", "#d8c3a5", "#8d99ae", "#3a8f5c"
ACCENT, AGENT = "#1f6f9f", "#e4572e"

Point = tuple[float, float]


def paper(width: float, height: float, corner: float = 0.03) -> Rect:
    """Draws a sheet behind everything, so that a picture looks the same on a light and on a dark page."""
    return Rect(0.0, 0.0, width, height, PAPER, radius=corner * max(width, height))


def turned(points: tuple[Point, ...], x: float, y: float, angle: float) -> tuple[Point, ...]:
    """Turns points around the origin, counter-clockwise on the screen, and then moves them to (x, y)."""
    sin, cos = math.sin(angle), math.cos(angle)
    return tuple((x + cos * px + sin * py, y - sin * px + cos * py) for px, py in points)


def arc(x: float, y: float, radius: float, start: float, end: float) -> tuple[Point, ...]:
    """Returns points on a circle around (x, y); angles count from the right, counter-clockwise on the screen."""
    count = max(2, math.ceil(abs(end - start) / 0.12) + 1)
    angles = [start + (end - start) * i / (count - 1) for i in range(count)]
    return tuple((x + radius * math.cos(a), y - radius * math.sin(a)) for a in angles)


def block(width: float, height: float, x: float, y: float, angle: float, color: str) -> Polygon:
    """Draws a turned rectangle that stands on (x, y)."""
    corners = ((-width / 2, 0.0), (-width / 2, -height), (width / 2, -height), (width / 2, 0.0))
    return Polygon(turned(corners, x, y, angle), color)
