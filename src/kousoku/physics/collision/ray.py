"""Rays and shapes: where a line is in a shape, what a ray meets first, which points are inside.

A shape is made of convex parts, and a line is in each of them along one interval.

References:
    MuJoCo documentation, XML reference, sensor/touch and sensor/rangefinder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ..algebra.scalar import (
    ONE,
    SMALLEST,
    ZERO,
    Num,
    Truth,
    absolute,
    any_of,
    both,
    maximum,
    minimum,
    negated,
    sqrt,
    total,
    where,
)
from ..algebra.vector import Vec

PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = 0, 2, 3, 4, 5, 6
FAR = 1e10

Interval = tuple[Num, Num]


def meets(shape: int, size: Sequence[Num], start: Vec, along: Vec) -> Truth:
    """Whether a ray, in the shape's axes, meets it."""
    return any_of([_ahead(*interval) for interval in SHAPES[shape](size, start, along)])


def inside(shape: int, size: Sequence[Num], point: Vec) -> Truth:
    """Whether a point, in the shape's axes, is in it and not on its surface."""
    if shape == BOX:
        return reduce(both, (absolute(x) < s for x, s in zip(point, size, strict=True)))
    if shape == ELLIPSOID:
        point, size = Vec(*(x / s for x, s in zip(point, size, strict=True))), [ONE]
    if shape == CAPSULE:
        point = point._replace(z=maximum(absolute(point.z) - size[1], 0.0))
    if shape == CYLINDER:
        return both(absolute(point.z) < size[1], point.x * point.x + point.y * point.y < size[0] * size[0])
    return point.dot(point) < size[0] * size[0]


def distance(shape: int, size: Sequence[Num], start: Vec, along: Vec) -> Num:
    """How far along a ray, in the shape's axes, its surface is; `FAR` if it never meets it.

    A plane is met from above, and only within the rectangle that is drawn, if its size says that there is one.
    """
    if shape == PLANE:
        return _to_plane(size, start, along)
    enter, leave = Num(FAR), Num(-FAR)
    for low, high in SHAPES[shape](size, start, along):
        none, like = high < low, low + high
        enter = minimum(enter, where(none, FAR, low, like))
        leave = maximum(leave, where(none, -FAR, high, like))
    like = enter + leave
    return where(leave >= 0.0, where(enter >= 0.0, enter, leave, like), FAR, like)


def _to_plane(size: Sequence[Num], start: Vec, along: Vec) -> Num:
    level, like = along.z > -SMALLEST, total([*size, *start, *along])
    found = start.z / where(level, 1.0, -along.z, along.z)
    missed = [level, found < 0.0]
    for half, at, step in zip(size[:2], start, along, strict=False):
        missed.append(both(half > 0.0, absolute(at + found * step) > half))
    return where(any_of(missed), FAR, found, like)


def _ahead(enter: Num, leave: Num) -> Truth:
    """Whether there is anything of an interval from zero on."""
    return maximum(enter, 0.0) <= leave


def _ball(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    """An ellipsoid of the half axes `size`: where |start + t along| = 1, seen with the axes as units."""
    start, along = (Vec(*(x / s for x, s in zip(v, size, strict=True))) for v in (start, along))
    return [_roots(along.dot(along), along.dot(start), start.dot(start) - 1.0)]


def _roots(a: Num, b: Num, c: Num) -> Interval:
    """Where a t^2 + 2 b t + c <= 0; with a = 0, everywhere or nowhere."""
    flat, like = a < SMALLEST, a + b + c
    square = b * b - a * c
    apart, slope = square > 0.0, where(flat, 1.0, a, a)
    root = where(apart, sqrt(where(apart, square, 1.0, square)), 0.0, square)  # whose derivative is a number
    out = any_of([both(negated(flat), square < 0.0), both(flat, c > 0.0)])
    enter = where(flat, -FAR, (-b - root) / slope, like)
    leave = where(flat, FAR, (root - b) / slope, like)
    return where(out, FAR, enter, like), where(out, -FAR, leave, like)


def _slab(half: Num, start: Num, along: Num) -> Interval:
    """Where |start + t along| <= half."""
    flat = absolute(along) < SMALLEST
    slope = where(flat, 1.0, along, start)
    ends = (-half - start) / slope, (half - start) / slope
    outside, like = absolute(start) > half, start + half
    enter = where(flat, where(outside, FAR, -FAR, like), minimum(*ends), start)
    leave = where(flat, where(outside, -FAR, FAR, like), maximum(*ends), start)
    return enter, leave


def _common(*intervals: Interval) -> Interval:
    enter, leave = intervals[0]
    for low, high in intervals[1:]:
        enter, leave = maximum(enter, low), minimum(leave, high)
    return enter, leave


def _box(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    return [_common(*(_slab(*three) for three in zip(size, start, along, strict=True)))]


def _cylinder(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    flat_start, flat_along = Vec(start.x, start.y, ZERO), Vec(along.x, along.y, ZERO)
    square = flat_start.dot(flat_start) - size[0] * size[0]
    side = _roots(flat_along.dot(flat_along), flat_along.dot(flat_start), square)
    return [_common(side, _slab(size[1], start.z, along.z))]


def _capsule(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    ends = (Vec(start.x, start.y, start.z + size[1] * side) for side in (1.0, -1.0))
    round_ends = [interval for end in ends for interval in _ball([size[0]] * 3, end, along)]
    return [*_cylinder(size, start, along), *round_ends]


def _sphere(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    return _ball([size[0]] * 3, start, along)


SHAPES: dict[int, Callable[[Sequence[Num], Vec, Vec], list[Interval]]] = {
    SPHERE: _sphere,
    CAPSULE: _capsule,
    ELLIPSOID: _ball,
    CYLINDER: _cylinder,
    BOX: _box,
}
