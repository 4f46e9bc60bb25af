"""Spheres against ellipsoids: the point of the ellipsoid that is nearest to the sphere's centre.

The nearest point to p is a_i^2 p_i / (t + a_i^2), where t is the largest root of |u(t)| = 1 with
u_i = a_i p_i / (t + a_i^2). Newton's method on 1 / |u(t)|, which is nearly a straight line, comes to it from below. If
p lies inside, on the plane across the shortest axis, |u| may be below 1 at all t: then u along that axis is what lacks.

References:
    Eberly (2013), Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid, section 3.
    Conn, Gould, Toint (2000), Trust-region methods, section 7.3.2: Newton's method on the secular equation.
"""

from __future__ import annotations

from ..algebra.scalar import MINVAL, Num, absolute, logical_and, logical_not, maximum, minimum, sqrt, total, where
from ..algebra.vector import Vec
from .geom import ContactPoint, GeomInfo, sphere_contact

NEWTON_STEPS = 12
ROUNDING = 1e-5


def sphere_ellipsoid(sphere: GeomInfo, ellipsoid: GeomInfo) -> list[ContactPoint]:
    """Returns one point."""
    centre, size = ellipsoid.local(sphere.frame.pos), ellipsoid.size
    distance, outwards = distance_to_ellipsoid(centre, size)
    return [sphere_contact(sphere.frame.pos, sphere.size[0], distance, -(ellipsoid.frame.mat @ outwards))]


def distance_to_ellipsoid(point: Vec, size: list[Num]) -> tuple[Num, Vec]:
    """Returns a point's signed distance from the surface, and the direction away from it, in the ellipsoid's frame."""
    least = minimum(minimum(size[0], size[1]), size[2])
    excess = [(a - least) * (a + least) for a in size]
    reaches = [a * absolute(p) for a, p in zip(size, point, strict=True)]
    x, y, z = (r - e for r, e in zip(reaches, excess, strict=True))
    root = maximum(maximum(x, y), maximum(z, MINVAL))
    for _ in range(NEWTON_STEPS):
        shares = [1.0 / (root + e) for e in excess]
        u = [r * q for r, q in zip(reaches, shares, strict=True)]
        square = maximum(total(x * x for x in u), MINVAL)
        slope = total(x * x * q for x, q in zip(u, shares, strict=True))
        step = square * (sqrt(square) - 1.0) / maximum(slope, MINVAL)
        root = maximum(root + step, MINVAL)
    return _distance_at(root, point, size, least, excess)


def _distance_at(root: Num, point: Vec, size: list[Num], least: Num, excess: list[Num]) -> tuple[Num, Vec]:
    """Returns the signed distance and the direction that belong to a root of the secular equation."""
    across = [p / (root + e) for p, e in zip(point, excess, strict=True)]
    lacking = 1.0 - total(a * a * s * s for a, s in zip(across, size, strict=True))
    lacks = lacking > ROUNDING
    side = sqrt(where(lacks, lacking, 1.0)) / least
    for i, e in enumerate(excess):
        shortest = e <= 0.0
        across[i] = where(logical_and(lacks, shortest), side, across[i])
        lacks = logical_and(lacks, logical_not(shortest))
    length, normal = Vec(*across).norm_and_unit()
    return (root - least * least) * length, normal
