"""The camera, and where environments stand: what `viewer/src/player/stage.ts` has at first, for pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..core.scene3d import Body3d, Trajectory3d
from .view3d import View, centre_of, followed_frames, is_floor, is_level, moving_frames, view_of

FIELD = math.radians(35.0)
IN_A_ROW = 6
CALM, CALM_HEIGHT = 0.1, 0.5
"""Half the windows, in seconds, over which a camera that follows takes means."""
MANY = (-0.5, 0.42)
ASPECT_ONE = 1.1
FOLLOWING, STANDING = 1.8, 1.55
"""How far away, in the size of one environment, a camera stands that goes along with it, and one that does not."""
BELOW = 0.1
"""How far a floor that is only drawn lies below what it must not hide, in the size of one environment."""
ROOM = 1.03
"""How much farther away the camera stands than from where several environments just fit."""


@dataclass(frozen=True)
class Camera:
    """A camera that looks at a target, up is up.

    Attributes:
        place, target: in metres.
        forward, right, up: where rays go at the middle of the picture, and what is added to it at its edges.
    """

    place: Float[np.ndarray, "3"]
    target: Float[np.ndarray, "3"]
    forward: Float[np.ndarray, "3"]
    right: Float[np.ndarray, "3"]
    up: Float[np.ndarray, "3"]

    def rays(self, u: Float[np.ndarray, " N"], v: Float[np.ndarray, " N"]) -> Float[np.ndarray, "N 3"]:
        """Returns directions through places of the picture, each from -1 to 1, to the right and upwards."""
        return (self.forward + u[:, None] * self.right + v[:, None] * self.up).astype(np.float32)

    def steps(self, width: int, height: int) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Returns how rays differ from pixel to pixel."""
        return (2 * self.right / width).astype(np.float32), (2 * self.up / height).astype(np.float32)


@dataclass(frozen=True)
class Stage:
    """Environments side by side.

    Attributes:
        views: of each.
        offsets: where each stands.
        paths: [T, 3] of each, what a camera that follows looks at, calmed.
        size: of the largest.
        floor: its height.
    """

    views: list[View]
    offsets: list[Float[np.ndarray, "3"]]
    paths: list[Float[np.ndarray, "T 3"]]
    size: float
    floor: float

    @property
    def cell(self) -> float:
        """The floor's grid: 1, 2 or 5 times a power of ten, at most half the size."""
        power = 10.0 ** math.floor(math.log10(self.size / 2))
        return power * max(k for k in (1.0, 2.0, 5.0) if k * power <= self.size / 2 or k == 1.0)

    def camera(self, time: int, aspect: float) -> Camera:
        """Returns the camera at a time, for a picture that is so many times wider than high."""
        one, follows = len(self.views) == 1, any(view.travels for view in self.views)
        if follows:
            places = [path[min(time, len(path) - 1)] for path in self.paths]
        else:
            places = [np.array(view.middle) for view in self.views]
        places = [place + offset for place, offset in zip(places, self.offsets, strict=True)]
        target = np.mean(places, axis=0)
        azimuth, elevation = self.views[0].azimuth, max(view.elevation for view in self.views)
        if one:
            distance = (FOLLOWING if follows else STANDING) * self.size * max(1.0, ASPECT_ONE / aspect)
            return _camera(target, azimuth, elevation, distance, aspect)
        azimuth, elevation = MANY[0], max(MANY[1], elevation)
        distance = _fitting(np.array(places) - target, 0.5 * self.size, azimuth, elevation, aspect)
        return _camera(target, azimuth, elevation, ROOM * distance, aspect)

    def below_grounds(self, body: Body3d) -> Stage:
        """Returns it with a floor that hides none of a body's own level planes, too narrow to be floors themselves."""
        hidden = [geom.position[2] for geom in body.geoms if is_level(geom) and geom.position[2] <= self.floor]
        if not hidden or any(map(is_floor, body.geoms)):
            return self
        return replace(self, floor=min(hidden) - BELOW * self.size)

    def seen_at(self, middle: Float[np.ndarray, "3"], points: Float[np.ndarray, "n 3"], aspect: float) -> Stage:
        """Returns one environment with a camera that looks at a middle, from farther away where points need it."""
        view = self.views[0]._replace(middle=tuple(middle.tolist()), travels=False)
        distance = _fitting(points - middle, 0.0, view.azimuth, view.elevation, aspect) if len(points) else 0.0
        size = max(self.size, distance / (STANDING * max(1.0, ASPECT_ONE / aspect)))
        return replace(self, views=[view], size=size)


def stage_of(trajectories: Sequence[Trajectory3d]) -> Stage:
    """Places trajectories in rows across the way they face (x)."""
    views = [view_of(one) for one in trajectories]
    size = max(view.size for view in views)
    ways = [centre_of(one, followed_frames(one, moving_frames(one))) for one in trajectories]
    count = len(trajectories)
    columns = count if count <= IN_A_ROW else math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    gap = max(size + min(float(np.abs(way[:, 1] - way[0, 1]).max()), 0.8 * size) for way in ways)
    across, along = (columns - 1) / 2 * gap, (rows - 1) / 2 * 1.6 * gap
    offsets = [np.array([1.6 * gap * (k // columns) - along, k % columns * gap - across, 0.0]) for k in range(count)]
    floors = [geom.position[2] for one in trajectories for geom in one.body.geoms if is_floor(geom)]
    floor = min(floors) if floors else min(view.low for view in views) - BELOW * size
    paths = [_calmed(way, one.dt) for way, one in zip(ways, trajectories, strict=True)]
    return Stage(views, offsets, paths, size, floor)


def _fitting(places: Float[np.ndarray, "n 3"], radius: float, azimuth: float, elevation: float, aspect: float) -> float:
    """Returns from how far away balls around places, relative to the target, are all within the picture."""
    back, right = _axes(azimuth, elevation)
    half = math.tan(FIELD / 2)
    distance = 0.0
    for slope, side in ((half * aspect, right), (half, np.cross(back, right))):
        outermost = np.abs(places @ side) + radius * math.hypot(1.0, slope)
        distance = max(distance, float((places @ back + outermost / slope).max()))
    return distance


def _axes(azimuth: float, elevation: float) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Returns the directions from the target back to the camera, and to the right."""
    flat = math.cos(elevation)
    back = np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)])
    return back, np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])


def _camera(target: Float[np.ndarray, "3"], azimuth: float, elevation: float, distance: float, aspect: float) -> Camera:
    back, right = _axes(azimuth, elevation)
    half = math.tan(FIELD / 2)
    return Camera(target + distance * back, target, -back, half * aspect * right, half * np.cross(back, right))


def _calmed(way: Float[np.ndarray, "T 3"], dt: float) -> Float[np.ndarray, "T 3"]:
    """Averages over a window around each time: a fifth of a second along the ground, a second in height."""
    count = len(way)
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(way, axis=0)])
    time = np.arange(count)
    found = np.empty_like(way)
    for axis, seconds in enumerate((CALM, CALM, CALM_HEIGHT)):
        reach = np.minimum(np.minimum(round(seconds / dt), time), count - 1 - time)
        found[:, axis] = (sums[time + reach + 1, axis] - sums[time - reach, axis]) / (2 * reach + 1)
    return found
