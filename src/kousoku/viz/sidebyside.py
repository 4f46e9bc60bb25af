"""Scenes of several environments as one scene, in rows and columns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from ..core.scene import Circle, Image, Line, Polygon, Polyline, Rect, Scene, Shape, Text, Trajectory2d

GAP = 0.08
PAPER = "#ffffff"


def joined(trajectories: Sequence[Trajectory2d]) -> tuple[Scene, ...]:
    """Returns one scene for each time; who has ended stays as it is."""
    if len(trajectories) == 1:
        return trajectories[0].scenes
    last = max(len(one) for one in trajectories) - 1
    return tuple(_joined([one.scenes[min(t, len(one) - 1)] for one in trajectories]) for t in range(last + 1))


def _joined(scenes: Sequence[Scene]) -> Scene:
    wide, high = max(scene.width for scene in scenes), max(scene.height for scene in scenes)
    columns = math.ceil(math.sqrt(len(scenes) * high / wide))
    rows = math.ceil(len(scenes) / columns)
    gap = GAP * max(wide, high)
    width, height = columns * (wide + gap) + gap, rows * (high + gap) + gap
    background: list[Shape] = [Rect(0.0, 0.0, width, height, PAPER)]
    foreground: list[Shape] = []
    for k, scene in enumerate(scenes):
        x, y = gap + k % columns * (wide + gap), gap + k // columns * (high + gap)
        background += [_moved(shape, x, y) for shape in scene.background]
        foreground += [_moved(shape, x, y) for shape in scene.foreground]
    return Scene(width, height, tuple(background), tuple(foreground))


def _moved(shape: Shape, x: float, y: float) -> Shape:
    match shape:
        case Rect() | Circle() | Text() | Image():
            return dataclasses.replace(shape, x=shape.x + x, y=shape.y + y)
        case Line():
            return dataclasses.replace(shape, x1=shape.x1 + x, y1=shape.y1 + y, x2=shape.x2 + x, y2=shape.y2 + y)
        case Polygon() | Polyline():
            return dataclasses.replace(shape, points=tuple((px + x, py + y) for px, py in shape.points))
