"""Rays and shapes: where a line is in a shape, what a ray meets first, which points are inside.

A shape is made of convex parts, and a line is in each of them along one interval.

References:
    MuJoCo documentation, XML reference, sensor/touch and sensor/rangefinder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ..algebra.scalar import (
    MINVAL,
    ONE,
    ZERO,
    Bool,
    Num,
    absolute,
    logical_and,
    logical_any,
    logical_not,
    maximum,
    minimum,
    sqrt,
    where,
)
from ..algebra.vector import Vec
from .geom import GeomType

FAR = 1e10
"""Metres: beyond all that a ray may meet."""

Interval = tuple[Num, Num]


def ray_hits(shape: int, size: Sequence[Num], start: Vec, direction: Vec) -> Bool:
    """Returns whether a ray from `start` along `direction`, in the shape's frame, meets it."""
    return logical_any([_ahead(*interval) for interval in RAY_INTERVALS[shape](size, start, direction)])


def contains(shape: int, size: Sequence[Num], point: Vec) -> Bool:
    """Returns whether a point, in the shape's frame, is in it and not on its surface."""
    if shape == GeomType.BOX:
        return reduce(logical_and, (absolute(x) < s for x, s in zip(point, size, strict=True)))
    if shape == GeomType.ELLIPSOID:
        point, size = Vec(*(x / s for x, s in zip(point, size, strict=True))), [ONE]
    if shape == GeomType.CAPSULE:
        point = point._replace(z=maximum(absolute(point.z) - size[1], 0.0))
    if shape == GeomType.CYLINDER:
        return logical_and(absolute(point.z) < size[1], point.x * point.x + point.y * point.y < size[0] * size[0])
    return point.dot(point) < size[0] * size[0]


def ray_distance(shape: int, size: Sequence[Num], start: Vec, direction: Vec) -> Num:
    """Returns how far along a ray, in the shape's frame, its surface is; `FAR` if the ray misses it (mju_rayGeom).

    A plane is met from above, and only within the rectangle that is drawn, if its size says that there is one.
    """
    if shape == GeomType.PLANE:
        return _to_plane(size, start, direction)
    enter, leave = Num(FAR), Num(-FAR)
    for low, high in RAY_INTERVALS[shape](size, start, direction):
        none = high < low
        enter = minimum(enter, where(none, FAR, low))
        leave = maximum(leave, where(none, -FAR, high))
    return where(leave >= 0.0, where(enter >= 0.0, enter, leave), FAR)


def _to_plane(size: Sequence[Num], start: Vec, direction: Vec) -> Num:
    level = direction.z > -MINVAL
    found = start.z / where(level, 1.0, -direction.z)
    missed = [level, found < 0.0]
    for half, at, step in zip(size[:2], start, direction, strict=False):
        missed.append(logical_and(half > 0.0, absolute(at + found * step) > half))
    return where(logical_any(missed), FAR, found)


def _ahead(enter: Num, leave: Num) -> Bool:
    """Returns whether there is anything of an interval from zero on."""
    return maximum(enter, 0.0) <= leave


def _ball(size: Sequence[Num], start: Vec, direction: Vec) -> list[Interval]:
    """Returns where a line is in an ellipsoid of half axes `size`: |start + t direction| < 1 with the axes as units."""
    start, direction = (Vec(*(x / s for x, s in zip(v, size, strict=True))) for v in (start, direction))
    return [_roots(direction.dot(direction), direction.dot(start), start.dot(start) - 1.0)]


def _roots(a: Num, b: Num, c: Num) -> Interval:
    """Returns where a t^2 + 2 b t + c <= 0; with a = 0, everywhere or nowhere."""
    flat = a < MINVAL
    square = b * b - a * c
    two_roots, slope = square > 0.0, where(flat, 1.0, a)
    root = where(two_roots, sqrt(where(two_roots, square, 1.0)), 0.0)  # whose derivative is a number
    out = logical_any([logical_and(logical_not(flat), square < 0.0), logical_and(flat, c > 0.0)])
    enter = where(flat, -FAR, (-b - root) / slope)
    leave = where(flat, FAR, (root - b) / slope)
    return where(out, FAR, enter), where(out, -FAR, leave)


def _slab(half: Num, start: Num, direction: Num) -> Interval:
    """Returns where |start + t direction| <= half."""
    flat = absolute(direction) < MINVAL
    slope = where(flat, 1.0, direction)
    ends = (-half - start) / slope, (half - start) / slope
    outside = absolute(start) > half
    enter = where(flat, where(outside, FAR, -FAR), minimum(*ends))
    leave = where(flat, where(outside, -FAR, FAR), maximum(*ends))
    return enter, leave


def _common(*intervals: Interval) -> Interval:
    enter, leave = intervals[0]
    for low, high in intervals[1:]:
        enter, leave = maximum(enter, low), minimum(leave, high)
    return enter, leave


def _box(size: Sequence[Num], start: Vec, direction: Vec) -> list[Interval]:
    return [_common(*(_slab(*three) for three in zip(size, start, direction, strict=True)))]


def _cylinder(size: Sequence[Num], start: Vec, direction: Vec) -> list[Interval]:
    flat_start, flat_direction = Vec(start.x, start.y, ZERO), Vec(direction.x, direction.y, ZERO)
    square = flat_start.dot(flat_start) - size[0] * size[0]
    side = _roots(flat_direction.dot(flat_direction), flat_direction.dot(flat_start), square)
    return [_common(side, _slab(size[1], start.z, direction.z))]


def _capsule(size: Sequence[Num], start: Vec, direction: Vec) -> list[Interval]:
    ends = (Vec(start.x, start.y, start.z + size[1] * side) for side in (1.0, -1.0))
    round_ends = [interval for end in ends for interval in _ball([size[0]] * 3, end, direction)]
    return [*_cylinder(size, start, direction), *round_ends]


def _sphere(size: Sequence[Num], start: Vec, direction: Vec) -> list[Interval]:
    return _ball([size[0]] * 3, start, direction)


RAY_INTERVALS: dict[int, Callable[[Sequence[Num], Vec, Vec], list[Interval]]] = {
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ball,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
