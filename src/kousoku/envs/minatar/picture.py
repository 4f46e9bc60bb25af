"""A game as squares, in the colours that the package gives its channels."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import UInt8

from ...core.scene import Rect, Scene

BLACK = "#000000"
GAP = 0.04
DARKEST, LIGHTEST = 0.35, 0.92
START, ROTATIONS = 0.5, -1.5
HELIX = ((-0.14861, 1.78277), (-0.29227, -0.90649), (1.97294, 0.0))


def game_scene(image: UInt8[np.ndarray, "height width channels"]) -> Scene:
    """Draws an observation: in each cell the last channel that has an object there, on black."""
    height, width, channels = image.shape
    colors = cubehelix(channels)
    squares = tuple(
        Rect(c + GAP / 2, r + GAP / 2, 1.0 - GAP, 1.0 - GAP, colors[int(np.flatnonzero(image[r, c])[-1])], radius=0.1)
        for r, c in zip(*np.nonzero(image.any(axis=2)), strict=True)
    )
    return Scene(float(width), float(height), (Rect(0.0, 0.0, float(width), float(height), BLACK),), squares)


def cubehelix(n: int) -> list[str]:
    """Returns n colours of rising lightness, on a helix around the greys.

    seaborn's palette of that name, which the package draws with, begins so dark that the first of ten channels, the
    player, is hardly seen on black: this one begins at a third of the way to white.

    References:
        Green, A colour scheme for the display of astronomical intensity images, arXiv:1108.5083, equation 2.

    Examples:
        >>> cubehelix(3)
        ['#347335', '#d486af', '#daf2ef']
    """
    return [_on_helix(DARKEST + (LIGHTEST - DARKEST) * i / max(1, n - 1)) for i in range(n)]


def _on_helix(lightness: float) -> str:
    """Returns the colour of a lightness, 0 to 1, with the paper's default start, rotations and hue."""
    angle = 2.0 * math.pi * (START / 3.0 + ROTATIONS * lightness)
    amplitude = lightness * (1.0 - lightness) / 2.0
    sin, cos = math.sin(angle), math.cos(angle)
    levels = (lightness + amplitude * (a * cos + b * sin) for a, b in HELIX)
    return "#" + "".join(f"{round(255.0 * min(max(level, 0.0), 1.0)):02x}" for level in levels)
