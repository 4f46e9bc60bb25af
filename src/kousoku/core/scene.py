"""Scenes: what to draw, as data: shapes in a coordinate system, pixels among them.

Coordinates: x to the right, y down, in units of the environment's own (a grid cell is 1 by 1). Colours are CSS names
or hex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Protocol, no_type_check, runtime_checkable

import numpy as np
from jaxtyping import Array

from .errors import ConfigError, check_number
from .image_file import data_url, is_data_url, svg_url

SQUARES = 160
"""Pixels of the longer side of an image up to which each is seen, where it is shown larger."""


Points = tuple[tuple[float, float], ...]


class _Drawn:
    """A shape whose numbers, NumPy's and JAX's included, become Python's: a scene is written down as JSON.

    Types say what they become, so that they are not checked where a shape is made.

    Raises:
        ConfigError: for a number that is none or not finite, or a text that is none.
    """

    def __post_init__(self) -> None:
        for name, plain in _plain_fields(type(self)):
            value = getattr(self, name)
            made = plain(name, value)
            if made is not value:
                object.__setattr__(self, name, made)


@cache
def _plain_fields(shape: Any) -> list[tuple[str, Callable[[str, Any], Any]]]:
    """Returns the fields of a kind of shape, and what makes each plain: thousands of shapes make a film."""
    return [(each.name, PLAIN[str(each.type)]) for each in fields(shape) if each.type in PLAIN]


def _plain_number(field: str, value: Any) -> float:
    if isinstance(value, str):
        raise ConfigError(field, value, "use a number")
    if type(value) not in (float, int):
        try:
            value = float(np.asarray(value, np.float64)[()])
        except (TypeError, ValueError):
            raise ConfigError(field, value, "use a number") from None
    if value - value != 0.0:
        raise ConfigError(field, value, "use a finite number")
    return value


def _plain_text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(field, value, "use a text")
    return value


def _plain_points(field: str, value: Any) -> tuple[tuple[float, float], ...]:
    try:
        return tuple((_plain_number(field, x), _plain_number(field, y)) for x, y in value)
    except (TypeError, ValueError):
        raise ConfigError(field, value, "give several, each (x, y)") from None


PLAIN: dict[str, Callable[[str, Any], Any]] = {
    "float": _plain_number,
    "str": _plain_text,
    "Points": _plain_points,
}
"""What makes a field of a shape plain, by its annotation."""


@no_type_check
@dataclass(frozen=True)
class Rect(_Drawn):
    """A filled rectangle with its top left corner at (x, y)."""

    x: float
    y: float
    width: float
    height: float
    color: str
    radius: float = 0.0


@no_type_check
@dataclass(frozen=True)
class Circle(_Drawn):
    """A filled circle."""

    x: float
    y: float
    radius: float
    color: str


@no_type_check
@dataclass(frozen=True)
class Line(_Drawn):
    """A straight line; `width` in the scene's units."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    color: str


@no_type_check
@dataclass(frozen=True)
class Text(_Drawn):
    """Text centred at (x, y); `size` is its height in the scene's units."""

    x: float
    y: float
    text: str
    size: float
    color: str


@no_type_check
@dataclass(frozen=True)
class Polygon(_Drawn):
    """A filled area inside straight lines from point to point, and back to the first; at least three (x, y)."""

    points: Points
    color: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_points(self.points, 3)


@no_type_check
@dataclass(frozen=True)
class Polyline(_Drawn):
    """Straight lines from point to point, with round corners and ends; at least two (x, y)."""

    points: Points
    width: float
    color: str

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_points(self.points, 2)


@no_type_check
@dataclass(frozen=True)
class Image(_Drawn):
    """Pixels, stretched over a rectangle with its top left corner at (x, y).

    Attributes:
        data: a PNG, WebP, JPEG or SVG file as a data URL.
        smooth: whether colours change smoothly from one pixel to the next; if not, each is a square.

    Raises:
        ConfigError: for data of another form.

    Examples:
        >>> Image.of(np.zeros((2, 3, 3), np.uint8)).width
        3.0
    """

    x: float
    y: float
    width: float
    height: float
    data: str
    smooth: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_data_url(self.data):
            raise ConfigError("data", str(self.data)[:40], "use data:image/png;base64,... as `Image.of` makes it")

    @classmethod
    def of(cls, pixels: Any) -> Image:
        """Makes an image of uint8 [height, width, 3], as large as it has pixels; it keeps 400 of a longer side.

        Raises:
            ConfigError: for pixels of another shape or dtype.
        """
        data, (height, width) = data_url(pixels), np.shape(pixels)[:2]
        return cls(0.0, 0.0, float(width), float(height), data, smooth=max(height, width) > SQUARES)


def _check_points(points: Points, least: int) -> None:
    if len(points) < least:
        raise ConfigError("points", points, f"give at least {least}, each (x, y)")


Shape = Rect | Circle | Line | Text | Polygon | Polyline | Image


@no_type_check
@dataclass(frozen=True)
class Scene:
    """One picture: `background` is what rarely changes between the frames of an animation, `foreground` what moves.

    Raises:
        ConfigError: if it is not so many units wide and high, more than zero.
    """

    width: float
    height: float
    background: tuple[Shape, ...] = field(default=())
    foreground: tuple[Shape, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            object.__setattr__(self, name, _plain_number(name, getattr(self, name)))
            check_number(name, getattr(self, name), low=0, open_low=True, open_high=True)
        for name in ("background", "foreground"):
            layer = tuple(getattr(self, name))
            for shape in layer:
                if not isinstance(shape, _Drawn):
                    raise ConfigError(name, shape, "give shapes: Rect, Circle, Line, Text, Polygon, Polyline, Image")
            object.__setattr__(self, name, layer)

    @classmethod
    def of_pixels(cls, pixels: Any) -> Scene:
        """Makes a scene of nothing but pixels: uint8 [height, width, 3].

        Raises:
            ConfigError: for pixels of another shape or dtype.

        Examples:
            >>> Scene.of_pixels(np.zeros((2, 3, 3), np.uint8)).height
            2.0
        """
        image = Image.of(pixels)
        return cls(image.width, image.height, (image,))

    @classmethod
    def of_svg(cls, svg: str) -> Scene:
        """Makes a scene of a drawing as SVG; pages show it, films as .gif, .mp4 and .png cannot.

        An environment that draws by it says so with `draws_svg = True`, so that nobody is promised pixels of it.

        Raises:
            ConfigError: for what is no SVG, or tells no size.
        """
        data, width, height = svg_url(svg)
        return cls(width, height, (Image(0.0, 0.0, width, height, data, smooth=True),))


@dataclass(frozen=True, eq=False)
class Trajectory2d:
    """An episode, picture by picture.

    Attributes:
        scenes: at least one, all of the same size.
        dt: seconds from picture to picture; None where time has no unit.
        values: [T] each, what else was known, by name: reward, its terms; NaN where it was not.
        name: any text, such as "seed 3".

    Raises:
        ConfigError: if there is no scene, their sizes differ, or a value is not as long.
    """

    scenes: tuple[Scene, ...]
    dt: float | None = None
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        if not self.scenes:
            raise ConfigError("scenes", self.scenes, "give at least one")
        sizes = list(dict.fromkeys((scene.width, scene.height) for scene in self.scenes))
        if len(sizes) > 1:
            raise ConfigError("scenes", sizes, "give all of one film the same width and height")
        if self.dt is not None:
            object.__setattr__(self, "dt", _plain_number("dt", self.dt))
            check_number("dt", self.dt, low=0, open_low=True, open_high=True)
        for name, value in self.values.items():
            if np.shape(value) != (len(self.scenes),):
                raise ConfigError(f"values[{name!r}]", np.shape(value), f"use an array of shape [{len(self.scenes)}]")

    def __len__(self) -> int:
        return len(self.scenes)


@runtime_checkable
class Timed(Protocol):
    """An environment whose steps last a time that is known."""

    @property
    def dt(self) -> Any:
        """Seconds that a step lasts."""
        ...


@runtime_checkable
class Readable(Protocol):
    """An environment that names numbers of its state, to be shown under its picture."""

    def readings(self, state: Any) -> dict[str, Array]:
        """Returns scalars by name, such as the angles of joints; can be traced."""
        ...
