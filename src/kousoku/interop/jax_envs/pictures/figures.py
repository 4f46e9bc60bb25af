"""Matplotlib figures of other libraries as pixels, drawn without a display."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8

INCHES, DOTS_PER_INCH = 4.0, 80
"""Size of a square figure that is made for a film, and of its pixels."""


def new_axes(*_: Any, **__: Any) -> tuple[Any, Any]:
    """Returns an empty figure with its only axes, whatever is asked for: no window knows of it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((INCHES, INCHES), dpi=DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot(111)


def figure_pixels(figure: Any) -> UInt8[np.ndarray, "H W 3"]:
    """Draws a figure in red, green and blue."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
