"""Boxes against boxes: a face and what lies on it, up to eight points; or two edges, one point.

The direction of contact is the one in which the boxes are farthest apart, or overlap least, among the normals of their
faces and the directions at right angles to an edge of each. If it is a face's, the other box's face that is turned most
towards it is clipped by it. Each corner of what is left is the start of a side of it, which is a part of one of the
eight edges of the two faces: so each edge gives one point at most.

References:
    Gottschalk, Lin, Manocha (1996), OBBTree, section 5: the fifteen directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.scalar import ONE, ZERO, Bool, Num, absolute, clip, maximum, sqrt, total, where
from ..algebra.vector import Mat, Vec
from .clipped_face import ClippedFace, clip_line
from .geom import ABSENT, ContactPoint, GeomInfo, where_bool, where_vec

NEVER = -1e10
ALIKE = 0.99
ANY_WORTH, ALIKE_WORTH = 1e-6, 0.05
"""By what share the gap between edges must be larger than the face's; if their directions' cosine is above `ALIKE`."""


@dataclass(frozen=True)
class _Axis:
    """One of three axes: the first, or the second, or else the third."""

    first: Bool
    second: Bool

    def or_else(self, condition: Bool, other: _Axis) -> _Axis:
        """Returns the other one where the condition holds."""
        first, second = (
            where_bool(condition, *two) for two in ((other.first, self.first), (other.second, self.second))
        )
        return _Axis(first, second)

    def pick(self, three: Sequence[Num], after: int = 0) -> Num:
        """Picks this axis' number of three, one for each axis, or that of the axis `after` places later, in turns."""
        x, y, z = (three[(i + after) % 3] for i in range(3))
        return where(self.first, x, where(self.second, y, z))

    def last(self, three: Sequence[Num]) -> Vec:
        """Returns the numbers in turns, so that this axis' comes last."""
        return Vec(self.pick(three, 1), self.pick(three, 2), self.pick(three))

    def last_row(self, matrix: Mat) -> Mat:
        """Returns the rows in turns, so that this axis' comes last."""
        return Mat(*map(self.last, matrix.transpose())).transpose()


@dataclass(frozen=True)
class _View:
    """Two boxes, seen from one of them.

    Attributes:
        origin, axes: its centre and its axes, in the world.
        size: its half sizes.
        centre: the other one's centre.
        turn: the other one's axes, as columns.
        other: half sizes of the other one.
    """

    origin: Vec
    axes: Mat
    size: Vec
    centre: Vec
    turn: Mat
    other: Vec

    def or_else(self, condition: Bool, view: _View) -> _View:
        """Returns the other view where the condition holds."""

        def pick(a: Vec, b: Vec) -> Vec:
            return where_vec(condition, b, a)

        axes, turn = (Mat(*map(pick, a, b)) for a, b in ((self.axes, view.axes), (self.turn, view.turn)))
        origin, size = pick(self.origin, view.origin), pick(self.size, view.size)
        return _View(origin, axes, size, pick(self.centre, view.centre), turn, pick(self.other, view.other))

    def facing(self, row: _Axis) -> _View:
        """Returns the view with the axes in turns, so that `row` is the last and points to the other box."""
        axes, turn, centre = row.last_row(self.axes), row.last_row(self.turn), row.last(self.centre)
        side = where(centre.z > 0.0, 1.0, -1.0)
        axes, turn = (Mat(m.a, m.b, m.c * side) for m in (axes, turn))
        return _View(self.origin, axes, row.last(self.size), centre._replace(z=centre.z * side), turn, self.other)

    def showing(self, column: _Axis) -> _View:
        """Returns the view with the other box's axes in turns, so that `column` is the last."""
        return replace(self, turn=Mat(*map(column.last, self.turn)), other=column.last(self.other))

    def to_world(self, direction: Vec) -> Vec:
        """Returns a direction in the world."""
        return self.axes.a * direction.x + self.axes.b * direction.y + self.axes.c * direction.z


def box_box(first: GeomInfo, second: GeomInfo) -> list[ContactPoint]:
    """Returns eight points."""
    offset = second.frame.pos - first.frame.pos
    ours, theirs = first.frame.mat.transpose(), second.frame.mat.transpose()
    turn = Mat(*(theirs @ axis for axis in ours))
    one = _View(first.frame.pos, ours, Vec(*first.size), ours @ offset, turn, Vec(*second.size))
    two = _View(second.frame.pos, theirs, one.other, -(theirs @ offset), turn.transpose(), one.size)
    near, far = _face_gaps(one), _face_gaps(two)
    face_gap = maximum(_largest(near), _largest(far))
    swapped = _largest(far) > _largest(near)
    view = one.or_else(swapped, two).facing(_which(where_vec(swapped, far, near)))
    view = view.showing(_which(Vec(*map(absolute, view.turn.c))))
    least, row, column = _edge_gap(one)
    across, crossing, length = _crossing(one.facing(row).showing(column))
    edge_gap = least + _rounding_of_gap(one) / length
    alike = absolute(across.dot(view.axes.c)) > ALIKE
    edges = least > face_gap + where(alike, ALIKE_WORTH, ANY_WORTH) * absolute(face_gap)
    normal = where_vec(edges, across, view.axes.c * where(swapped, -1.0, 1.0))
    centre, along, across_it = face = _face(view)
    corners = list(_clipped_corners(view, *face))
    marks = [(exists, point.x, point.y) for exists, point, _ in corners]
    order = ClippedFace((centre.x, centre.y), along, across_it, (view.size.x, view.size.y), marks).order
    touches = []
    for exists, point, distance in corners:
        point, distance = view.origin + view.to_world(point), where(exists, distance, ABSENT)
        if touches:
            distance = where(edges, ABSENT, distance)
        else:
            point, distance = where_vec(edges, crossing, point), where(edges, edge_gap, distance)
        touches.append(ContactPoint(distance, point, normal, order=order))
    return touches


def _face_gaps(view: _View) -> Vec:
    """Returns how far the other box is from each face on its side; negative where it overlaps the box."""
    rows = zip(view.centre, view.size, view.turn, strict=True)
    return Vec(*(absolute(c) - s - Vec(*map(absolute, row)).dot(view.other) for c, s, row in rows))


def _edge_gap(view: _View) -> tuple[Num, _Axis, _Axis]:
    """Returns the largest gap along a direction at right angles to an edge of each box, and those edges' axes.

    The gap without what may be rounding: the more parallel two edges are, the less is known of the direction.
    """
    best, row, column = Num(NEVER), _Axis(True, False), _Axis(True, False)
    size, doubt = [Vec(*map(absolute, r)) for r in view.turn], _rounding_of_gap(view)
    for i in range(3):
        u, v = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            a, b = (j + 1) % 3, (j + 2) % 3
            square = view.turn[u][j] * view.turn[u][j] + view.turn[v][j] * view.turn[v][j]
            parallel = square < _many_roundings(view)
            length = sqrt(where(parallel, 1.0, square))
            reach = size[v][j] * view.size[u] + size[u][j] * view.size[v]
            reach = reach + size[i][b] * view.other[a] + size[i][a] * view.other[b]
            between_centres = absolute(view.turn[u][j] * view.centre[v] - view.turn[v][j] * view.centre[u])
            gap = where(parallel, NEVER, (between_centres - reach - doubt) / length)
            better = gap > best
            best = where(better, gap, best)
            row = row.or_else(better, _Axis(i == 0, i == 1))
            column = column.or_else(better, _Axis(j == 0, j == 1))
    return best, row, column


def _crossing(view: _View) -> tuple[Vec, Vec, Num]:
    """Returns the contact of the edges along the third axis of each box: normal and point in the world, and their sine.

    The point is halfway between the edges where they come nearest to each other, which may be at their ends. The sine
    is that of the angle between them.
    """
    (au, bu, cu), (av, bv, cv), (aw, bw, cw) = view.turn
    square = cu * cu + cv * cv
    square = where(square < _many_roundings(view), 1.0, square)
    length = sqrt(square)
    side = where(cu * view.centre.y > cv * view.centre.x, 1.0, -1.0) / length
    nu, nv = -(cv * side), cu * side
    edge = [where(n > 0.0, s, -s) for n, s in zip((nu, nv), view.size, strict=False)]
    a, b = (where(n > 0.0, -s, s) for n, s in zip((nu * au + nv * av, nu * bu + nv * bv), view.other, strict=False))
    x, y, z = (c + p * a + q * b for c, p, q in zip(view.centre, (au, av, aw), (bu, bv, bw), strict=True))
    across = (edge[0] - x) * cu + (edge[1] - y) * cv
    place = z + clip(across / square, -view.other.z, view.other.z) * cw
    end = clip(place, -view.size.z, view.size.z)
    # The same again, unless the one's edge ends before.
    along = clip(across + (end - z) * cw, -view.other.z, view.other.z)
    halfway = Vec(
        *(0.5 * (a + b) for a, b in zip((*edge, end), (x + along * cu, y + along * cv, z + along * cw), strict=True))
    )
    return view.to_world(Vec(nu, nv, ZERO)), view.origin + view.to_world(halfway), length


def _face(view: _View) -> tuple[Vec, tuple[Num, Num], tuple[Num, Num]]:
    """Returns the face on the third axis of the other box that is seen: its centre, and half of each of its sides."""
    (au, bu, cu), (av, bv, cv), (_, _, cw) = view.turn
    depth = where(cw > 0.0, -view.other.z, view.other.z)
    centre = Vec(*(c + depth * d for c, d in zip(view.centre, (cu, cv, cw), strict=True)))
    return centre, (au * view.other.x, av * view.other.x), (bu * view.other.y, bv * view.other.y)


def _clipped_corners(
    view: _View, centre: Vec, first: tuple[Num, Num], second: tuple[Num, Num]
) -> Iterator[tuple[Bool, Vec, Num]]:
    """Yields corners of a face of the other box, clipped by that on the third axis of the one.

    Each as whether it is there, where, and its distance.
    """
    (x, y, z), (au, av), (bu, bv), (cu, cv, cw) = centre, first, second, (row.z for row in view.turn)
    area = au * bv - av * bu
    mirrored = area < 0.0
    bu, bv, density = (where(mirrored, -n, n) for n in (bu, bv, ONE / area))
    tilt_u, tilt_v = cu / cw, cv / cw
    width, height = view.size.x, view.size.y
    # Sides that coincide but for rounding count once: as those of the other box.
    more, less = 1.0 + 4.0 * _rounding(view), Num(1.0 - 4.0 * _rounding(view))

    def corner(exists: Bool, u: Num, v: Num) -> tuple[Bool, Vec, Num]:
        gap = z - view.size.z - ((u - x) * tilt_u + (v - y) * tilt_v)
        return exists, Vec(u, v, view.size.z + 0.5 * gap), gap

    for (du, dv), (ou, ov) in (((au, av), (bu, bv)), ((bu, bv), (-au, -av))):
        for side in (-1.0, 1.0):
            u, v = x + ou * side, y + ov * side
            way = -(du * side), -(dv * side)
            start, exists = clip_line((u, v), way, (width * more, height * more))
            yield corner(exists, u + start * way[0], v + start * way[1])
    for (du, dv), (ou, ov) in (((width, ZERO), (ZERO, height)), ((ZERO, height), (-width, ZERO))):
        for side in (-1.0, 1.0):
            u, v = ou * side, ov * side
            along = -(du * side), -(dv * side)
            place = ((u - x) * bv - (v - y) * bu) * density, ((v - y) * au - (u - x) * av) * density
            way = (along[0] * bv - along[1] * bu) * density, (along[1] * au - along[0] * av) * density
            start, exists = clip_line(place, way, (less, less))
            yield corner(exists, u + start * along[0], v + start * along[1])


def _rounding_of_gap(view: _View) -> Num:
    """Returns what rounding may add to the gap of a face; to that of edges as much more as their sine is small."""
    return total([*view.size, *view.other]) * _rounding(view)


def _many_roundings(view: _View) -> float:
    """Returns what may be due to many roundings of numbers near one."""
    return 64.0 * _rounding(view)


def _rounding(view: _View) -> float:
    """Returns the rounding of one number near one: of the traced ones, if any number of the view is traced."""
    seen = (*view.centre, *(x for row in view.turn for x in row))
    return max(float(np.finfo(np.float64 if x.known else x.value.dtype).eps) for x in seen)


def _largest(three: Vec) -> Num:
    return maximum(maximum(three.x, three.y), three.z)


def _which(three: Vec) -> _Axis:
    """Returns the axis of the largest number."""
    largest = _largest(three)
    return _Axis(three.x >= largest, three.y >= largest)
