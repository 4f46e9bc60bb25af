"""The cart on its track, as data."""

from __future__ import annotations

import math

from ...core.scene import Circle, Line, Rect, Scene, Shape
from ..drawing import ACCENT, AGENT, GROUND, INK, STEEL, paper

MARGIN, CART, WHEEL, TRACK = 0.7, (0.6, 0.26), 0.085, 0.06


def cartpole_scene(x: float, theta: float, length: float, x_threshold: float, may_hang: bool = False) -> Scene:
    """Draws the pole, `2 length` long, and its cart; posts stand where the track ends. One unit is a metre.

    Args:
        x, theta, length, x_threshold: as in `CartPole`.
        may_hang: whether the pole turns all around its axle, for which there is room on all sides then.
    """
    above = 2.0 * length + 0.35
    rail = above + CART[1] + 2 * WHEEL
    beside, below = (max(MARGIN, above), max(0.45, above + above - rail)) if may_hang else (MARGIN, 0.45)
    width, height = 2.0 * (x_threshold + beside), rail + below
    middle = width / 2.0
    ends = (middle - x_threshold, middle + x_threshold)
    background: tuple[Shape, ...] = (
        paper(width, height),
        Rect(0.0, rail, width, height - rail, GROUND, radius=0.03 * max(width, height)),
        Rect(0.0, rail, width, 0.2, GROUND),
        Line(ends[0], rail, ends[1], rail, TRACK, INK),
        *(Line(end, rail - 0.28, end, rail, TRACK, AGENT) for end in ends),
    )
    at, axle = middle + x, above + 0.03
    tip = (at + 2.0 * length * math.sin(theta), axle - 2.0 * length * math.cos(theta))
    wheels = [Circle(at + side * 0.19, rail - TRACK / 2 - WHEEL, WHEEL, STEEL) for side in (-1, 1)]
    foreground: tuple[Shape, ...] = (
        *wheels,
        Rect(at - CART[0] / 2, above, *CART, INK, radius=0.05),
        Line(at, axle, *tip, 0.1, AGENT),
        Circle(at, axle, 0.075, ACCENT),
    )
    return Scene(width, height, background, foreground)
