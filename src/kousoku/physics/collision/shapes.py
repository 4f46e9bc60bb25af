"""Where two shapes touch: a list of points, the direction from the first shape to the second, and the distance.

A pair of kinds always gives the same number of points; those that are farther apart than the margin are not active.

References:
    MuJoCo documentation, Computation, "Collision detection".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ..kinematics import Frame
from ..scalar import Num, Truth, absolute, clipped, sqrt, where
from ..vector import NOWHERE, Vec

SMALLEST = 1e-15


class Shape(IntEnum):
    """MuJoCo's mjtGeom."""

    PLANE = 0
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6


@dataclass(frozen=True)
class Geom:
    """A shape in the world.

    Attributes:
        frame: of its centre, along its axes.
        size: radius; radius and half length; half sizes.
    """

    frame: Frame
    size: list[Num]

    @property
    def axis(self) -> Vec:
        """Its z axis: a plane's normal, a capsule's direction."""
        return self.frame.mat.columns()[2]


@dataclass(frozen=True)
class Touch:
    """A point of contact.

    Attributes:
        distance: negative where the shapes overlap.
        point: halfway between the surfaces.
        normal: from the first shape to the second.
        along: roughly the first tangent; nowhere if any will do.
    """

    distance: Num
    point: Vec
    normal: Vec
    along: Vec = NOWHERE


def plane_sphere(plane: Geom, sphere: Geom) -> list[Touch]:
    """One point below the centre."""
    return [_plane_point(plane, sphere.frame.pos, sphere.size[0], NOWHERE)]


def _plane_point(plane: Geom, centre: Vec, radius: Num, along: Vec) -> Touch:
    normal = plane.axis
    height = (centre - plane.frame.pos).dot(normal)
    distance = height - radius
    return Touch(distance, centre - normal * (radius + 0.5 * distance), normal, along)


def plane_capsule(plane: Geom, capsule: Geom) -> list[Touch]:
    """One point at each end."""
    axis, radius, half = capsule.axis, capsule.size[0], capsule.size[1]
    return [_plane_point(plane, capsule.frame.pos + axis * end, radius, axis) for end in (half, -half)]


def sphere_sphere(first: Geom, second: Geom) -> list[Touch]:
    """One point on the line between the centres."""
    return [_balls(first.frame.pos, first.size[0], second.frame.pos, second.size[0], first.axis.cross(second.axis))]


def _balls(a: Vec, radius_a: Num, b: Vec, radius_b: Num, otherwise: Vec) -> Touch:
    """Two balls; where their centres meet, the normal is made of `otherwise`."""
    apart = b - a
    square = apart.dot(apart)
    tiny = square < SMALLEST**2
    size = sqrt(where(tiny, 1.0, square))
    fallback = _direction(otherwise)
    normal = Vec(*(where(tiny, f, x / size, size) for f, x in zip(fallback, apart, strict=True)))
    distance = where(tiny, 0.0, size) - radius_a - radius_b
    return Touch(distance, a + normal * (radius_a + 0.5 * distance), normal)


def _direction(v: Vec) -> Vec:
    square = v.dot(v)
    tiny = square < SMALLEST**2
    size = sqrt(where(tiny, 1.0, square))
    return Vec(*(where(tiny, known, part / size, size) for known, part in zip((1.0, 0.0, 0.0), v, strict=True)))


def sphere_capsule(sphere: Geom, capsule: Geom) -> list[Touch]:
    """The sphere and the ball of the capsule that is nearest to it."""
    axis, half = capsule.axis, capsule.size[1]
    place = clipped((sphere.frame.pos - capsule.frame.pos).dot(axis), -half, half)
    nearest = capsule.frame.pos + axis * place
    return [_balls(sphere.frame.pos, sphere.size[0], nearest, capsule.size[0], sphere.axis.cross(axis))]


def capsule_capsule(first: Geom, second: Geom) -> list[Touch]:
    """The nearest balls of the two; where the capsules are parallel, those at up to two ends."""
    a, b = first.axis * first.size[1], second.axis * second.size[1]
    between = first.frame.pos - second.frame.pos
    aa, ab, bb = a.dot(a), -a.dot(b), b.dot(b)
    u, v = -a.dot(between), b.dot(between)
    determinant = aa * bb - ab * ab
    parallel = absolute(determinant) < SMALLEST
    safe = where(parallel, 1.0, determinant)
    x, y = _nearest(aa, ab, bb, u, v, (u * bb - v * ab) / safe, (v * aa - u * ab) / safe)
    crossing = _segment_touch(first, second, a, b, x, y)
    ends = _parallel(first, second, a, b, aa, ab, bb, u, v)
    far = crossing.distance * 0.0 + 1.0
    pairs = [(ends[0], crossing), (ends[1], Touch(far, crossing.point, crossing.normal))]
    return [_either(parallel, one, other) for one, other in pairs]


def _nearest(aa: Num, ab: Num, bb: Num, u: Num, v: Num, x: Num, y: Num) -> tuple[Num, Num]:
    """The places of the nearest points, each in [-1, 1], from those of the infinite lines."""
    outside = x > 1.0
    below = x < -1.0
    first_y = where(outside, (v - ab) / bb, where(below, (v + ab) / bb, y))
    x = clipped(x, -1.0, 1.0)
    high, low = first_y > 1.0, first_y < -1.0
    x = where(high, clipped((u - ab) / aa, -1.0, 1.0), where(low, clipped((u + ab) / aa, -1.0, 1.0), x))
    return x, clipped(first_y, -1.0, 1.0)


def _segment_touch(first: Geom, second: Geom, a: Vec, b: Vec, x: Num, y: Num) -> Touch:
    one, other = first.frame.pos + a * x, second.frame.pos + b * y
    return _balls(one, first.size[0], other, second.size[0], first.axis.cross(second.axis))


def _parallel(
    first: Geom, second: Geom, a: Vec, b: Vec, aa: Num, ab: Num, bb: Num, u: Num, v: Num
) -> tuple[Touch, Touch]:
    """The first two of: an end of the first, the other, an end of the second, the other, that face the other shape."""
    candidates = [(Num(1.0), (v - ab) / bb), (Num(-1.0), (v + ab) / bb)]
    more = [((u - ab) / aa, Num(1.0)), ((u + ab) / aa, Num(-1.0))]
    touches = [_segment_touch(first, second, a, b, x, clipped(y, -1.0, 1.0)) for x, y in candidates]
    touches += [_segment_touch(first, second, a, b, clipped(x, -1.0, 1.0), y) for x, y in more]
    return touches[0], touches[1]


def _either(condition: Truth, one: Touch, other: Touch) -> Touch:
    def pick(a: Num, b: Num) -> Num:
        return where(condition, a, b)

    return Touch(
        pick(one.distance, other.distance),
        Vec(*map(pick, one.point, other.point)),
        Vec(*map(pick, one.normal, other.normal)),
    )


Pair = Callable[[Geom, Geom], list[Touch]]
PAIRS: dict[tuple[Shape, Shape], Pair] = {
    (Shape.PLANE, Shape.SPHERE): plane_sphere,
    (Shape.PLANE, Shape.CAPSULE): plane_capsule,
    (Shape.SPHERE, Shape.SPHERE): sphere_sphere,
    (Shape.SPHERE, Shape.CAPSULE): sphere_capsule,
    (Shape.CAPSULE, Shape.CAPSULE): capsule_capsule,
}
