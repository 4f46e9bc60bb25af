"""Solids and where rays meet them: in a solid's own frame, whose z axis is that of capsules and cylinders.

Rays are an origin and a direction each, [N, 3]; a solid is met at origin + t direction, t infinite for a miss. All is
in float32, so origins should be near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

Rays = Float[np.ndarray, "N 3"]
Times = Float[np.ndarray, " N"]
Size = Sequence[float]
Meeting = tuple[Times, Rays]

NEAR = 1e-6


def _smaller_root(a: Times, b: Times, c: Times) -> Times:
    """Returns the smaller root of a t^2 + 2 b t + c, if there is a positive one."""
    inside = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (-b - np.sqrt(np.maximum(inside, 0.0))) / a
    return np.where((inside > 0.0) & (t > NEAR), t, np.inf)


def _dot(a: Float[np.ndarray, "N d"], b: Float[np.ndarray, "N d"]) -> Times:
    return np.einsum("ni,ni->n", a, b)


def _at(origin: Rays, direction: Rays, t: Times) -> Rays:
    return origin + np.where(np.isfinite(t), t, 0.0)[:, None] * direction


def _ellipsoid(origin: Rays, direction: Rays, size: Size) -> Meeting:
    half = np.array(size, np.float32)
    o, d = origin / half, direction / half
    t = _smaller_root(_dot(d, d), _dot(o, d), _dot(o, o) - 1.0)
    return t, _at(o, d, t) / half


def _sphere(origin: Rays, direction: Rays, size: Size) -> Meeting:
    return _ellipsoid(origin, direction, (size[0],) * 3)


def _tube(origin: Rays, direction: Rays, radius: float, half: float) -> Times:
    """Returns a cylinder without its ends."""
    o, d = origin[:, :2], direction[:, :2]
    t = _smaller_root(_dot(d, d), _dot(o, d), _dot(o, o) - radius * radius)
    return np.where(np.abs(_at(origin, direction, t)[:, 2]) <= half, t, np.inf)


def _capsule(origin: Rays, direction: Rays, size: Size) -> Meeting:
    radius, half = size[:2]
    times = [_tube(origin, direction, radius, half)]
    for end in (-half, half):
        o = origin - np.array([0.0, 0.0, end], np.float32)
        times.append(_smaller_root(_dot(direction, direction), _dot(o, direction), _dot(o, o) - radius * radius))
    t = np.minimum.reduce(times)
    normal = _at(origin, direction, t)
    normal[:, 2] -= np.clip(normal[:, 2], -half, half)
    return t, normal


def _cylinder(origin: Rays, direction: Rays, size: Size) -> Meeting:
    radius, half = size[:2]
    side = _tube(origin, direction, radius, half)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = (-half * np.sign(direction[:, 2]) - origin[:, 2]) / direction[:, 2]
    place = _at(origin, direction, cap)
    cap = np.where((cap > NEAR) & (_dot(place[:, :2], place[:, :2]) <= radius * radius), cap, np.inf)
    normal = _at(origin, direction, side) * np.array([1.0, 1.0, 0.0], np.float32)
    up = np.array([0.0, 0.0, 1.0], np.float32) * -np.sign(direction[:, 2:])
    return np.minimum(side, cap), np.where((cap < side)[:, None], up, normal)


def _box(origin: Rays, direction: Rays, size: Size) -> Meeting:
    half = np.array(size, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (-half - origin) / direction, (half - origin) / direction
    enter, leave = np.fmin(a, b), np.fmax(a, b)
    t = enter.max(axis=1)
    face = np.arange(3) == enter.argmax(axis=1)[:, None]
    return np.where((t < leave.min(axis=1)) & (t > NEAR), t, np.inf), -np.sign(direction) * face


def _plane(origin: Rays, direction: Rays, size: Size) -> Meeting:
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -origin[:, 2] / direction[:, 2]
    place = np.abs(_at(origin, direction, t)[:, :2])
    within = np.all([place[:, i] <= (half or np.inf) for i, half in enumerate(size[:2])], axis=0)
    up = np.array([0.0, 0.0, 1.0], np.float32) * -np.sign(direction[:, 2:])
    return np.where((t > NEAR) & within, t, np.inf), up


MEET: dict[str, Callable[[Rays, Rays, Size], Meeting]] = {
    "box": _box,
    "capsule": _capsule,
    "cylinder": _cylinder,
    "ellipsoid": _ellipsoid,
    "plane": _plane,
    "sphere": _sphere,
}


def bound(kind: str, size: Size) -> tuple[float, float]:
    """Returns a capsule that holds the solid: its radius, and its half length along z, which may be 0."""
    a, b, c = size
    match kind:
        case "sphere":
            return a, 0.0
        case "capsule" | "cylinder":
            return a, b
        case "ellipsoid":
            return max(a, b, c), 0.0
        case "plane":
            return (float(np.hypot(a, b)) if a and b else np.inf), 0.0
        case _:
            return float(np.linalg.norm((a, b, c))), 0.0
