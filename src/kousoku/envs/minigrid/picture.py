"""A grid as shapes, in the package's colours: black floor, lighter where the agent sees."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from jaxtyping import Bool

from ...core.scene import Circle, Polygon, Polyline, Rect, Scene, Shape
from ..drawing import turned
from .cells import BALL, BOX, CLOSED_DOOR, GOAL, KEY, LAVA, LOCKED_DOOR, NOTHING, OPEN_DOOR, WALL

BRIGHT = ("#ff4f4f", "#3fd65f", "#5b8cff", "#b06ae0", "#ffd93b", "#a0a0a0")
DIM = ("#6b2222", "#1c5c2a", "#263b6b", "#4b2e60", "#6b5b1a", "#444444")
"""Red, green, blue, purple, yellow, grey, so light that they are seen on black, and as the inside of a locked door."""
FLOOR_COLOR, SEEN_FLOOR, STONE, SEEN_STONE = "#101014", "#3a3a42", "#62656e", "#888c96"
LINE_COLOR, LAVA_COLOR, AGENT_COLOR = "#26262c", "#ff8000", "#ff3b30"
GAP = 0.03


def grid_scene(state: Any, seen: Bool[np.ndarray, "width height"]) -> Scene:
    """Draws a state: what the agent sees is lighter, and what it carries is drawn small beside it."""
    cells = np.asarray(state.cells)
    width, height = cells.shape
    shapes: list[Shape] = []
    for x, y in np.argwhere(seen | (cells != NOTHING)).tolist():
        kind, color = int(cells[x, y]) & 15, int(cells[x, y]) >> 4
        ground = (SEEN_STONE if seen[x, y] else STONE) if kind == WALL else SEEN_FLOOR
        if seen[x, y] or kind == WALL:
            shapes.append(_tile(x, y, ground))
        shapes += object_shapes(kind, color, x, y)
    shapes += _agent(state)
    return Scene(float(width), float(height), _floor(width, height), tuple(shapes))


@functools.lru_cache(maxsize=16)
def _floor(width: int, height: int) -> tuple[Shape, ...]:
    """Draws the floor, the same at every step of a film."""
    tiles = [_tile(x, y, FLOOR_COLOR) for x in range(width) for y in range(height)]
    return (Rect(0.0, 0.0, float(width), float(height), LINE_COLOR), *tiles)


def _tile(x: int, y: int, color: str) -> Rect:
    return Rect(x + GAP / 2, y + GAP / 2, 1.0 - GAP, 1.0 - GAP, color)


def object_shapes(kind: int, color: int, x: float, y: float, size: float = 1.0) -> list[Shape]:
    """Draws what is in a cell whose top left corner is (x, y); of a size in cells."""
    bright, dim = BRIGHT[color], DIM[color]

    def rect(left: float, top: float, right: float, bottom: float, fill: str) -> Rect:
        return Rect(x + size * left, y + size * top, size * (right - left), size * (bottom - top), fill)

    def disc(across: float, down: float, radius: float, fill: str) -> Circle:
        return Circle(x + size * across, y + size * down, size * radius, fill)

    if kind == GOAL:
        return [rect(GAP / 2, GAP / 2, 1 - GAP / 2, 1 - GAP / 2, bright)]
    if kind == LAVA:
        waves = [_wave(x, y, size, 0.3 + 0.2 * i) for i in range(3)]
        return [rect(GAP / 2, GAP / 2, 1 - GAP / 2, 1 - GAP / 2, LAVA_COLOR), *waves]
    if kind == OPEN_DOOR:
        return [rect(0.86, 0.0, 1.0, 1.0, bright), rect(0.91, 0.05, 0.95, 0.95, FLOOR_COLOR)]
    if kind == CLOSED_DOOR:
        leaf = [rect(0.1, 0.1, 0.9, 0.9, bright), rect(0.15, 0.15, 0.85, 0.85, FLOOR_COLOR)]
        frame = [rect(0.0, 0.0, 1.0, 1.0, bright), rect(0.05, 0.05, 0.95, 0.95, FLOOR_COLOR)]
        return [*frame, *leaf, disc(0.74, 0.5, 0.08, bright)]
    if kind == LOCKED_DOOR:
        leaf = [rect(0.0, 0.0, 1.0, 1.0, bright), rect(0.06, 0.06, 0.94, 0.94, dim)]
        return [*leaf, rect(0.52, 0.48, 0.76, 0.56, bright)]
    if kind == KEY:
        teeth = [rect(0.38, 0.59, 0.5, 0.66, bright), rect(0.38, 0.81, 0.5, 0.88, bright)]
        ring = [disc(0.565, 0.28, 0.19, bright), disc(0.565, 0.28, 0.07, FLOOR_COLOR)]
        return [rect(0.5, 0.31, 0.63, 0.88, bright), *teeth, *ring]
    if kind == BALL:
        return [disc(0.5, 0.5, 0.31, bright)]
    if kind == BOX:
        sides = [rect(0.12, 0.12, 0.88, 0.88, bright), rect(0.19, 0.19, 0.81, 0.81, FLOOR_COLOR)]
        return [*sides, rect(0.16, 0.46, 0.84, 0.54, bright)]
    return []


def _wave(x: float, y: float, size: float, top: float) -> Polyline:
    points = ((0.1, 0.0), (0.3, 0.1), (0.5, 0.0), (0.7, 0.1), (0.9, 0.0))
    return Polyline(tuple((x + size * px, y + size * (top + py)) for px, py in points), 0.05 * size, "#4a2500")


def _agent(state: Any) -> list[Shape]:
    """Draws a triangle that points where the agent looks, and on it what it carries."""
    x, y, carried = int(state.x), int(state.y), int(state.carrying)
    angle = -math.pi / 2 * int(state.direction)  # turned counts counter-clockwise, directions clockwise
    body = Polygon(turned(((-0.36, -0.31), (0.4, 0.0), (-0.36, 0.31)), x + 0.5, y + 0.5, angle), AGENT_COLOR)
    held = [] if carried == NOTHING else [Circle(x + 0.78, y + 0.22, 0.22, FLOOR_COLOR)]
    return [body, *held, *object_shapes(carried & 15, carried >> 4, x + 0.6, y + 0.04, 0.36)]
