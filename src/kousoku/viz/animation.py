"""An episode that moves: as an SVG that needs no script (for notebooks and pages), as a GIF, or as a page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from ..core.errors import ConfigError, check_number
from ..core.record import RunRecord
from ..core.scene import Circle, Line, Polygon, Polyline, Rect, Scene, Shape, Text
from . import headline
from .film import film
from .offline import page_html
from .svg import document, group, safe_color, scene_svg

MAX_FRAMES = 1000
FILM_SCRIPTS = ("dom.js", "player.js", "film.js")
GIF_COLORS = 128


@dataclass(frozen=True)
class Animation:
    """Scenes, one after the other.

    Attributes:
        scenes: at least one.
        seconds: how long each is shown.
        title: stands above them on a page; may be empty.
    """

    scenes: tuple[Scene, ...]
    seconds: float
    title: str = ""

    def save(self, path: str | Path, size: int = 480) -> Path:
        """Write a .gif or an .svg whose longer side has `size` pixels, or an .html page with a player.

        Raises:
            ConfigError: for any other ending.
        """
        target = Path(path)
        if target.suffix.lower() == ".svg":
            target.write_text(self.svg(size), encoding="utf-8")
        elif target.suffix.lower() == ".gif":
            _write_gif(target, self.scenes, self.seconds, size)
        elif target.suffix.lower() == ".html":
            target.write_text(self.html(), encoding="utf-8", errors="replace", newline="\n")
        else:
            raise ConfigError("path", str(path), "use a name that ends in .gif, .html or .svg")
        return target

    def html(self) -> str:
        """The episode as an offline page: play, pause, step by step, by mouse or keys.

        Where scripts are off it shows the last scene.
        """
        count = len(self.scenes)
        while count > 1 and self.scenes[count - 1] == self.scenes[count - 2]:
            count -= 1  # the last picture stays by itself
        scenes = self.scenes[:count]
        data = {"title": self.title, "seconds": self.seconds, **film(scenes, MAX_FRAMES)}
        return page_html(self.title or "Episode", FILM_SCRIPTS, data, scene_svg(scenes[-1]))

    def svg(self, size: float = 480.0) -> str:
        """The episode as an SVG that plays by itself, over and over; it contains no script.

        Every background is drawn once, and hidden and shown like the frames.
        """
        return document(self.scenes[0], "".join([*self._backgrounds(), *self._foregrounds()]), size)

    def _repr_html_(self) -> str:
        return self.svg()

    def _backgrounds(self) -> list[str]:
        found: dict[tuple[Shape, ...], list[int]] = {}
        for i, scene in enumerate(self.scenes):
            found.setdefault(scene.background, []).append(i)
        return [self._timed(background, frames) for background, frames in found.items()]

    def _foregrounds(self) -> list[str]:
        return [self._timed(scene.foreground, [i]) for i, scene in enumerate(self.scenes)]

    def _timed(self, shapes: tuple[Shape, ...], shown_in: list[int]) -> str:
        """A group that is visible in some of the frames."""
        count = len(self.scenes)
        if len(shown_in) == count:
            return group(shapes)
        visible = np.isin(np.arange(count), shown_in)
        changes = [0, *(np.flatnonzero(np.diff(visible)) + 1).tolist()]
        values = ";".join("visible" if visible[i] else "hidden" for i in changes)
        times = ";".join(f"{i / count:.6g}" for i in changes)
        timing = f'dur="{count * self.seconds:.6g}s" repeatCount="indefinite" calcMode="discrete"'
        animate = f'<animate attributeName="visibility" values="{values}" keyTimes="{times}" {timing}/>'
        return group(shapes, ' visibility="visible"' if visible[0] else ' visibility="hidden"', animate)


def animate(record: RunRecord, seconds_per_step: float | None = None) -> Animation:
    """The best agent's greedy episode.

    Args:
        record: a run whose environment can be drawn.
        seconds_per_step: None to choose by the number of steps: slow for a short episode, faster for a long one.

    Raises:
        ConfigError: if there is nothing to draw, or the time is not positive.
    """
    if not record.frames:
        raise ConfigError("animate", headline.title(record), "the environment has to have a `scene` method")
    scenes = record.frames[:MAX_FRAMES]
    if seconds_per_step is None:
        seconds_per_step = min(0.4, max(0.06, 8.0 / len(scenes)))
    check_number("seconds_per_step", seconds_per_step, low=0, open_low=True)
    # the last picture stays a second, so that one sees how it ends
    pause = min(round(1.0 / seconds_per_step), 20)
    return Animation((*scenes, *[scenes[-1]] * pause), float(seconds_per_step), headline.title(record))


def _write_gif(target: Path, scenes: tuple[Scene, ...], seconds: float, size: int) -> None:
    """Draw with Matplotlib, pack with Pillow; one palette for all frames, so that colours do not flicker."""
    from PIL import Image

    painter = _Painter(scenes[0], size)
    pictures = [painter.draw(scene) for scene in scenes]
    palette = _commonest_colors(pictures)
    frames = []
    for picture in pictures:
        frame = Image.fromarray(_nearest(picture, palette))
        frame.putpalette(palette.reshape(-1).tolist())
        frames.append(frame)
    milliseconds = max(20, round(1000 * seconds))
    frames[0].save(target, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0, optimize=False)


def _commonest_colors(pictures: list[np.ndarray]) -> UInt8[np.ndarray, "colors 3"]:
    """The colours that cover most: flat areas keep theirs exactly, blurred edges share."""
    counts: Counter[int] = Counter()
    for picture in pictures:
        colors, areas = np.unique(_packed(picture), return_counts=True)
        counts.update(dict(zip(colors.tolist(), areas.tolist(), strict=True)))
    chosen = np.array([color for color, _ in counts.most_common(GIF_COLORS)])
    return np.stack([chosen >> 16, chosen >> 8 & 255, chosen & 255], axis=1).astype(np.uint8)


def _nearest(picture: UInt8[np.ndarray, "H W 3"], palette: UInt8[np.ndarray, "colors 3"]) -> UInt8[np.ndarray, "H W"]:
    """The index of the nearest colour, worked out once for each colour of the picture."""
    colors, where = np.unique(_packed(picture), return_inverse=True)
    channels = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=1)
    distance = ((channels[:, None] - palette[None].astype(np.int64)) ** 2).sum(axis=-1)
    return distance.argmin(axis=1).astype(np.uint8)[where].reshape(picture.shape[:2])


def _packed(picture: UInt8[np.ndarray, "H W 3"]) -> Int[np.ndarray, "H W"]:
    """Red, green and blue in one number."""
    red, green, blue = np.moveaxis(picture.astype(np.int64), -1, 0)
    return red << 16 | green << 8 | blue


class _Painter:
    """Scenes as pixels; a background is kept as long as it does not change."""

    def __init__(self, scene: Scene, size: int) -> None:
        from .canvas import new_figure

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
        """The scene in red, green and blue."""
        if scene.background != self.background:
            artists = [self.ax.add_artist(self._artist(shape)) for shape in scene.background]
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
        from matplotlib import lines, patches, text
        from matplotlib.colors import is_color_like

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
