"""What to draw, as data: shapes in a coordinate system, no picture library.

Coordinates: x to the right, y down, in units of the environment's own (a grid cell is 1 by 1). Colours are CSS names
or hex.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rect:
    """A filled rectangle with its top left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    color: str
    radius: float = 0.0


@dataclass(frozen=True)
class Circle:
    """A filled circle."""

    x: float
    y: float
    radius: float
    color: str


@dataclass(frozen=True)
class Line:
    """A straight line; `width` in the scene's units."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    color: str


@dataclass(frozen=True)
class Text:
    """Text centred at (x, y); `size` is its height in the scene's units."""

    x: float
    y: float
    text: str
    size: float
    color: str


@dataclass(frozen=True)
class Polygon:
    """A filled area inside straight lines from point to point, and back to the first; at least three (x, y)."""

    points: tuple[tuple[float, float], ...]
    color: str


@dataclass(frozen=True)
class Polyline:
    """Straight lines from point to point, with round corners and ends; at least two (x, y)."""

    points: tuple[tuple[float, float], ...]
    width: float
    color: str


Shape = Rect | Circle | Line | Text | Polygon | Polyline


@dataclass(frozen=True)
class Scene:
    """One picture: `background` is what rarely changes between the frames of an animation, `foreground` what moves."""

    width: float
    height: float
    background: tuple[Shape, ...] = field(default=())
    foreground: tuple[Shape, ...] = field(default=())
