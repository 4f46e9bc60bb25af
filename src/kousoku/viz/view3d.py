"""The view of a trajectory: how large it is, whether to go along with it, and from which side to look.

The player and the pictures without a display both ask here, so that they show the same.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..core.scene3d import WORLD, Cord, Geom, Trajectory3d, Vector

SAMPLES = 40
ENDLESS = 5.0
FAR, ROOMY, LOST = 0.8, 6.0, 2.0
FLAT, PLANAR = 0.3, 1e-4
SHORTEST, DOWN = 1e-3, -0.999999
FROM_ABOVE, FROM_FRONT, FROM_SIDE = 0.95, 0.3, 0.16
OBLIQUE, ASIDE = -1.02, -1.3
GOALS = ("target", "goal")


class View(NamedTuple):
    """A view of one environment.

    Attributes:
        size: diagonal of what has to be seen at once, in metres.
        travels: whether what moves leaves it, so that a camera should go along.
        middle: of what has to be seen at once, where nothing travels.
        low: the lowest point that anything reaches.
        azimuth, elevation: where the camera stands, in radians, from the x axis and from the ground.
    """

    size: float
    travels: bool
    middle: tuple[float, float, float]
    low: float
    azimuth: float
    elevation: float


def view_of(trajectory: Trajectory3d) -> View:
    """Returns the view of a trajectory."""
    times = np.unique(np.linspace(0, len(trajectory) - 1, SAMPLES).astype(int)).tolist()
    moving = moving_frames(trajectory)
    followed = followed_frames(trajectory, moving)
    solid = _solid(trajectory)
    figure = [geom for geom in solid if geom.frame in followed] or solid
    goals = [geom for geom in solid if _is_goal(geom) and geom not in figure]
    knots = [knot for cord in trajectory.body.cords for knot in _knots(cord, followed)]
    if not figure:
        return View(1.0, False, (0.0, 0.0, 0.0), 0.0, OBLIQUE, FROM_FRONT)
    spans = np.array([_box([*figure, *goals, *knots], trajectory, t) for t in times])
    whole = np.array([spans[:, 0].min(axis=0), spans[:, 1].max(axis=0)])
    # What cords tie together may be far apart later.
    low, now = float(whole[0, 2]), max(map(_diagonal, spans)) if knots else _diagonal(spans[0])
    still = [geom for geom in solid if geom not in figure and geom not in goals and geom.frame not in moving]
    arena = _box(still, trajectory, 0) if still else None
    if arena is not None and _diagonal(arena) < ROOMY * now and _is_inside(whole, arena, now):
        whole, travels = np.array([np.minimum(arena[0], whole[0]), np.maximum(arena[1], whole[1])]), False
    elif goals:
        travels = False  # who goes along with what moves leaves its goal behind
    else:
        way = centre_of(trajectory, followed)
        travels = float(np.linalg.norm(way - way[0], axis=1).max()) > FAR * now
    azimuth, elevation = _side(trajectory, followed, spans)
    middle = tuple((0.5 * (whole[0] + whole[1])).tolist())
    return View(now if travels else _diagonal(whole), travels, middle, low, azimuth, elevation)


def _is_inside(inner: Float[np.ndarray, "2 3"], outer: Float[np.ndarray, "2 3"], slack: float) -> bool:
    """Returns whether one box lies in another, seen from above and but for some slack."""
    return bool((inner[0, :2] >= outer[0, :2] - slack).all() and (inner[1, :2] <= outer[1, :2] + slack).all())


def _solid(trajectory: Trajectory3d) -> list[Geom]:
    """Returns the geoms that are seen and have an end."""
    return [geom for geom in trajectory.body.geoms if geom.kind != "plane" and geom.color[3] > 0.0]


def _is_goal(geom: Geom) -> bool:
    """Returns whether its name says that it shows where something has to get, as in MuJoCo's files."""
    return geom.name.split("_")[0] in GOALS


def _knots(cord: Cord, followed: list[int]) -> list[Geom]:
    """Returns balls at a cord's points if it is tied to what is followed, so that all of it is in the picture."""
    if cord.color[3] == 0.0 or not any(frame in followed for frame, _ in cord.points):
        return []
    return [Geom("sphere", (cord.radius, 0.0, 0.0), frame, position=place) for frame, place in cord.points]


def moving_frames(trajectory: Trajectory3d) -> list[int]:
    """Returns frames that joints move, and those that are not always at the same place in the same direction."""
    x, q = np.asarray(trajectory.positions), np.asarray(trajectory.quaternions)
    changed = (x != x[:1]).any(axis=(0, 2)) | (q != q[:1]).any(axis=(0, 2))
    return sorted({*trajectory.body.jointed, *changed.nonzero()[0].tolist()})


def followed_frames(trajectory: Trajectory3d, moving: list[int]) -> list[int]:
    """Returns the frames that move and stay together, of those that are seen; a ball that rolls away is let go."""
    geoms = [geom for geom in _solid(trajectory) if geom.frame in moving]
    if not geoms:
        return []
    moving = sorted({geom.frame for geom in geoms})
    x = np.asarray(trajectory.positions, np.float64)[:, moving]
    distance = np.linalg.norm(x - np.median(x, axis=1, keepdims=True), axis=2).max(axis=0)
    near = distance <= LOST * _diagonal(_box(geoms, trajectory, 0))
    return [n for n, stays in zip(moving, near, strict=True) if stays] if 2 * near.sum() >= len(moving) else moving


def centre_of(trajectory: Trajectory3d, frames: list[int]) -> Float[np.ndarray, "T 3"]:
    """Returns the middle of some frames, over time; the origin where there are none."""
    x = np.asarray(trajectory.positions, np.float64)
    return x[:, frames].mean(axis=1) if frames else np.zeros((len(x), 3))


def corners_of(trajectory: Trajectory3d, frames: list[int], time: int) -> Float[np.ndarray, "n 3"]:
    """Returns the corners of boxes around what some frames carry, and around goals."""
    geoms = [geom for geom in _solid(trajectory) if geom.frame in frames or _is_goal(geom)]
    boxes = [_box([geom], trajectory, time) for geom in geoms]
    return np.array([corner for box in boxes for corner in itertools.product(*box.T)]).reshape(-1, 3)


def is_level(geom: Geom) -> bool:
    """Returns whether it is a plane, flat in the world."""
    plane = geom.kind == "plane" and geom.frame == WORLD
    return plane and float(matrices(np.array(geom.quaternion))[2, 2]) > 0.999


def is_floor(geom: Geom) -> bool:
    """Returns whether it is drawn as a floor that fades into the distance: a large plane, flat in the world."""
    return is_level(geom) and all(h == 0 or h >= ENDLESS for h in geom.size[:2])


def matrices(quaternions: Float[np.ndarray, "*n 4"]) -> Float[np.ndarray, "*n 3 3"]:
    """Returns rotation matrices of quaternions (w, x, y, z) of any length but zero."""
    w, x, y, z = np.moveaxis(quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def placed(
    geoms: list[Geom], trajectory: Trajectory3d, time: int
) -> tuple[Float[np.ndarray, "g 3"], Float[np.ndarray, "g 3 3"]]:
    """Returns where the geoms' own frames are in the world: places and rotations."""
    frames, positions = [geom.frame for geom in geoms], [geom.position for geom in geoms]
    places, turns = _carried(frames, positions, trajectory, time)
    return places, turns @ matrices(np.array([geom.quaternion for geom in geoms], float))


def _carried(
    frames: list[int], positions: list[Vector], trajectory: Trajectory3d, time: int
) -> tuple[Float[np.ndarray, "g 3"], Float[np.ndarray, "g 3 3"]]:
    """Returns where positions in frames are in the world, and how the frames are turned."""
    x = np.concatenate([np.asarray(trajectory.positions[time], float), np.zeros((1, 3))])
    q = np.concatenate([np.asarray(trajectory.quaternions[time], float), [[1.0, 0.0, 0.0, 0.0]]])
    carrier = np.array(frames)  # the world is the last, -1
    turns = matrices(q)[carrier]
    return x[carrier] + np.einsum("gij,gj->gi", turns, np.array(positions, float)), turns


def rods(trajectory: Trajectory3d, time: int) -> list[Geom]:
    """Returns the straight parts of the cords at a time, as capsules in the world."""
    found = []
    for cord in trajectory.body.cords:
        frames, positions = zip(*cord.points, strict=True)
        places, _ = _carried(list(frames), list(positions), trajectory, time)
        for start, end in itertools.pairwise(places):
            length = float(np.linalg.norm(end - start))
            if length <= SHORTEST * cord.radius:
                continue
            x, y, z = (end - start) / length
            turn = (1.0 + z, -y, x, 0.0) if z > DOWN else (0.0, 1.0, 0.0, 0.0)
            size = (cord.radius, 0.5 * length, 0.0)
            found.append(Geom("capsule", size, WORLD, cord.color, cord.name, 0.5 * (start + end), turn))
    return found


def _box(geoms: list[Geom], trajectory: Trajectory3d, time: int) -> Float[np.ndarray, "2 3"]:
    """Returns the lowest and the highest coordinates that geoms fill."""
    places, turns = placed(geoms, trajectory, time)
    reach = np.array([_reach(geom, turn) for geom, turn in zip(geoms, turns, strict=True)])
    return np.array([(places - reach).min(axis=0), (places + reach).max(axis=0)])


def _reach(geom: Geom, turn: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, " 3"]:
    """Returns how far a geom reaches along each axis of the world."""
    a, b, c = geom.size
    along = np.abs(turn[:, 2])
    match geom.kind:
        case "sphere":
            return np.full(3, a)
        case "capsule":
            return along * b + a
        case "cylinder":
            return along * b + np.sqrt(np.maximum(0.0, 1.0 - along**2)) * a
        case "ellipsoid":
            return np.sqrt((turn**2) @ np.square((a, b, c)))
        case _:
            return np.abs(turn) @ (a, b, c)


def _diagonal(box: Float[np.ndarray, "2 3"]) -> float:
    return float(np.linalg.norm(box[1] - box[0]))


def _side(trajectory: Trajectory3d, moving: list[int], spans: Float[np.ndarray, "s 2 3"]) -> tuple[float, float]:
    """Looks from above at what is flat, from the side at what moves in a plane y = const, else from the front right."""
    wide, deep, high = np.moveaxis(spans[:, 1] - spans[:, 0], -1, 0)
    if (high < FLAT * np.maximum(wide, deep)).all():
        return OBLIQUE, FROM_ABOVE
    across = np.asarray(trajectory.positions)[:, moving, 1]
    planar = bool(moving) and float(np.ptp(across, axis=0).max()) < PLANAR * _diagonal(spans[0])
    return (ASIDE, FROM_SIDE) if planar else (OBLIQUE, FROM_FRONT)
