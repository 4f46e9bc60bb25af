"""Scenes as the JSON that a page draws from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.scene import Circle, Image, Line, Polygon, Polyline, Rect, Scene, Shape, Text
from .encode import numbers
from .svg import safe_color

MAX_FRAMES = 1000
MAX_SHAPES = 60_000
SHAPE_LETTERS = 100
"""Letters of an image that count as one shape."""


def film(scenes: Sequence[Scene], max_shapes: int = MAX_SHAPES) -> dict[str, Any]:
    """Returns each background once, and of each frame its background and what moves; "left" counts frames left out.

    The first frame is always there.
    """
    backgrounds: dict[tuple[Shape, ...], int] = {}
    frames, shapes = [], 0
    for scene in scenes[:MAX_FRAMES]:
        if scene.background not in backgrounds:
            shapes += sum(map(_size, scene.background))
        shapes += sum(map(_size, scene.foreground))
        if frames and shapes > max_shapes:
            break
        index = backgrounds.setdefault(scene.background, len(backgrounds))
        frames.append({"background": index, "shapes": [shape_json(shape) for shape in scene.foreground]})
    return {
        "width": scenes[0].width,
        "height": scenes[0].height,
        "backgrounds": [[shape_json(shape) for shape in background] for background in backgrounds],
        "frames": frames,
        "left": len(scenes) - len(frames),
    }


def _size(shape: Shape) -> int:
    """Counts a shape: one, or of an image as many as its data are long."""
    return 1 + len(shape.data) // SHAPE_LETTERS if isinstance(shape, Image) else 1


def shape_json(shape: Shape) -> list[Any]:
    """Returns a shape as its kind, its colour and its numbers; points are x, y, x, y, ..."""
    if isinstance(shape, Image):
        return ["i", "", *numbers([shape.x, shape.y, shape.width, shape.height, shape.smooth]), shape.data]
    color = safe_color(shape.color)
    match shape:
        case Rect():
            return ["r", color, *numbers([shape.x, shape.y, shape.width, shape.height, shape.radius])]
        case Circle():
            return ["c", color, *numbers([shape.x, shape.y, shape.radius])]
        case Line():
            return ["l", color, *numbers([shape.x1, shape.y1, shape.x2, shape.y2, shape.width])]
        case Text():
            return ["t", color, *numbers([shape.x, shape.y, shape.size]), shape.text]
        case Polygon():
            return ["g", color, *numbers(shape.points)]
        case Polyline():
            return ["p", color, *numbers([shape.width]), *numbers(shape.points)]
