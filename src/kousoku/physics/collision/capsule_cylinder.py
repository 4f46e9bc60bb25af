"""Capsules against cylinders: one ball of the capsule touches, or, lying on a flat end, two points of its side.

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

from ..algebra.scalar import ONE, SMALLEST, ZERO, Num, Truth, absolute, both, clipped, maximum, minimum, sqrt, where
from ..algebra.vector import Vec
from .geom import ABSENT, Geom, Touch, chosen, round_touch

NEWTON_STEPS = 8
NO_ROOT = 1e-9
"""Of the radius squared: the least distance of a multiplier from where it is infinite."""
FLAT = 0.0888
"""Sine of the angle to a flat end below which a capsule lies on it, as MuJoCo has it."""
CORNERS = 16
"""Of the polygon that MuJoCo takes for a flat end when it looks for two points."""
LEAST_SLOPE = 1e-10


@dataclass(frozen=True)
class _Line:
    """A capsule and a cylinder, in the cylinder's frame.

    Attributes:
        centre, axis, arm: of the capsule; the arm goes from the centre to an end of the axis.
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
class _Way:
    """A direction, and what it is worth.

    Attributes:
        gap: how far the capsule's axis is off the cylinder along it, negative if they overlap.
        normal: out of the cylinder.
        place: on the capsule's axis, from -1 to 1, where it touches.
    """

    gap: Num
    normal: Vec
    place: Num

    def or_better(self, other: _Way) -> _Way:
        """The other one, if its gap is larger."""
        better = other.gap > self.gap

        def pick(a: Num, b: Num) -> Num:
            return where(better, b, a, self.gap)

        return _Way(
            pick(self.gap, other.gap), Vec(*map(pick, self.normal, other.normal)), pick(self.place, other.place)
        )


def capsule_cylinder(capsule: Geom, cylinder: Geom) -> list[Touch]:
    """Two points; the second is there if the capsule lies on a flat end."""
    turn, half = cylinder.frame.mat, capsule.size[1]
    axis = turn.transposed() @ capsule.axis
    line = _Line(cylinder.local(capsule.frame.pos), axis, axis * half, half, cylinder.size[0], cylinder.size[1])
    best = reduce(_Way.or_better, [_end(line, -1.0), _end(line, 1.0), _cap(line), *_across(line)])
    spot = capsule.frame.pos + capsule.axis * (half * best.place)
    touch = round_touch(spot, capsule.size[0], best.gap, -(turn @ best.normal))
    side = where(best.normal.z < 0.0, -1.0, 1.0, best.gap)
    low, high, lies = _lying(line, best.normal, side, capsule.size[0], capsule.margin)
    flat = -(turn @ Vec(ZERO, ZERO, side))

    def resting(local: Vec) -> Touch:
        return Touch(
            local.z, cylinder.frame.pos + turn @ Vec(local.x, local.y, side * (line.height + 0.5 * local.z)), flat
        )

    first, second = resting(low), resting(high)
    return [
        Touch(
            where(lies, first.distance, touch.distance),
            chosen(lies, first.point, touch.point, best.gap),
            chosen(lies, flat, touch.normal, best.gap),
        ),
        Touch(where(lies, second.distance, ABSENT, best.gap), second.point, flat),
    ]


def _end(line: _Line, end: float) -> _Way:
    """From the nearest point to an end of the axis; from inside, straight out of the side."""
    point = line.centre + line.arm * end
    reach, side = Vec(point.x, point.y, ZERO).direction()
    over, out = absolute(point.z) - line.height, reach - line.width
    distance, (up, away, _) = Vec(maximum(over, 0.0), maximum(out, 0.0), ZERO).direction()
    inside = distance <= 0.0
    up, away = where(inside, 0.0, up, distance), where(inside, 1.0, away, distance)
    normal = Vec(side.x * away, side.y * away, where(point.z < 0.0, -up, up))
    return _lowest(line, normal, line.width * away + line.height * up, end)


def _cap(line: _Line) -> _Way:
    """Out of the flat end that is nearer to the capsule's centre."""
    return _lowest(line, Vec(ZERO, ZERO, where(line.centre.z < 0.0, -1.0, 1.0, line.centre.z)), line.height, 1.0)


def _lowest(line: _Line, normal: Vec, reach: Num, end: float) -> _Way:
    """A direction in which the cylinder reaches so far, and the nearer end of the axis, of two as near `end`."""
    slope = line.arm.dot(normal)
    gap = line.centre.dot(normal) - absolute(slope) - reach
    return _Way(gap, normal, where(slope * end > 0.0, -end, end, gap))


def _across(line: _Line) -> list[_Way]:
    """At right angles to the capsule's axis: from the cylinder's axis, and from a rim."""
    centre, axis = line.centre, line.axis
    tilt, level = Vec(axis.y, -axis.x, ZERO).direction()
    upright = level.cross(axis)
    x, y = centre.dot(level), centre.dot(upright)
    nearest = (centre.x * level.y - centre.y * level.x) / (where(tilt <= 0.0, 1.0, tilt) * line.half)
    level, upright = (v * where(q < 0.0, -1.0, 1.0, q) for v, q in ((level, x), (upright, y)))
    x, y = absolute(x), absolute(y)
    side = _Way(x - line.width, level, clipped(nearest, -1.0, 1.0))
    above, squeeze = y - line.height * tilt, absolute(axis.z)
    out, up = _from_ellipse(x, above, line.width, squeeze, tilt)
    bent = up * squeeze
    across, _ = Vec(out, bent, ZERO).direction()
    normal = level * out + upright * up
    rim = line.height - line.width * up * tilt / maximum(across, LEAST_SLOPE)
    along = axis.z * rim * where(upright.z < 0.0, -1.0, 1.0, upright.z)
    place = (along - centre.dot(axis)) / line.half
    return [side, _Way(x * out + above * up - line.width * across, normal, clipped(place, -1.0, 1.0))]


def _from_ellipse(x: Num, y: Num, width: Num, squeeze: Num, tilt: Num) -> tuple[Num, Num]:
    """The direction to the point (x, y), x >= 0, from the nearest point of the upper half of an ellipse.

    Its half axes are `width` and `width * squeeze`, where squeeze^2 + tilt^2 = 1. Newton's method as for ellipsoids, in
    the distance of the multiplier from its value at the upper half's end; the upper half from below, if there is such a
    point, is reached by the same steps with the sign changed.
    """
    excess = width * width * tilt * tilt
    below = y < 0.0
    way = where(below, -1.0, 1.0, y)
    reach_x, reach_y = width * x, width * squeeze * absolute(y)
    most = where(below, excess, reach_x + reach_y)
    least = width * width * NO_ROOT
    root = maximum(maximum(where(below, 0.0, reach_x - excess), reach_y), least)
    for _ in range(NEWTON_STEPS):
        span = maximum(way * root + excess, least)
        u, v = reach_x / span, reach_y / root
        square = maximum(u * u + v * v, SMALLEST)
        slope = way * u * u / span + v * v / root
        step = square * (sqrt(square) - 1.0) / maximum(slope, SMALLEST)
        root = maximum(minimum(root + step, most), least)
    span = maximum(way * root + excess, least)
    u = minimum(reach_x / span, ONE)
    rest = 1.0 - u * u
    steep = rest > 0.5
    v = sqrt(where(steep, rest, 1.0))
    _, (out, up, _) = Vec(where(steep, u * squeeze, x * root), where(steep, v, absolute(y) * span), ZERO).direction()
    return out, up


def _lying(line: _Line, normal: Vec, side: Num, radius: Num, margin: Num) -> tuple[Vec, Vec, Truth]:
    """The ends of the part of the capsule's side that lies over a flat end, and whether it does.

    Each is a place across the cylinder's axis, and a distance. As MuJoCo does, a second point beyond the margin is put
    where the first one is.
    """
    reach = radius + 0.5 * margin
    bottom = line.centre - (normal - line.axis * line.axis.dot(normal)) * reach
    low, high = -ONE, ONE
    inner = line.width * math.cos(math.pi / CORNERS)
    for i in range(CORNERS // 2):
        angle = (2 * i + 1) * math.pi / CORNERS
        x, y = math.cos(angle), math.sin(angle)
        slope = line.arm.x * x + line.arm.y * y
        level = absolute(slope) < LEAST_SLOPE
        per = 1.0 / where(level, LEAST_SLOPE, slope)
        middle, stretch = -(bottom.x * x + bottom.y * y) * per, inner * absolute(per)
        low, high = maximum(low, middle - stretch), minimum(high, middle + stretch)

    def at(place: Num) -> Vec:
        point = bottom + line.arm * place
        return Vec(point.x, point.y, side * point.z - line.height + 0.5 * margin)

    one, other = at(low), at(high)
    lower = one.z <= other.z
    first, second = chosen(lower, one, other, one.z), chosen(lower, other, one, one.z)
    cut = where(lower, low, -high) > -1.0
    over = both(low < high, both(absolute(line.axis.z) < FLAT, absolute(normal.z) > 0.0))
    return first, chosen(both(cut, second.z > margin), first, second, one.z), both(over, first.z <= margin)
