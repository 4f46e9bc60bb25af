"""Capsules against boxes: two spheres in the capsule touch.

One lies where the capsule's axis comes nearest to the box: to a face, with an end of the axis, or to an edge. The other
lies as far along the axis as the capsule and the part of the box beneath it go on, in the direction in which the two
stay closer together; there is none if the capsule stands on an end or on an edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from ..algebra.scalar import (
    MINVAL,
    ONE,
    ZERO,
    Bool,
    Num,
    absolute,
    clip,
    logical_and,
    logical_not,
    maximum,
    minimum,
    num,
    total,
    where,
)
from ..algebra.vector import Vec
from .geom import ABSENT, ContactPoint, GeomInfo, where_bool
from .sphere_box import box_sphere

NOT_NEAR = 1e10
LEAST_SLOPE = 1e-10


@dataclass(frozen=True)
class _Near:
    """A point of a capsule's axis, and what of a box it is near to.

    Attributes:
        square: the square of the distance.
        place: the position on the axis, from -1 to 1.
        spot: the position on the box, from -1 to 1 along each of its axes.
        leaving: the spot on an edge that is nearest to the infinite axis; 0 over a face.
    """

    square: Num
    place: Num
    spot: Vec
    leaving: Num

    def or_nearer(self, other: _Near, by: float = 0.0) -> _Near:
        """Returns the other one where it is nearer, by at least `by` in squares."""
        nearer = other.square < self.square - by

        def pick(a: Num, b: Num) -> Num:
            return where(nearer, b, a)

        return _Near(
            pick(self.square, other.square),
            pick(self.place, other.place),
            Vec(*map(pick, self.spot, other.spot)),
            pick(self.leaving, other.leaving),
        )


def capsule_box(capsule: GeomInfo, box: GeomInfo) -> list[ContactPoint]:
    """Returns two points."""
    arm = capsule.axis * capsule.size[1]
    centre, half = box.local(capsule.frame.pos), box.frame.mat.transpose() @ arm
    first, second, has_second = _places(centre, half, box.size)
    points = [
        box_sphere(centre + half * place, capsule.frame.pos + arm * place, capsule.size[0], box)
        for place in (first, second)
    ]
    dist = where(has_second, points[1].dist, ABSENT)
    return [points[0], ContactPoint(dist, points[1].pos, points[1].normal)]


def _places(centre: Vec, half: Vec, size: list[Num]) -> tuple[Num, Num, Bool]:
    """Returns where on the axis the two spheres are, from -1 to 1, and whether the second is there."""
    ways = Vec(*(where(h > 0.0, 1.0, -1.0) for h in half))
    face = _face(centre, half, size, ways, -1.0).or_nearer(_face(centre, half, size, ways, 1.0))
    edge = _edges(centre, half, size)
    on_edge = edge.square < face.square - MINVAL
    near = face.or_nearer(edge, MINVAL)
    # From here on the box's axes are turned round so that the capsule's goes up along each of them.
    # As MuJoCo does, an edge that the infinite axis would leave at a corner is left there.
    at_corner = absolute(near.leaving) >= 1.0
    ends = [logical_and(at_corner, absolute(x) < 1.0) for x in near.spot]
    spot = [where(end, near.leaving, x) * way for end, x, way in zip(ends, near.spot, ways, strict=True)]
    top, bottom = [x >= 1.0 for x in spot], [x <= -1.0 for x in spot]
    rising, falling = (
        total(where(end, h * h, 0.0) for end, h in zip(ends, half, strict=True)) for ends in (bottom, top)
    )
    up, down = 1.0 - near.place, 1.0 + near.place
    for i, x in enumerate(spot):
        stretch = size[i] / maximum(absolute(half[i]), LEAST_SLOPE)
        up = minimum(up, where(top[i], 2.0, (1.0 - x) * stretch))
        down = minimum(down, where(bottom[i], 2.0, (1.0 + x) * stretch))
    upwards = where_bool(on_edge, rising > falling, near.place < 0.0)
    lying = where_bool(on_edge, logical_and(_any(top), _any(bottom)), face.square > 0.0)
    return near.place, near.place + where(upwards, up, -down), lying


def _face(centre: Vec, half: Vec, size: list[Num], ways: Vec, end: float) -> _Near:
    """Returns an end of the axis over a face, or within the box."""
    point = centre + half * end
    over = [maximum(absolute(p) - s, 0.0) for p, s in zip(point, size, strict=True)]
    x, y, z = over
    beside = maximum(minimum(x, y), minimum(maximum(x, y), z)) > 0.0
    square = where(beside, NOT_NEAR, x * x + y * y + z * z)
    # The capsule's way along the face does not end at the face: the spot is put where it cannot.
    spot = [
        where(o > 0.0, way * -end, clip(p / s, -1.0, 1.0)) for o, way, p, s in zip(over, ways, point, size, strict=True)
    ]
    return _Near(square, num(end), Vec(*spot), ZERO)


def _edges(centre: Vec, half: Vec, size: list[Num]) -> _Near:
    """Returns the nearest of the twelve edges."""
    directions = [_edges_along(axes, centre, half, size) for axes in ((0, 1, 2), (1, 0, 2), (2, 0, 1))]
    return reduce(lambda nearest, edge: nearest.or_nearer(edge, MINVAL), directions)


def _edges_along(axes: tuple[int, int, int], centre: Vec, half: Vec, size: list[Num]) -> _Near:
    """Returns the nearest of the four edges that go along the first of `axes`."""
    (c, ca, cb), (h, ha, hb), (s, sa, sb) = ([three[i] for i in axes] for three in (centre, half, size))
    across = ha * ha + hb * hb
    length = across + h * h
    parallel = s * s * across < MINVAL
    per_length, per_size, per_across = ONE / length, ONE / s, ONE / (s * where(parallel, 1.0, across))
    start, slope = c * length - h * h * c, h * s
    nearest: _Near | None = None
    for side_b in (-1.0, 1.0):
        away_b = side_b * sb - cb
        for side_a in (-1.0, 1.0):
            away_a = side_a * sa - ca
            along = ha * away_a + hb * away_b
            leaving = clip((start + h * along) * per_across, -1.0, 1.0)
            place = clip((along - h * c + leaving * slope) * per_length, -1.0, 1.0)
            end = c + place * h
            spot = clip(end * per_size, -1.0, 1.0)
            gap, gap_a, gap_b = end - spot * s, place * ha - away_a, place * hb - away_b
            parts = dict(zip(axes, (spot, num(side_a), num(side_b)), strict=True))
            square = gap * gap + gap_a * gap_a + gap_b * gap_b
            edge = _Near(square, place, Vec(*(parts[i] for i in range(3))), leaving)
            nearest = edge if nearest is None else nearest.or_nearer(edge, MINVAL)
    assert nearest is not None
    return replace(nearest, square=where(parallel, NOT_NEAR, nearest.square))


def _any(parts: list[Bool]) -> Bool:
    return logical_not(logical_and(logical_not(parts[0]), logical_and(logical_not(parts[1]), logical_not(parts[2]))))
