"""Tendons round spheres and cylinders: the shortest way from site to site past a geom (mju_wrap).

It is found in the plane of a circle: of both sites and the sphere's centre, or across the cylinder, along which the
tendon then climbs evenly. A side site in the geom holds the tendon inside, where it touches the circle at one point.

References:
    MuJoCo documentation, XML reference, spatial/geom; Modeling, "Tendons".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..algebra.scalar import (
    MINVAL,
    ONE,
    ZERO,
    Bool,
    Num,
    absolute,
    atan2,
    clip,
    cos,
    logical_and,
    logical_any,
    logical_not,
    maximum,
    minimum,
    sin,
    sqrt,
    where,
)
from ..algebra.vector import UNIT_VECTORS, Vec
from .kinematics import Frame

NEWTON_STEPS = 10


class _Point(NamedTuple):
    """A point, or a direction, in the plane of the circle, whose centre is the origin."""

    x: Num
    y: Num

    def dot(self, other: _Point) -> Num:
        return self.x * other.x + self.y * other.y

    def cross(self, other: _Point) -> Num:
        return self.x * other.y - self.y * other.x

    def plus(self, other: _Point, share: Num = ONE) -> _Point:
        return _Point(self.x + share * other.x, self.y + share * other.y)

    def unit(self) -> _Point:
        """Returns the direction; x for the origin."""
        unit = Vec(self.x, self.y, ZERO).norm_and_unit()[1]
        return _Point(unit.x, unit.y)

    def turned(self, angle: Num) -> _Point:
        c, s = cos(angle), sin(angle)
        return _Point(c * self.x - s * self.y, s * self.x + c * self.y)

    def scaled(self, factor: Num) -> _Point:
        return _Point(factor * self.x, factor * self.y)


@dataclass(frozen=True)
class _Arc:
    """A way along the circle.

    Attributes:
        touches: whether the tendon comes to it; where not, all else means nothing.
        length: of the way.
        first, last: where it begins and ends.
        angle: from the first to the last about the centre, as it turns.
    """

    touches: Bool
    length: Num
    first: _Point
    last: _Point
    angle: Num


@dataclass(frozen=True)
class Wrap:
    """A tendon's way along a geom's surface.

    Attributes:
        touches: whether it comes to the surface; where not, all else means nothing.
        length: of the way along the surface, metres.
        first, last: where it meets and leaves the surface, in the world.
        between: points of the way along the surface, in the world, equally far from one another and from both ends.
    """

    touches: Bool
    length: Num
    first: Vec
    last: Vec
    between: tuple[Vec, ...] = ()


def wrap(start: Vec, end: Vec, frame: Frame, radius: Num, is_sphere: bool, side: Vec | None, between: int = 0) -> Wrap:
    """Returns the way of a tendon past a sphere or cylinder.

    Args:
        start, end: the sites before and after it, in the world.
        frame: the geom's.
        radius: the geom's, metres.
        is_sphere: whether it is a sphere, or else a cylinder.
        side: in the geom's frame, a site on the side that the tendon passes on, or in the geom; None for the shorter
            way.
        between: how many points of the way along the surface to tell, beside both of its ends.
    """
    to_local = frame.mat.transpose()
    p0, p1 = to_local @ (start - frame.pos), to_local @ (end - frame.pos)
    axes = _plane(p0, p1) if is_sphere else UNIT_VECTORS[:2]
    projected = [_Point(p.dot(axes[0]), p.dot(axes[1])) for p in (p0, p1)]
    central = [d.dot(d) < MINVAL**2 for d in projected]
    # No way goes round a site at the centre: another place there keeps derivatives from being NaN.
    beside = _Point(2.0 * radius, ZERO)
    d0, d1 = (_where_point(at, beside, d) for at, d in zip(central, projected, strict=True))
    towards = None if side is None else _Point(side.dot(axes[0]), side.dot(axes[1])).unit()
    is_inside = False if side is None else side.dot(side) < radius * radius
    # Mostly a side site is fixed to the geom, so that it is known which of both it is.
    if isinstance(is_inside, bool):
        arc = _inside(d0, d1, radius) if is_inside else _outside(d0, d1, radius, towards)
    else:
        arc = _either(is_inside, _inside(d0, d1, radius), _outside(d0, d1, radius, towards))
    touches = logical_and(arc.touches, logical_not(logical_any(central)))
    shares = [(n + 1) / (between + 1) for n in range(between)]
    turned = [arc.first.turned(arc.angle * share) for share in shares]
    first, last, *inner = (axes[0] * q.x + axes[1] * q.y for q in (arc.first, arc.last, *turned))
    length = arc.length
    if not is_sphere:
        before, after = _distance(d0, arc.first), _distance(d1, arc.last)
        climb = (p1.z - p0.z) / maximum(before + length + after, MINVAL)
        first = Vec(first.x, first.y, p0.z + climb * before)
        last = Vec(last.x, last.y, p0.z + climb * (before + length))
        heights = [p0.z + climb * (before + length * share) for share in shares]
        inner = [Vec(point.x, point.y, z) for point, z in zip(inner, heights, strict=True)]
        height = climb * length
        length = Vec(length, height, ZERO).norm_and_unit()[0]
    return Wrap(touches, length, frame.transform(first), frame.transform(last), tuple(map(frame.transform, inner)))


def _plane(p0: Vec, p1: Vec) -> tuple[Vec, Vec]:
    """Returns two axes of the plane of two points and the origin, the first towards `p0`; of some plane, if there are
    many.
    """
    x = p0.norm_and_unit()[1]
    normal = p0.cross(p1)
    flat = normal.dot(normal) < MINVAL**2
    a, b, c = (absolute(part) for part in x)
    second = logical_and(b > a, b > c)
    third = logical_and(logical_and(c > a, c > b), logical_not(second))
    first = logical_not(logical_any((second, third)))
    other = x.cross(Vec(*(where(largest, 0.0, 1.0) for largest in (first, second, third))))
    normal = Vec(*(where(flat, i, j) for i, j in zip(other, normal, strict=True))).norm_and_unit()[1]
    return x, normal.cross(x)


def _outside(d0: _Point, d1: _Point, radius: Num, side: _Point | None) -> _Arc:
    """Returns the way round the circle along its tangents from two points.

    It turns about the centre as the straight way does; the other way, if the straight one passes behind the centre as
    seen from a side site. If that goes through the centre, it turns to the side.
    """
    square, way = radius * radius, _Point(d1.x - d0.x, d1.y - d0.y)
    long = way.dot(way)
    nearest = d0.plus(way, clip(-(way.dot(d0) / maximum(long, MINVAL)), ZERO, ONE))
    behind = False if side is None else _passes_behind(d0, d1, side)
    free = logical_and(nearest.dot(nearest) > square, logical_not(behind))
    none = logical_any((d0.dot(d0) < square, d1.dot(d1) < square, radius < MINVAL, long < MINVAL, free))
    about = d0.cross(d1)
    if side is not None:
        about = where(absolute(about) < MINVAL, d0.cross(side), about)
    turn = where(about >= 0.0, 1.0, -1.0) * where(behind, -1.0, 1.0)
    first, last = _tangent(d0, square, radius, turn), _tangent(d1, square, radius, -turn)
    angle = turn * atan2(first.cross(last), first.dot(last))
    # At most half a turn, which rounding must not make a whole one of, but for a way that goes behind.
    angle = where(behind, where(angle < 0.0, angle + 2.0 * math.pi, angle), maximum(angle, ZERO))
    return _Arc(logical_not(none), radius * angle, first, last, turn * angle)


def _passes_behind(d0: _Point, d1: _Point, side: _Point) -> Bool:
    """Returns whether a straight way crosses the line from the side site through the centre, behind the centre."""
    beside0, beside1 = side.cross(d0), side.cross(d1)
    ahead = (side.dot(d1) * beside0 - side.dot(d0) * beside1) * (beside0 - beside1)
    return logical_and(beside0 * beside1 < 0.0, ahead < 0.0)


def _tangent(point: _Point, square: Num, radius: Num, turn: Num) -> _Point:
    """Returns where a line from a point outside touches the circle, such that it goes on with a turn, 1 or -1."""
    distance = maximum(point.dot(point), MINVAL)
    across = turn * radius * sqrt(maximum(distance - square, MINVAL))
    x, y = point.x * square - across * point.y, point.y * square + across * point.x
    return _Point(x / distance, y / distance)


def _inside(d0: _Point, d1: _Point, radius: Num) -> _Arc:
    """Returns the one point of the circle that a way outside of it, held to its inner side, touches.

    The way is reflected there. With t for the angle that both parts have to the radius, and a and b for the radius by
    the distances of its ends, asin(a sin t) + asin(b sin t) - 2 t + g = 0, g the angle between the ends.
    """
    lengths = [sqrt(maximum(d.dot(d), MINVAL)) for d in (d0, d1)]
    way = _Point(d1.x - d0.x, d1.y - d0.y)
    long = way.dot(way)
    share = -(way.dot(d0) / maximum(long, MINVAL))
    nearest = d0.plus(way, share)
    through = logical_and(logical_and(share > 0.0, share < 1.0), nearest.dot(nearest) <= radius * radius)
    through = logical_and(through, long >= MINVAL)
    between = absolute(atan2(d0.cross(d1), d0.dot(d1)))
    opposite = cos(between) < -1.0 + MINVAL
    none = logical_any((lengths[0] <= radius, lengths[1] <= radius, radius < MINVAL, through, opposite))
    a, b = (minimum(radius / maximum(length, MINVAL), ONE) for length in lengths)
    angle, found = _reflection(a, b, between)
    ahead = d0.cross(d1) > 0.0
    base = _where_point(ahead, d0.unit(), d1.unit())
    turned = base.turned(angle - _asin(where(ahead, a, b) * sin(angle))).scaled(radius)
    middle = d0.plus(d1).unit().scaled(radius)
    found = logical_and(found, cos(between) <= 1.0 - MINVAL)
    touch = _where_point(found, turned, middle)
    return _Arc(logical_not(none), ZERO, touch, touch, ZERO)


def _reflection(a: Num, b: Num, between: Num) -> tuple[Num, Bool]:
    """Returns the angle at which both ends are reflected, and whether there is one."""

    def lacking(t: Num) -> Num:
        return _asin(a * sin(t)) + _asin(b * sin(t)) - 2.0 * t + between

    t = Num(0.5 * math.pi)
    found = lacking(t) <= 0.0
    for _ in range(NEWTON_STEPS):
        s, c = sin(t), cos(t)
        slope = _slope(a, s, c) + _slope(b, s, c) - 2.0
        t = clip(t - lacking(t) / minimum(slope, -MINVAL), ZERO, Num(0.5 * math.pi))
    return t, found


def _slope(a: Num, s: Num, c: Num) -> Num:
    """Returns the derivative of asin(a sin t)."""
    return a * c / sqrt(maximum(1.0 - a * a * s * s, MINVAL))


def _asin(x: Num) -> Num:
    return atan2(x, sqrt(maximum(1.0 - x * x, MINVAL)))


def _either(condition: Bool, one: _Arc, other: _Arc) -> _Arc:
    touches = logical_any((logical_and(condition, one.touches), logical_and(logical_not(condition), other.touches)))
    first, last = (_where_point(condition, a, b) for a, b in ((one.first, other.first), (one.last, other.last)))
    length, angle = (where(condition, a, b) for a, b in ((one.length, other.length), (one.angle, other.angle)))
    return _Arc(touches, length, first, last, angle)


def _where_point(condition: Bool, one: _Point, other: _Point) -> _Point:
    return _Point(*(where(condition, a, b) for a, b in zip(one, other, strict=True)))


def _distance(one: _Point, other: _Point) -> Num:
    return Vec(one.x - other.x, one.y - other.y, ZERO).norm_and_unit()[0]
