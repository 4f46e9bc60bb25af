"""The acrobot and its bar, as data."""

from __future__ import annotations

import math

from ...core.scene import Circle, Line, Scene, Shape
from ..drawing import ACCENT, AGENT, GOAL, INK, paper

MARGIN, LINK, JOINT = 0.3, 0.2, 0.085


def acrobot_scene(theta1: float, theta2: float, lengths: tuple[float, float]) -> Scene:
    """Draws both links, the first hanging from the middle; the bar is where the tip has to get, one unit above."""
    reach = max(sum(lengths), 1.0) + MARGIN
    first = (reach + lengths[0] * math.sin(theta1), reach + lengths[0] * math.cos(theta1))
    turned = theta1 + theta2
    tip = (first[0] + lengths[1] * math.sin(turned), first[1] + lengths[1] * math.cos(turned))
    bar = reach - 1.0
    background: tuple[Shape, ...] = (
        paper(2.0 * reach, 2.0 * reach),
        Line(0.15, bar, 2.0 * reach - 0.15, bar, 0.035, GOAL),
    )
    foreground: tuple[Shape, ...] = (
        Line(reach, reach, *first, LINK, INK),
        Line(*first, *tip, LINK, AGENT),
        Circle(reach, reach, JOINT, ACCENT),
        Circle(*first, JOINT, ACCENT),
    )
    return Scene(2.0 * reach, 2.0 * reach, background, foreground)
