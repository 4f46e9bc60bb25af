"""Episodes that move: as a page with a player, as an SVG without a script, as a GIF, an MP4 or a still."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from ..core.errors import ConfigError, check_all, check_count, check_number
from ..core.output_file import output_file
from ..core.record import RunRecord
from ..core.scene import Scene, Trajectory2d
from ..core.scene3d import Trajectory3d
from ..core.whole_file import write_text, write_whole
from . import film2d, film3d, headline
from .sidebyside import joined
from .smil import moving_svg

FORMATS = ".html, .gif, .mp4, .png or .svg"
FORMATS_3D = ".html, .gif, .mp4 or .png"
RATE_3D = 25.0
SMALLEST, LARGEST = 16, 8192
"""Pixels of a picture's longer side."""


@dataclass(frozen=True)
class Animation:
    """Episodes, side by side: all in the plane, or all in space.

    Attributes:
        films: at least one.
        title: stands above them on a page; may be empty.

    Raises:
        ConfigError: if there is none, both kinds are mixed, time steps differ, or the title is no text.

    Examples:
        >>> from kousoku.core.scene import Circle
        >>> scenes = tuple(Scene(2.0, 1.0, (), (Circle(0.1 * i, 0.5, 0.1, "red"),)) for i in range(20))
        >>> Animation.of_scenes(scenes, seconds=0.1, title="A ball")
        <Animation: 1 film of 20 frames>
    """

    films: tuple[Trajectory2d | Trajectory3d, ...]
    title: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise ConfigError("title", self.title, "use text")
        if not self.films or len({type(film) for film in self.films}) > 1:
            raise ConfigError("films", [type(film).__name__ for film in self.films], "give some, all of one kind")
        film2d.check_pace(self.films)

    @classmethod
    def of_scenes(cls, scenes: Sequence[Scene], seconds: float | None = None, title: str = "") -> Animation:
        """Makes a film of scenes, one after the other, each for so many seconds; None chooses by their number."""
        return cls((Trajectory2d(tuple(scenes), seconds),), title)

    def __repr__(self) -> str:
        count, longest = len(self.films), max(len(film) for film in self.films)
        return f"<Animation: {count} film{'s' if count > 1 else ''} of {longest} frames>"

    def save(self, path: str | Path, size: int = 480, at: int | None = None) -> Path:
        """Writes a page with a player (.html), a film (.gif, .mp4), a still (.png), or a moving drawing (.svg).

        Args:
            path: where; its ending decides. An .svg is for scenes in the plane only.
            size: pixels of the longer side; a page fits its window.
            at: the frame of a still; by default the last.

        Raises:
            ConfigError: for any other ending, a folder, a file in none, a frame of what is no still, an .mp4 without
                ffmpeg, or a .gif of pictures that are shown for more than ten minutes each.
        """
        target, size = output_file("path", path), check_count("size", size, low=SMALLEST, high=LARGEST)
        if at is not None and target.suffix.lower() != ".png":
            raise ConfigError("at", at, "only a still, .png, shows one frame")
        writers: dict[str, Callable[[], object]] = {
            ".html": lambda: write_text(target, self.html()),
            ".gif": lambda: self._write_film(target, size),
            ".mp4": lambda: self._write_film(target, size),
            ".png": lambda: self._write_still(target, size, at),
        }
        if not self._solid:
            writers[".svg"] = lambda: write_text(target, self.svg(size))
        if target.suffix.lower() not in writers:
            raise ConfigError("path", str(path), f"use a name that ends in {FORMATS_3D if self._solid else FORMATS}")
        writers[target.suffix.lower()]()
        return target

    def html(self) -> str:
        """Returns an offline page with a player: by mouse, touch or keys."""
        return film3d.page(self._solid, self.title) if self._solid else film2d.page(self._flat, self.title)

    def svg(self, size: float = 480.0) -> str:
        """Returns scenes in the plane as an SVG that plays by itself, over and over; it contains no script."""
        if self._solid:
            raise ConfigError("svg", "a film in three dimensions", f"use a name that ends in {FORMATS_3D}")
        return moving_svg(joined(self._flat), self.seconds, size)

    @property
    def seconds(self) -> float:
        """How long each frame is shown."""
        return float(self._solid[0].dt) if self._solid else film2d.pace(self._flat)

    def pictures(self, size: int = 480, frames: Sequence[int] | None = None) -> Iterator[UInt8[np.ndarray, "H W 3"]]:
        """Draws frames in red, green and blue, all or those that are named; the longer side has `size` pixels.

        Raises:
            ConfigError: for a frame that there is not.
        """
        size, longest = check_count("size", size, low=SMALLEST, high=LARGEST), max(len(film) for film in self.films)
        chosen = range(longest) if frames is None else frames
        check_all("frames", chosen, lambda field, frame: check_count(field, frame, low=0, high=longest - 1))
        if self._solid:
            from .render3d import Renderer

            renderer = Renderer(self._solid, size)
            return (renderer.draw(t) for t in chosen)
        from .painter import Painter

        scenes = joined(self._flat)
        painter = Painter(scenes[0], size)
        return (painter.draw(scenes[t]) for t in chosen)

    @property
    def _solid(self) -> tuple[Trajectory3d, ...]:
        return tuple(film for film in self.films if isinstance(film, Trajectory3d))

    @property
    def _flat(self) -> tuple[Trajectory2d, ...]:
        return tuple(film for film in self.films if isinstance(film, Trajectory2d))

    def _write_film(self, target: Path, size: int) -> None:
        from . import movie

        gif = target.suffix.lower() == ".gif"
        rate = RATE_3D if self._solid else movie.RATE
        frames, seconds = movie.chosen(max(len(film) for film in self.films), self.seconds, rate)
        if gif:
            draw = partial(self.pictures, size)
            write_whole(target, lambda part: movie.write_gif(part, draw, frames, seconds))
        else:
            write_whole(target, lambda part: movie.write_mp4(part, self.pictures(size, frames), seconds))

    def _write_still(self, target: Path, size: int, at: int | None) -> None:
        from .movie import png_bytes

        last = max(len(film) for film in self.films) - 1
        time = last if at is None else check_count("at", at, low=0, high=last)
        picture = png_bytes(next(self.pictures(size, [time])))
        write_whole(target, lambda part: part.write_bytes(picture))

    def _repr_html_(self) -> str:
        """Shows a drawing without a script, or the player in a frame of its own, in a notebook."""
        if not self._solid:
            return self.svg()
        style = "width:100%;height:560px;border:0;border-radius:8px"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self.html())}"></iframe>'


def animate(record: RunRecord, seconds_per_step: float | None = None) -> Animation:
    """Plays the best agent's greedy episode.

    Args:
        record: a run whose environment can be drawn.
        seconds_per_step: of a film in the plane; None for the environment's own time, or to choose by the number of
            steps where it has none.

    Raises:
        ConfigError: if there is nothing to draw, or the time is not positive.
    """
    film = record.film
    if film is None:
        raise ConfigError(
            "animate", headline.title(record), "the environment has to have a `scene` or a `poses` method"
        )
    if seconds_per_step is not None:
        check_number("seconds_per_step", seconds_per_step, low=0, open_low=True)
        if isinstance(film, Trajectory2d):
            film = Trajectory2d(film.scenes, float(seconds_per_step), film.values, film.name)
    return Animation((film,), headline.title(record))
