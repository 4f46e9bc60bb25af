"""Planes and the geoms above them: the plane is the first, its normal that of every contact (mjc_PlaneSphere ...)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

from ..algebra.scalar import ZERO, Num, sqrt, where
from ..algebra.vector import ZERO3, Vec
from .geom import ContactPoint, GeomInfo


def _plane_point(plane: GeomInfo, point: Vec, tangent: Vec = ZERO3) -> ContactPoint:
    """Returns the contact of the plane and a point of the other geom's surface."""
    dist = (point - plane.frame.pos).dot(plane.axis)
    return ContactPoint(dist, point - plane.axis * (0.5 * dist), plane.axis, tangent)


def plane_sphere(plane: GeomInfo, sphere: GeomInfo) -> list[ContactPoint]:
    """Returns one point, below the centre."""
    return [_plane_point(plane, sphere.frame.pos - plane.axis * sphere.size[0])]


def plane_capsule(plane: GeomInfo, capsule: GeomInfo) -> list[ContactPoint]:
    """Returns one point at each end."""
    axis, (radius, half, _) = capsule.axis, capsule.size
    below = capsule.frame.pos - plane.axis * radius
    return [_plane_point(plane, below + axis * end, axis) for end in (half, -half)]


def plane_ellipsoid(plane: GeomInfo, ellipsoid: GeomInfo) -> list[ContactPoint]:
    """Returns the deepest point: that whose own normal is the plane's, turned round."""
    turn = ellipsoid.frame.mat
    scaled = Vec(*(s * x for s, x in zip(ellipsoid.size, turn.transpose() @ plane.axis, strict=True)))
    depth = sqrt(scaled.dot(scaled))
    deepest = Vec(*(-(s * x / depth) for s, x in zip(ellipsoid.size, scaled, strict=True)))
    return [_plane_point(plane, ellipsoid.frame.pos + turn @ deepest)]


def plane_cylinder(plane: GeomInfo, cylinder: GeomInfo) -> list[ContactPoint]:
    """Returns four points: the deepest of the lower rim, that of the upper one above it, and two more of the lower."""
    radius, half, _ = cylinder.size
    x, y, z = cylinder.frame.mat.columns()
    up = cylinder.frame.mat.transpose() @ plane.axis  # what is left of it beside z does not cancel out where z is up
    axis = z * where(up.z > 0.0, -1.0, 1.0)
    _, down = Vec(-up.x, -up.y, ZERO).norm_and_unit()
    spoke = (x * down.x + y * down.y) * radius
    low, high = cylinder.frame.pos + axis * half, cylinder.frame.pos - axis * half
    across = spoke.cross(axis) * (0.5 * math.sqrt(3.0))
    back = low - spoke * 0.5
    return [_plane_point(plane, point) for point in (low + spoke, high + spoke, back + across, back - across)]


def plane_box(plane: GeomInfo, box: GeomInfo) -> list[ContactPoint]:
    """Returns four corners: of each two that face each other across the centre, the lower one.

    MuJoCo lists them in the order of their coordinates in the box: x changes fastest, then y.
    """
    x, y, z = (axis * size for axis, size in zip(box.frame.mat.columns(), box.size, strict=True))
    sides = list(product((-1.0, 1.0), repeat=2))
    corners = [x + y * second + z * third for second, third in sides]
    above = [corner.dot(plane.axis) > 0.0 for corner in corners]

    def order() -> list[Num]:
        places = [1.0 + (1.0 + second) + 2.0 * (1.0 + third) for second, third in sides]
        return [where(turned, 7.0 - place, place) for turned, place in zip(above, places, strict=True)]

    points = [box.frame.pos + c * where(turned, -1.0, 1.0) for c, turned in zip(corners, above, strict=True)]
    return [replace(_plane_point(plane, point), order=order) for point in points]
