"""Scenes in three dimensions, as data: bodies made of simple geoms and cords, and where their frames were over time.

Coordinates: metres, z up, right-handed. Quaternions are (w, x, y, z). Sizes of geoms are MuJoCo's half sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, no_type_check, runtime_checkable

import numpy as np
from jaxtyping import Array, Float

from .errors import ConfigError, check_all, check_choice, check_count, check_finite, check_number

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Rgba = tuple[float, float, float, float]

WORLD = -1
KINDS = ("plane", "sphere", "capsule", "box", "cylinder", "ellipsoid")


@no_type_check
@dataclass(frozen=True)
class Geom:
    """One solid, fixed in a frame.

    Attributes:
        kind: its form, one of `KINDS`; capsules and cylinders lie along their own z axis, planes face theirs.
        size: sphere (radius, ., .); capsule and cylinder (radius, half length, .); box and ellipsoid half sizes along
            x, y, z; plane half sizes along x and y, 0 for one without end.
        frame: index of the frame that carries it; `WORLD` for none.
        color: red, green, blue and opacity in [0, 1].
        name: any text.
        position: of its centre in the frame.
        quaternion: its orientation in the frame.

    Raises:
        ConfigError: if a number is out of its range.

    References:
        MuJoCo documentation, XML reference, body/geom: type and size.
    """

    kind: str
    size: Vector
    frame: int = WORLD
    color: Rgba = (0.5, 0.5, 0.5, 1.0)
    name: str = ""
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        object.__setattr__(self, "frame", check_count("frame", self.frame, low=WORLD))
        for name, count in (("size", 3), ("color", 4), ("position", 3), ("quaternion", 4)):
            _check_shape(name, getattr(self, name), (count,))
            object.__setattr__(self, name, tuple(np.asarray(getattr(self, name), np.float64).tolist()))
        used = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2}.get(self.kind, 3)
        for i, size in enumerate(self.size):
            check_number(f"size[{i}]", size, low=0, open_low=i < used, open_high=True)
        for i, channel in enumerate(self.color):
            check_number(f"color[{i}]", channel, low=0, high=1)
        check_all("position", self.position, check_finite)
        check_all("quaternion", self.quaternion, check_finite)
        if not any(self.quaternion):
            raise ConfigError("quaternion", self.quaternion, "a quaternion must not be zero")


@no_type_check
@dataclass(frozen=True)
class Cord:
    """A thin round rod through points, straight from each to the next; the points may be fixed in different frames.

    Attributes:
        radius: in metres.
        points: at least two, each a frame, or `WORLD`, and a position in it.
        color: red, green, blue and opacity in [0, 1].
        name: any text.

    Raises:
        ConfigError: if a number is out of its range.
    """

    radius: float
    points: tuple[tuple[int, Vector], ...]
    color: Rgba = (0.5, 0.5, 0.5, 1.0)
    name: str = ""

    def __post_init__(self) -> None:
        _check_shape("radius", self.radius, ())
        check_finite("radius", self.radius)
        object.__setattr__(self, "radius", float(self.radius))
        check_number("radius", self.radius, low=0, open_low=True)
        _check_shape("color", self.color, (4,))
        object.__setattr__(self, "color", tuple(np.asarray(self.color, np.float64).tolist()))
        for i, channel in enumerate(self.color):
            check_number(f"color[{i}]", channel, low=0, high=1)
        points = [_point(f"points[{i}]", point) for i, point in enumerate(self.points)]
        if len(points) < 2:
            raise ConfigError("points", len(points), "give at least two")
        object.__setattr__(self, "points", tuple(points))


@no_type_check
@dataclass(frozen=True)
class Body3d:
    """The geoms and cords of one environment, and how they look.

    Attributes:
        geoms: its solids.
        name: any text, such as the model's name.
        cords: its strings.
        jointed: frames that joints move, even while they stay where they are; what else moves need not be told.
    """

    geoms: tuple[Geom, ...]
    name: str = ""
    cords: tuple[Cord, ...] = ()
    jointed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        jointed = (check_count(f"jointed[{i}]", frame, low=0) for i, frame in enumerate(self.jointed))
        object.__setattr__(self, "jointed", tuple(jointed))
        for name, kind, what in (("geoms", Geom, "solids, each a Geom"), ("cords", Cord, "strings, each a Cord")):
            parts = tuple(getattr(self, name))
            for part in parts:
                if not isinstance(part, kind):
                    raise ConfigError(name, part, f"give {what}")
            object.__setattr__(self, name, parts)


@dataclass(frozen=True)
class Contacts3d:
    """The places where things touched, and how hard.

    Attributes:
        points: [T, k, 3] in the world; NaN where a slot is empty.
        forces: [T, k, 3] on whatever is shown, in newtons, in the world's axes.

    Raises:
        ConfigError: if the shapes differ.
    """

    points: np.ndarray
    forces: np.ndarray

    def __post_init__(self) -> None:
        _check_shape("contacts.points", self.points, (*np.shape(self.points)[:2], 3))
        _check_shape("contacts.forces", self.forces, np.shape(self.points))


@dataclass(frozen=True, eq=False)
class Trajectory3d:
    """The way of one environment's frames, one picture every `dt` seconds.

    Attributes:
        body: what the frames carry.
        positions: [T, n, 3] of every frame, in metres.
        quaternions: [T, n, 4] of every frame; they need not have length one, but must not be zero.
        dt: seconds from picture to picture.
        values: [T] each, what else was known, by name: reward, its terms, joints; NaN where it was not.
        contacts: None if they are not known.
        name: any text, such as "seed 3".

    Raises:
        ConfigError: if shapes disagree, a frame that the body names does not exist, or a pose is not finite.
    """

    body: Body3d
    positions: np.ndarray
    quaternions: np.ndarray
    dt: float
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    contacts: Contacts3d | None = None
    name: str = ""

    def __post_init__(self) -> None:
        shape = np.shape(self.positions)
        if len(shape) != 3 or shape[0] == 0 or shape[2] != 3:
            raise ConfigError("positions", shape, "use an array of shape [T, n, 3] with T of at least 1")
        _check_shape("quaternions", self.quaternions, (*shape[:2], 4))
        _check_poses(self.positions, self.quaternions)
        check_number("dt", self.dt, low=0, open_low=True, open_high=True)
        object.__setattr__(self, "dt", float(self.dt))
        for name, value in self.values.items():
            _check_shape(f"values[{name!r}]", value, shape[:1])
        if self.contacts is not None:
            _check_shape("contacts.points", self.contacts.points, (shape[0], *np.shape(self.contacts.points)[1:]))
        frames = {f"geoms[{i}].frame": geom.frame for i, geom in enumerate(self.body.geoms)}
        frames |= {f"jointed[{i}]": frame for i, frame in enumerate(self.body.jointed)}
        for i, cord in enumerate(self.body.cords):
            frames |= {f"cords[{i}].points[{n}]": frame for n, (frame, _) in enumerate(cord.points)}
        for name, frame in frames.items():
            if frame >= shape[1]:
                raise ConfigError(name, frame, f"there are {shape[1]} frames")

    def __len__(self) -> int:
        return len(self.positions)


@runtime_checkable
class Drawable3d(Protocol):
    """An environment whose states are bodies in space."""

    @property
    def dt(self) -> Any:
        """Seconds that a step lasts."""
        ...

    def body3d(self) -> Body3d:
        """Returns what it looks like."""
        ...

    def poses(self, state: Any) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Returns where the frames of `body3d` are: positions and quaternions; can be traced."""
        ...


@runtime_checkable
class Touching3d(Protocol):
    """One that also knows its contacts."""

    def contacts3d(self, state: Any, action: Any) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
        """Returns points in the world, NaN where a slot is empty, and forces [N] under an action; can be traced."""
        ...


def _point(name: str, point: Any) -> tuple[int, Vector]:
    """Returns a point of a cord in plain numbers."""
    try:
        frame, position = point
    except (TypeError, ValueError):
        raise ConfigError(name, point, "give a frame and a position") from None
    frame = check_count(f"{name}.frame", frame, low=WORLD)
    _check_shape(f"{name}.position", position, (3,))
    check_all(f"{name}.position", position, check_finite)
    x, y, z = np.asarray(position, np.float64).tolist()
    return frame, (x, y, z)


def _check_shape(field_name: str, array: Any, shape: tuple[int, ...]) -> None:
    if np.shape(array) != shape:
        raise ConfigError(field_name, np.shape(array), f"use an array of shape {list(shape)}")


def _check_poses(positions: np.ndarray, quaternions: np.ndarray) -> None:
    finite = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(quaternions).all(axis=(1, 2))
    if not finite.all():
        raise ConfigError("positions", f"no finite pose at time {int(finite.argmin())}", "cut the trajectory before it")
    if not np.any(quaternions, axis=-1).all():
        raise ConfigError("quaternions", 0, "a quaternion must not be zero")
