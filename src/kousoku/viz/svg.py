"""Scenes as SVG text: no picture library, crisp at any size."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from ..core.scene import Circle, Image, Line, Polygon, Polyline, Rect, Scene, Shape, Text
from .text import well_formed

NAMESPACE = "http://www.w3.org/2000/svg"
FALLBACK_COLOR = "gray"
FONT = "system-ui, sans-serif"

_COLOR = re.compile(r"#[0-9a-fA-F]{3,4}|#[0-9a-fA-F]{6}|#[0-9a-fA-F]{8}|[a-zA-Z]+")


def safe_color(color: str) -> str:
    """Returns the colour if it is a hex number or a plain word, else grey: nothing else may reach an attribute.

    Examples:
        >>> safe_color("#e4572e"), safe_color("url(//example.org)")
        ('#e4572e', 'gray')
    """
    return color if isinstance(color, str) and _COLOR.fullmatch(color) else FALLBACK_COLOR


def shape_svg(shape: Shape) -> str:
    """Returns one shape as an SVG element.

    Examples:
        >>> shape_svg(Circle(1.5, 0.5, 0.25, "red"))
        '<circle cx="1.5" cy="0.5" r="0.25" fill="red"/>'
    """
    if isinstance(shape, Image):
        size = f'x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}"'
        look = "auto" if shape.smooth else "pixelated"
        return f'<image {size} preserveAspectRatio="none" image-rendering="{look}" href="{shape.data}"/>'
    color = safe_color(shape.color)
    match shape:
        case Rect():
            radius = f' rx="{shape.radius:g}"' if shape.radius else ""
            size = f'width="{shape.width:g}" height="{shape.height:g}"'
            return f'<rect x="{shape.x:g}" y="{shape.y:g}" {size}{radius} fill="{color}"/>'
        case Circle():
            return f'<circle cx="{shape.x:g}" cy="{shape.y:g}" r="{shape.radius:g}" fill="{color}"/>'
        case Line():
            ends = f'x1="{shape.x1:g}" y1="{shape.y1:g}" x2="{shape.x2:g}" y2="{shape.y2:g}"'
            return f'<line {ends} stroke="{color}" stroke-width="{shape.width:g}" stroke-linecap="round"/>'
        case Text():
            place = f'x="{shape.x:g}" y="{shape.y:g}" font-size="{shape.size:g}" font-family="{FONT}"'
            centred = 'text-anchor="middle" dominant-baseline="central"'
            return f'<text {place} {centred} fill="{color}">{escape(well_formed(shape.text))}</text>'
        case Polygon():
            return f'<polygon points="{_points(shape.points)}" fill="{color}"/>'
        case Polyline():
            stroke = f'stroke="{color}" stroke-width="{shape.width:g}" stroke-linecap="round" stroke-linejoin="round"'
            return f'<polyline points="{_points(shape.points)}" fill="none" {stroke}/>'


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def group(shapes: Iterable[Shape], attributes: str = "", inside: str = "") -> str:
    """Groups shapes in a <g>."""
    return f"<g{attributes}>{inside}{''.join(shape_svg(shape) for shape in shapes)}</g>"


def document(scene: Scene, content: str, size: float = 480.0) -> str:
    """Returns an SVG file around elements in the scene's coordinates; its longer side is `size` pixels."""
    scale = size / max(scene.width, scene.height)
    pixels = f'width="{scale * scene.width:g}" height="{scale * scene.height:g}"'
    return f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {scene.width:g} {scene.height:g}" {pixels}>{content}</svg>'


def scene_svg(scene: Scene) -> str:
    """Returns a scene as a complete SVG file."""
    return document(scene, group(scene.background) + group(scene.foreground))
