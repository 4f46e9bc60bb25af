"""Planes and the shapes above them: the plane is the first, its normal that of every contact."""

from __future__ import annotations

import math
from itertools import product

from ..algebra.scalar import ZERO, sqrt, where
from ..algebra.vector import NOWHERE, Vec
from .geom import Geom, Touch


def _touch(plane: Geom, point: Vec, along: Vec = NOWHERE) -> Touch:
    """Of the plane and a point of the other shape's surface."""
    distance = (point - plane.frame.pos).dot(plane.axis)
    return Touch(distance, point - plane.axis * (0.5 * distance), plane.axis, along)


def plane_sphere(plane: Geom, sphere: Geom) -> list[Touch]:
    """One point below the centre."""
    return [_touch(plane, sphere.frame.pos - plane.axis * sphere.size[0])]


def plane_capsule(plane: Geom, capsule: Geom) -> list[Touch]:
    """One point at each end."""
    axis, (radius, half, _) = capsule.axis, capsule.size
    below = capsule.frame.pos - plane.axis * radius
    return [_touch(plane, below + axis * end, axis) for end in (half, -half)]


def plane_ellipsoid(plane: Geom, ellipsoid: Geom) -> list[Touch]:
    """The deepest point: that whose own normal is the plane's, turned round."""
    turn = ellipsoid.frame.mat
    scaled = Vec(*(s * x for s, x in zip(ellipsoid.size, turn.transposed() @ plane.axis, strict=True)))
    depth = sqrt(scaled.dot(scaled))
    deepest = Vec(*(-(s * x / depth) for s, x in zip(ellipsoid.size, scaled, strict=True)))
    return [_touch(plane, ellipsoid.frame.pos + turn @ deepest)]


def plane_cylinder(plane: Geom, cylinder: Geom) -> list[Touch]:
    """The deepest point of the lower rim, that of the upper one above it, and two that make a triangle on the lower."""
    radius, half, _ = cylinder.size
    x, y, z = cylinder.frame.mat.columns()
    up = cylinder.frame.mat.transposed() @ plane.axis  # what is left of it beside z does not cancel out where z is up
    axis = z * where(up.z > 0.0, -1.0, 1.0, up.z)
    _, down = Vec(-up.x, -up.y, ZERO).direction()
    spoke = (x * down.x + y * down.y) * radius
    low, high = cylinder.frame.pos + axis * half, cylinder.frame.pos - axis * half
    across = spoke.cross(axis) * (0.5 * math.sqrt(3.0))
    back = low - spoke * 0.5
    return [_touch(plane, point) for point in (low + spoke, high + spoke, back + across, back - across)]


def plane_box(plane: Geom, box: Geom) -> list[Touch]:
    """Four corners: of each two that face each other across the centre, the lower one."""
    x, y, z = (axis * size for axis, size in zip(box.frame.mat.columns(), box.size, strict=True))
    touches = []
    for second, third in product((-1.0, 1.0), repeat=2):
        corner = x + y * second + z * third
        above = corner.dot(plane.axis)
        touches.append(_touch(plane, box.frame.pos + corner * where(above > 0.0, -1.0, 1.0, above)))
    return touches
