"""Touch sensors: the normal forces of contacts whose normals pass through a site.

MuJoCo follows each contact's normal, from the point of contact towards the sensor's body, and counts the contact if the
ray meets the site's shape.

References:
    MuJoCo documentation, XML reference, sensor/touch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from .constraint.contact import Contact
from .constraint.listed import Row
from .forward import Forward
from .kinematics import Frame
from .scalar import SMALLEST, ZERO, Num, Truth, absolute, both, maximum, minimum, negated, nums, sqrt, where
from .vector import Vec

SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = range(2, 7)
FAR = 1e10

Interval = tuple[Num, Num]


def touch(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """The sum of the normal forces on a body of contacts whose normals meet a shape."""
    found, bodies = ZERO, f.model.geom_bodyid
    back = frame.mat.transposed()
    for c, forces in zip(f.constraints, f.solution.forces, strict=True):
        if isinstance(c.of, Contact):
            first, second = int(bodies[c.of.candidate.first]), int(bodies[c.of.candidate.second])
            if body in (first, second):
                normal = back @ (-c.of.axes[0] if body == second else c.of.axes[0])
                start = back @ (c.of.touch.point - frame.pos)
                found = found + where(meets(shape, size, start, normal), maximum(forces[0], 0.0), 0.0, forces[0])
    return found + _of_list(f, frame, shape, size, body)


def _of_list(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """The same of the contacts that are listed, edge by edge of their pyramids."""
    rows, x = f.listed, f.solution.acceleration
    bodies = [[int(f.model.geom_bodyid[g]) for g in (c.first, c.second)] for c in rows.pairs] if rows else []
    if rows is None or not any(body in pair for pair in bodies):
        return ZERO
    pushes = rows.rows.push
    # On which side of a pair the body is, if on any, and how rows lie: a friction's two edges are side by side.
    sides = jnp.array([{0: -1.0, 1: 1.0}[pair.index(body)] if body in pair else 0.0 for pair in bodies], pushes.dtype)
    rubs = max(c.condim for c in rows.pairs) > 1
    twins = pushes.reshape(-1, 2, pushes.shape[1])[:, ::-1].reshape(pushes.shape) if rubs else pushes
    back = frame.mat.transposed()

    def add(found: jax.Array, row: Row, twin: jax.Array) -> jax.Array:
        push = nums(row.push)
        normal = Vec(*(0.5 * (a + b) for a, b in zip(push[4:7], nums(twin)[4:7], strict=True)))
        side = Num(sides[row.push[0].astype(jnp.int32)])
        met = meets(shape, size, back @ (Vec(*push[1:4]) - frame.pos), back @ (normal * -side))
        force = row.force(x)
        return (Num(found) + where(both(met, absolute(side) > 0.0), force, 0.0, force)).value

    return Num(rows.summed(add, jnp.zeros((), rows.dtype), twins))


def meets(shape: int, size: Sequence[Num], start: Vec, along: Vec) -> Truth:
    """Whether a ray, in the shape's axes, meets it."""
    return any_of([_ahead(*interval) for interval in SHAPES[shape](size, start, along)])


def any_of(truths: Sequence[Truth]) -> Truth:
    """Whether one of them is true."""
    none: Truth = True
    for truth in truths:
        none = both(none, negated(truth))
    return negated(none)


def _ahead(enter: Num, leave: Num) -> Truth:
    """Whether there is anything of an interval from zero on."""
    return maximum(enter, 0.0) <= leave


def _ball(size: Sequence[Num], start: Vec, along: Vec) -> list[Interval]:
    """An ellipsoid of the half axes `size`: where |start + t along| = 1, seen with the axes as units."""
    start, along = (Vec(*(x / s for x, s in zip(v, size, strict=True))) for v in (start, along))
    return [_roots(along.dot(along), along.dot(start), start.dot(start) - 1.0)]


def _roots(a: Num, b: Num, c: Num) -> Interval:
    """Where a t^2 + 2 b t + c <= 0; with a = 0, everywhere or nowhere."""
    inside = c <= 0.0
    flat = a < SMALLEST
    square = b * b - a * c
    root, slope = sqrt(maximum(square, 0.0)), where(flat, 1.0, a, a)
    none = both(negated(flat), square < 0.0)
    out = any_of([none, both(flat, negated(inside))])
    enter = where(flat, -FAR, (-b - root) / slope, a)
    leave = where(flat, FAR, (root - b) / slope, a)
    return where(out, FAR, enter, a), where(out, -FAR, leave, a)


def _slab(half: Num, start: Num, along: Num) -> Interval:
    """Where |start + t along| <= half."""
    flat = absolute(along) < SMALLEST
    slope = where(flat, 1.0, along, start)
    ends = (-half - start) / slope, (half - start) / slope
    outside = absolute(start) > half
    enter = where(flat, where(outside, FAR, -FAR, start), minimum(*ends), start)
    leave = where(flat, where(outside, -FAR, FAR, start), maximum(*ends), start)
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
