"""Images among observations, and the scale of their pixels."""

from __future__ import annotations

from ..core.spaces import Box, Space


def is_image(space: Space) -> bool:
    """Returns whether observations have the form [height, width, channels]."""
    return isinstance(space, Box) and len(space.shape) == 3


def pixel_scale(space: Space) -> float:
    """Returns 1/255 for whole numbers up to 255, else 1."""
    return 1.0 / 255.0 if isinstance(space, Box) and space.dtype.kind in "iu" and space.high == 255.0 else 1.0
