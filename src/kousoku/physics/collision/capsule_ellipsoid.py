"""Capsules against ellipsoids: the nearest sphere in the capsule, and the point of the ellipsoid nearest to it.

Seen along the capsule's axis, the ellipsoid is an ellipse and the axis a point. The nearest point of the ellipse tells
which point of the ellipsoid is nearest to the axis without its ends. As the signed distance from a convex shape is
convex along a line, the capsule's place that is closest to that point is the nearest one. Where the axis goes far
through the ellipsoid, the shortest way out of that place may not be one for all of it: then it is that at right
angles to the axis, or one of an end, which is searched.

References:
    Eberly (2013), Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid, sections 2 and 3.
"""

from __future__ import annotations

from ..algebra.scalar import ZERO, Num, absolute, clip, logical_and, maximum, minimum, sqrt, total, where
from ..algebra.vector import UNIT_VECTORS, Mat, Vec
from .geom import ContactPoint, GeomInfo, sphere_contact, where_vec
from .penetration import Overlap, shortest_way_out
from .sphere_ellipsoid import distance_to_ellipsoid

ROUND = 1e-6
"""Of the square of its mean half axis: how much the half axes of an ellipse differ that is taken for a circle."""
SAME = 1e-5
"""Of the ellipsoid's shortest half axis: how much two distances may differ that are taken for the same."""


def capsule_ellipsoid(capsule: GeomInfo, ellipsoid: GeomInfo) -> list[ContactPoint]:
    """Returns one point."""
    turn, size = ellipsoid.frame.mat, ellipsoid.size
    x, y, axis = (turn.transpose() @ column for column in capsule.frame.mat.columns())
    centre, radius, half = ellipsoid.local(capsule.frame.pos), capsule.size[0], capsule.size[1]
    sideways = _sideways(centre, Mat(x, y, axis), size)
    reach, touched = _support(sideways, size)
    place = clip((touched - centre).dot(axis), -half, half)
    distance, outwards = distance_to_ellipsoid(centre + axis * place, size)

    # A direction that parts the whole capsule by the distance of one place is the best of all.
    overlap = Overlap((Mat(*(e * (a * a) for e, a in zip(UNIT_VECTORS, size, strict=True))),), centre, axis * half)
    outwards = where_vec(centre.dot(outwards) < 0.0, -outwards, outwards)
    through = overlap.depth(outwards) > SAME * minimum(minimum(size[0], size[1]), size[2]) - distance
    starts = [(start, side) for start in (*UNIT_VECTORS, sideways) for side in (-1.0, 1.0)]
    way = shortest_way_out(overlap, through, outwards, starts)
    side = where(way.dot(axis) > 0.0, -1.0, 1.0)
    way = overlap.newton_step(way, side)
    along, across = -overlap.depth(way), centre.dot(sideways) - reach
    aside = logical_and(through, across > along)
    place = where(logical_and(through, along >= across), half * side, place)
    outwards = where_vec(aside, sideways, where_vec(through, way, outwards))
    spot, dist = capsule.frame.pos + capsule.axis * place, where(through, maximum(across, along), distance)
    return [sphere_contact(spot, radius, dist, -(turn @ outwards))]


def _support(normal: Vec, size: list[Num]) -> tuple[Num, Vec]:
    """Returns how far the ellipsoid reaches in a direction, and its point that does."""
    scaled = Vec(*(a * n for a, n in zip(size, normal, strict=True)))
    reach = scaled.norm()
    return reach, Vec(*(a * n / reach for a, n in zip(size, scaled, strict=True)))


def _sideways(centre: Vec, frame: Mat, size: list[Num]) -> Vec:
    """Returns the direction at right angles to a line through `centre` in which the ellipsoid is farthest from it.

    The line is along the frame's last axis; the first two span the plane that the ellipsoid's shadow lies in.
    """
    x, y, axis = frame
    squares = [a * a for a in size]
    xx, xy, yy = (total(s * u * v for s, u, v in zip(squares, a, b, strict=True)) for a, b in ((x, x), (x, y), (y, y)))
    mean, tilt = 0.5 * (xx + yy), Vec(0.5 * (xx - yy), xy, ZERO)
    uneven = tilt.dot(tilt) > (ROUND * mean) * (ROUND * mean)
    tilt = Vec(where(uneven, tilt.x, 0.0), where(uneven, tilt.y, 0.0), ZERO)
    spread, (cosine, sine, _) = tilt.norm_and_unit()
    more = sqrt(0.5 + 0.5 * absolute(cosine))
    less = 0.5 * sine / more
    level = cosine > 0.0
    cosine, sine = where(level, more, less), where(level, less, more)
    long, short = x * cosine + y * sine, y * cosine - x * sine
    most = sqrt(mean + spread)
    a, b, c = size
    least = Vec(b * c * axis.x, c * a * axis.y, a * b * axis.z).norm() / most
    _, outwards = distance_to_ellipsoid(Vec(centre.dot(short), centre.dot(long), ZERO), [least, most, most])
    return short * outwards.x + long * outwards.y
