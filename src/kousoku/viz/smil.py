"""Scenes as one SVG that plays by itself, over and over, without a script: for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.scene import Scene, Shape
from .svg import document, group

LAST = 1.0


def moving_svg(scenes: Sequence[Scene], seconds: float, size: float) -> str:
    """Shows every scene for so many seconds, the last one a second longer.

    Every background is drawn once, and hidden and shown like the frames.
    """
    shown = np.full(len(scenes), seconds)
    shown[-1] += LAST if len(scenes) > 1 else 0.0
    begin = np.concatenate([[0.0], np.cumsum(shown)])
    backgrounds: dict[tuple[Shape, ...], list[int]] = {}
    for i, scene in enumerate(scenes):
        backgrounds.setdefault(scene.background, []).append(i)
    layers = [_timed(background, frames, begin) for background, frames in backgrounds.items()]
    layers += [_timed(scene.foreground, [i], begin) for i, scene in enumerate(scenes)]
    return document(scenes[0], "".join(layers), size)


def _timed(shapes: tuple[Shape, ...], shown_in: list[int], begin: np.ndarray) -> str:
    """Returns a group that is visible in some of the frames; each has a time when it begins, the last is the end."""
    count = len(begin) - 1
    if len(shown_in) == count:
        return group(shapes)
    visible = np.isin(np.arange(count), shown_in)
    changes = [0, *(np.flatnonzero(np.diff(visible)) + 1).tolist()]
    values = ";".join("visible" if visible[i] else "hidden" for i in changes)
    times = ";".join(f"{begin[i] / begin[-1]:.6g}" for i in changes)
    timing = f'dur="{begin[-1]:.6g}s" repeatCount="indefinite" calcMode="discrete"'
    animate = f'<animate attributeName="visibility" values="{values}" keyTimes="{times}" {timing}/>'
    return group(shapes, ' visibility="visible"' if visible[0] else ' visibility="hidden"', animate)
