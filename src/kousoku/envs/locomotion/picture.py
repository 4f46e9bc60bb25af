"""A robot as a flat picture: what stands before the eye, in straight lines; the page in three dimensions is better."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...core.scene import Circle, Line, Polygon, Polyline, Rect, Scene, Shape
from ...core.scene3d import WORLD, Body3d, Geom
from ...physics import Model
from ...physics.joints import Kind, joints
from ..classic.picture import GROUND, INK, paper

AROUND = 1.25  # the picture shows so many times what the robot reaches
ROUND = 16  # corners of a circle that is seen askew


def is_flat(model: Model) -> bool:
    """Whether all joints move in horizontal planes, so that a picture from above shows everything."""
    upright = {Kind.SLIDE: 0.0, Kind.HINGE: 1.0}
    axes = model.constants["jnt_axis"]
    return all(j.kind in upright and abs(axes[j.id][2]) == upright[j.kind] for j in joints(model))


def robot_scene(body: Body3d, positions: Any, quaternions: Any, home: np.ndarray, above: bool) -> Scene:
    """The robot from the side, with x to the right and z up, or from above, with y up.

    It stays in the middle, unless there is more in the world than a ground: then the world stays where it is.

    Args:
        body: its geoms.
        positions: [n, 3] of its frames.
        quaternions: [n, 4] of its frames.
        home: [n, 3] of its frames where the model has them, which says how large the picture must be.
        above: whether to look from above.
    """
    across, up, depth = (0, 1, 2) if above else (0, 2, 1)
    placed = [_placed(geom, np.asarray(positions, float), np.asarray(quaternions, float)) for geom in body.geoms]
    size = 2.0 * AROUND * _reach(body, home)
    middle = home.mean(axis=0)
    if not any(_is_furniture(geom) for geom in body.geoms):
        middle[across] = np.asarray(positions)[:, across].mean()
    shift = np.array([size / 2 - middle[across], size / 2 + middle[up]])

    def seen(points: np.ndarray) -> np.ndarray:
        return np.stack([points[..., across], -points[..., up]], axis=-1) + shift

    order = sorted(range(len(placed)), key=lambda i: placed[i][0][depth] * (1.0 if above else -1.0))
    geoms = [(body.geoms[i], *placed[i]) for i in order]
    grounds = [] if above else [at for geom, at, _ in geoms if geom.kind == "plane"]
    shapes = [_shape(geom, at, turn, seen) for geom, at, turn in geoms if geom.kind != "plane"]
    background = [paper(size, size), *(ground for at in grounds for ground in _ground(float(seen(at)[1]), size))]
    return Scene(size, size, tuple(background), tuple(shapes))


def _reach(body: Body3d, home: np.ndarray) -> float:
    """How far geoms go from the robot's middle, about."""
    middle, here = home.mean(axis=0), np.zeros(3)
    ends = [
        float(np.linalg.norm((here if g.frame == WORLD else home[g.frame]) + g.position - middle) + max(g.size))
        for g in body.geoms
        if g.frame != WORLD or _is_furniture(g)
    ]
    return max(ends, default=1.0)


def _is_furniture(geom: Geom) -> bool:
    return geom.frame == WORLD and geom.kind != "plane"


def _placed(geom: Geom, positions: np.ndarray, quaternions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a geom's middle is in the world, and its axes as columns."""
    own = _matrix(np.asarray(geom.quaternion))
    if geom.frame == WORLD:
        return np.asarray(geom.position), own
    turn = _matrix(quaternions[geom.frame])
    return positions[geom.frame] + turn @ np.asarray(geom.position), turn @ own


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _shape(geom: Geom, at: np.ndarray, turn: np.ndarray, seen: Any) -> Shape:
    color = "#" + "".join(f"{round(255 * channel):02x}" for channel in geom.color[:3])
    radius, half, _ = geom.size
    if geom.kind == "sphere":
        x, y = seen(at).tolist()
        return Circle(x, y, radius, color)
    if geom.kind == "capsule":
        ends = seen(np.stack([at - half * turn[:, 2], at + half * turn[:, 2]]))
        return Polyline(tuple(map(tuple, ends.tolist())), 2.0 * radius, color)
    return Polygon(_outline(seen(at + _corners(geom) @ turn.T)), color)


def _corners(geom: Geom) -> np.ndarray:
    """Points whose hull is the geom, or nearly."""
    if geom.kind == "box":
        return np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * np.asarray(geom.size)
    angles = np.arange(ROUND) * (2.0 * np.pi / ROUND)
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(ROUND)], axis=1)
    if geom.kind == "cylinder":
        rim = geom.size[0] * circle
        return np.concatenate([rim + np.array([0.0, 0.0, side * geom.size[1]]) for side in (-1.0, 1.0)])
    heights = np.linspace(-1.0, 1.0, 9)[:, None, None]
    ball = np.sqrt(1.0 - heights**2) * circle + heights * np.array([0.0, 0.0, 1.0])
    return ball.reshape(-1, 3) * np.asarray(geom.size)


def _outline(points: np.ndarray) -> tuple[tuple[float, float], ...]:
    """The convex hull of points in the plane, by Andrew's monotone chain."""
    listed = sorted(map(tuple, points.tolist()))
    hull: list[tuple[float, float]] = []
    for run in (listed, listed[::-1]):
        start = len(hull)
        for point in run:
            while len(hull) >= start + 2 and _turns_right(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        hull.pop()
    return tuple(hull)


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0.0


def _ground(height: float, size: float) -> list[Shape]:
    if height >= size:
        return []
    top = max(height, 0.0)
    return [Rect(0.0, top, size, size - top, GROUND), Line(0.0, top, size, top, 0.004 * size, INK)]
