"""Capsules against cylinders: one sphere in the capsule touches, or, lying on a flat end, two points of its side.

The signed distance of two convex shapes is the largest gap that any direction leaves between them. The best direction
is one of a few: from the cylinder's nearest point to an end of the capsule's axis, out of a flat end, from one axis to
the other, and, at right angles to the capsule's axis, from the nearest point of a rim. Seen along the capsule's axis, a
rim is an ellipse and the axis a point: there is one nearest to the other.

References:
    Cameron, Culley (1986), Determining the minimum translational distance between two convex polyhedra, section 2.
    Eberly (2013), Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid, section 2.
    MuJoCo documentation, Computation, "Multiple contacts".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from ..algebra.scalar import MINVAL, ONE, ZERO, Bool, Num, absolute, clip, logical_and, maximum, minimum, sqrt, where
from ..algebra.vector import Vec
from .geom import ABSENT, ContactPoint, GeomInfo, sphere_contact, where_vec

NEWTON_STEPS = 8
NO_ROOT = 1e-9
"""Of the radius squared: the least distance of a multiplier from where it is infinite."""
FLAT = 0.0888
"""Sine of the angle to a flat end below which a capsule lies on it, as MuJoCo has it."""
CORNERS = 16
"""Of the polygon that MuJoCo takes for a flat end when it looks for two points."""
LEAST_SLOPE = 1e-10


@dataclass(frozen=True)
class _Pair:
    """A capsule and a cylinder, in the cylinder's frame.

    Attributes:
        centre, axis, arm: the capsule's; the arm goes from the centre to an end of the axis.
        half: length of the arm.
        width, height: radius and half length of the cylinder.
    """

    centre: Vec
    axis: Vec
    arm: Vec
    half: Num
    width: Num
    height: Num


@dataclass(frozen=True)
class _Direction:
    """A direction, and the gap that it leaves.

    Attributes:
        gap: how far the capsule's axis is off the cylinder along it, negative if they overlap.
        normal: out of the cylinder.
        place: position on the capsule's axis, from -1 to 1, where it touches.
    """

    gap: Num
    normal: Vec
    place: Num

    def or_better(self, other: _Direction) -> _Direction:
        """Returns the other one where its gap is larger."""
        better = other.gap > self.gap

        def pick(a: Num, b: Num) -> Num:
            return where(better, b, a)

        return _Direction(
            pick(self.gap, other.gap), Vec(*map(pick, self.normal, other.normal)), pick(self.place, other.place)
        )


def capsule_cylinder(capsule: GeomInfo, cylinder: GeomInfo) -> list[ContactPoint]:
    """Returns two points; the second is there if the capsule lies on a flat end."""
    turn, half = cylinder.frame.mat, capsule.size[1]
    axis = turn.transpose() @ capsule.axis
    pair = _Pair(cylinder.local(capsule.frame.pos), axis, axis * half, half, cylinder.size[0], cylinder.size[1])
    best = reduce(_Direction.or_better, [_end(pair, -1.0), _end(pair, 1.0), _cap(pair), *_across(pair)])
    spot = capsule.frame.pos + capsule.axis * (half * best.place)
    touch = sphere_contact(spot, capsule.size[0], best.gap, -(turn @ best.normal))
    side = where(best.normal.z < 0.0, -1.0, 1.0)
    low, high, lies = _lying(pair, best.normal, side, capsule.size[0], capsule.margin)
    flat = -(turn @ Vec(ZERO, ZERO, side))

    def resting(local: Vec) -> ContactPoint:
        return ContactPoint(
            local.z, cylinder.frame.pos + turn @ Vec(local.x, local.y, side * (pair.height + 0.5 * local.z)), flat
        )

    first, second = resting(low), resting(high)
    return [
        ContactPoint(
            where(lies, first.dist, touch.dist),
            where_vec(lies, first.pos, touch.pos),
            where_vec(lies, flat, touch.normal),
        ),
        ContactPoint(where(lies, second.dist, ABSENT), second.pos, flat),
    ]


def _end(pair: _Pair, end: float) -> _Direction:
    """Returns the direction from the nearest point to an end of the axis; from inside, straight out of the side."""
    point = pair.centre + pair.arm * end
    reach, side = Vec(point.x, point.y, ZERO).norm_and_unit()
    over, out = absolute(point.z) - pair.height, reach - pair.width
    distance, (up, radial, _) = Vec(maximum(over, 0.0), maximum(out, 0.0), ZERO).norm_and_unit()
    inside = distance <= 0.0
    up, radial = where(inside, 0.0, up), where(inside, 1.0, radial)
    normal = Vec(side.x * radial, side.y * radial, where(point.z < 0.0, -up, up))
    return _lowest(pair, normal, pair.width * radial + pair.height * up, end)


def _cap(pair: _Pair) -> _Direction:
    """Returns the direction out of the flat end that is nearer to the capsule's centre."""
    return _lowest(pair, Vec(ZERO, ZERO, where(pair.centre.z < 0.0, -1.0, 1.0)), pair.height, 1.0)


def _lowest(pair: _Pair, normal: Vec, reach: Num, end: float) -> _Direction:
    """Returns a direction in which the cylinder reaches so far, with the nearer end of the axis; `end` if both are."""
    slope = pair.arm.dot(normal)
    gap = pair.centre.dot(normal) - absolute(slope) - reach
    return _Direction(gap, normal, where(slope * end > 0.0, -end, end))


def _across(pair: _Pair) -> list[_Direction]:
    """Returns directions at right angles to the capsule's axis: from the cylinder's axis, and from a rim."""
    centre, axis = pair.centre, pair.axis
    tilt, level = Vec(axis.y, -axis.x, ZERO).norm_and_unit()
    upright = level.cross(axis)
    x, y = centre.dot(level), centre.dot(upright)
    nearest = (centre.x * level.y - centre.y * level.x) / (where(tilt <= 0.0, 1.0, tilt) * pair.half)
    level, upright = (v * where(q < 0.0, -1.0, 1.0) for v, q in ((level, x), (upright, y)))
    x, y = absolute(x), absolute(y)
    side = _Direction(x - pair.width, level, clip(nearest, -1.0, 1.0))
    above, squeeze = y - pair.height * tilt, absolute(axis.z)
    out, up = _from_ellipse(x, above, pair.width, squeeze, tilt)
    bent = up * squeeze
    across, _ = Vec(out, bent, ZERO).norm_and_unit()
    normal = level * out + upright * up
    rim = pair.height - pair.width * up * tilt / maximum(across, LEAST_SLOPE)
    along = axis.z * rim * where(upright.z < 0.0, -1.0, 1.0)
    place = (along - centre.dot(axis)) / pair.half
    return [side, _Direction(x * out + above * up - pair.width * across, normal, clip(place, -1.0, 1.0))]


def _from_ellipse(x: Num, y: Num, width: Num, squeeze: Num, tilt: Num) -> tuple[Num, Num]:
    """Returns the direction to (x, y), x >= 0, from the nearest point of the upper half of an ellipse.

    Its half axes are `width` and `width * squeeze`, where squeeze^2 + tilt^2 = 1. Newton's method as for ellipsoids, in
    the distance of the multiplier from its value at the upper half's end; the upper half from below, if there is such a
    point, is reached by the same steps with the sign changed.
    """
    excess = width * width * tilt * tilt
    below = y < 0.0
    way = where(below, -1.0, 1.0)
    reach_x, reach_y = width * x, width * squeeze * absolute(y)
    most = where(below, excess, reach_x + reach_y)
    least = width * width * NO_ROOT
    root = maximum(maximum(where(below, 0.0, reach_x - excess), reach_y), least)
    for _ in range(NEWTON_STEPS):
        span = maximum(way * root + excess, least)
        u, v = reach_x / span, reach_y / root
        square = maximum(u * u + v * v, MINVAL)
        slope = way * u * u / span + v * v / root
        step = square * (sqrt(square) - 1.0) / maximum(slope, MINVAL)
        root = maximum(minimum(root + step, most), least)
    span = maximum(way * root + excess, least)
    u = minimum(reach_x / span, ONE)
    rest = 1.0 - u * u
    steep = rest > 0.5
    v = sqrt(where(steep, rest, 1.0))
    _, (out, up, _) = Vec(
        where(steep, u * squeeze, x * root), where(steep, v, absolute(y) * span), ZERO
    ).norm_and_unit()
    return out, up


def _lying(pair: _Pair, normal: Vec, side: Num, radius: Num, margin: Num) -> tuple[Vec, Vec, Bool]:
    """Returns the ends of the part of the capsule's side that lies over a flat end, and whether it does.

    Each is a place across the cylinder's axis, and a distance. As MuJoCo does, a second point beyond the margin is put
    where the first one is.
    """
    reach = radius + 0.5 * margin
    bottom = pair.centre - (normal - pair.axis * pair.axis.dot(normal)) * reach
    low, high = -ONE, ONE
    inner = pair.width * math.cos(math.pi / CORNERS)
    for i in range(CORNERS // 2):
        angle = (2 * i + 1) * math.pi / CORNERS
        x, y = math.cos(angle), math.sin(angle)
        slope = pair.arm.x * x + pair.arm.y * y
        level = absolute(slope) < LEAST_SLOPE
        per = 1.0 / where(level, LEAST_SLOPE, slope)
        middle, stretch = -(bottom.x * x + bottom.y * y) * per, inner * absolute(per)
        low, high = maximum(low, middle - stretch), minimum(high, middle + stretch)

    def at(place: Num) -> Vec:
        point = bottom + pair.arm * place
        return Vec(point.x, point.y, side * point.z - pair.height + 0.5 * margin)

    one, other = at(low), at(high)
    lower = one.z <= other.z
    first, second = where_vec(lower, one, other), where_vec(lower, other, one)
    cut = where(lower, low, -high) > -1.0
    over = logical_and(low < high, logical_and(absolute(pair.axis.z) < FLAT, absolute(normal.z) > 0.0))
    return (
        first,
        where_vec(logical_and(cut, second.z > margin), first, second),
        logical_and(over, first.z <= margin),
    )
