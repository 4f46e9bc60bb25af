"""Scenes in the plane as pixels, by Matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib import lines, patches, text
from matplotlib.colors import is_color_like
from matplotlib.image import AxesImage

from ..core.image_file import pixels_of
from ..core.scene import Circle, Image, Line, Polygon, Polyline, Rect, Scene, Shape, Text
from .canvas import new_figure
from .svg import safe_color


class Painter:
    """Scenes as pixels; a background is kept as long as it does not change."""

    def __init__(self, scene: Scene, size: int) -> None:
        self.scale = size / max(scene.width, scene.height)
        self.figure = new_figure(scene.width * self.scale / 100, scene.height * self.scale / 100)
        self.figure.set_layout_engine("none")
        self.figure.set_dpi(100)
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set_axis_off()
        self.ax.set(xlim=(0, scene.width), ylim=(scene.height, 0))
        self.canvas: Any = self.figure.canvas
        self.background: tuple[Shape, ...] | None = None
        self.saved: Any = None

    def draw(self, scene: Scene) -> UInt8[np.ndarray, "H W 3"]:
        """Draws the scene in red, green and blue."""
        if scene.background != self.background:
            artists = [self.ax.add_artist(self._artist(shape)) for shape in scene.background]
            for place, artist in enumerate(artists):  # else lines are drawn over areas, and these over images
                artist.set_zorder(place)
            self.canvas.draw()
            self.saved = self.canvas.copy_from_bbox(self.figure.bbox)
            for artist in artists:
                artist.remove()
            self.background = scene.background
        self.canvas.restore_region(self.saved)
        for shape in scene.foreground:
            artist = self.ax.add_artist(self._artist(shape))
            self.ax.draw_artist(artist)
            artist.remove()
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    def _artist(self, shape: Shape) -> Any:
        if isinstance(shape, Image):
            return self._image(shape)
        color = safe_color(shape.color)
        color = color if is_color_like(color) else "gray"
        points = self.scale * 72 / 100
        match shape:
            case Rect():
                corner, r = (shape.x, shape.y), min(shape.radius, shape.width / 2, shape.height / 2)
                if not r:
                    return patches.Rectangle(corner, shape.width, shape.height, facecolor=color, edgecolor="none")
                inner = (shape.x + r, shape.y + r), shape.width - 2 * r, shape.height - 2 * r
                box = patches.BoxStyle("round", pad=r, rounding_size=r)
                return patches.FancyBboxPatch(*inner, boxstyle=box, facecolor=color, edgecolor="none")
            case Circle():
                return patches.Circle((shape.x, shape.y), shape.radius, facecolor=color, edgecolor="none")
            case Line():
                ends = (shape.x1, shape.x2), (shape.y1, shape.y2)
                return lines.Line2D(*ends, color=color, linewidth=shape.width * points, solid_capstyle="round")
            case Polygon():
                return patches.Polygon(shape.points, closed=True, facecolor=color, edgecolor="none")
            case Polyline():
                xs, ys = zip(*shape.points, strict=True)
                style: dict[str, Any] = {"solid_capstyle": "round", "solid_joinstyle": "round"}
                return lines.Line2D(xs, ys, color=color, linewidth=shape.width * points, **style)
            case Text():
                centred = {"ha": "center", "va": "center_baseline", "parse_math": False}
                return text.Text(shape.x, shape.y, shape.text, color=color, fontsize=shape.size * points, **centred)

    def _image(self, shape: Image) -> AxesImage:
        extent = shape.x, shape.x + shape.width, shape.y + shape.height, shape.y
        interpolation = "antialiased" if shape.smooth else "nearest"
        image = AxesImage(self.ax, extent=extent, origin="upper", interpolation=interpolation)
        image.set_data(pixels_of(shape.data))
        return image
