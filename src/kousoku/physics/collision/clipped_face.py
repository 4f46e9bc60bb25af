"""A face that another one clips: where a line meets it, and the order in which MuJoCo lists its corners.

References:
    Liang, Barsky (1984), A new concept and method for line clipping.
    Sutherland, Hodgman (1974), Reentrant polygon clipping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import MINVAL, ONE, Bool, Num, absolute, maximum, minimum, total, where
from .geom import ABSENT

LEAST_WAY = 1e-18


@dataclass(frozen=True)
class ClippedFace:
    """A parallelogram that a rectangle about the origin clips, and the corners of what is left.

    Attributes:
        centre: the parallelogram's centre.
        first, second: half of each of its sides.
        size: half sizes of the rectangle.
        corners: of each whether it is there, and where.
    """

    centre: tuple[Num, Num]
    first: tuple[Num, Num]
    second: tuple[Num, Num]
    size: tuple[Num, Num]
    corners: Sequence[tuple[Bool, Num, Num]]

    def order(self) -> list[Num]:
        """Returns numbers from 0 to 8 for all corners, which grow along MuJoCo's list of them.

        It goes round the parallelogram, from the side `first` to the side `second`, and so round what is left of it.
        """
        count = total(where(exists, 1.0, 0.0) for exists, *_ in self.corners)
        there = [(where(exists, u, 0.0), where(exists, v, 0.0)) for exists, u, v in self.corners]
        middle = [total(column) / maximum(count, 1.0) for column in zip(*there, strict=True)]
        start = self._first_corner()
        gaps = [where(exists, _square(u - start[0], v - start[1]), ABSENT) for exists, u, v in self.corners]
        nearest, (x, y) = gaps[0], (start[0] - middle[0], start[1] - middle[1])
        for gap in gaps:
            nearest = minimum(nearest, gap)
        turn, places = self._turn(), []
        for gap, (_, u, v) in zip(gaps, self.corners, strict=True):
            ahead = x * (u - middle[0]) + y * (v - middle[1])
            aside = (x * (v - middle[1]) - y * (u - middle[0])) * turn
            share = ahead / maximum(absolute(ahead) + absolute(aside), MINVAL)
            places.append(where(gap <= nearest, 0.0, 2.0 * where(aside > 0.0, 1.0 - share, 3.0 + share)))
        return places

    def _turn(self) -> Num:
        """Returns 1 if going from `first` to `second` is going from the first coordinate to the second, else -1."""
        return where(_area(self.first, self.second) > 0.0, 1.0, -1.0)

    def _first_corner(self) -> tuple[Num, Num]:
        """Returns the corner that MuJoCo begins with.

        It cuts off what lies beyond each side of the rectangle, one after the other. The corner is that of both sides;
        where it is cut off, the end of the cut that one comes to as one goes round.
        """
        corner = [total(parts) for parts in zip(self.centre, self.first, self.second, strict=True)]
        for axis in (0, 1):
            for side in (1.0, -1.0):
                outside, end = corner[axis] * side > self.size[axis], self._end_of_cut(axis, side)
                corner = [where(outside, a, b) for a, b in zip(end, corner, strict=True)]
        return corner[0], corner[1]

    def _end_of_cut(self, axis: int, side: float) -> tuple[Num, Num]:
        """Returns where a cut along a side of the rectangle ends; one across the first axis may end beyond the side."""
        other = 1 - axis
        reach = total(absolute(part[other]) for part in (self.centre, self.first, self.second))
        back = self._turn() * ((reach if axis == 0 else self.size[other]) * (side if axis == 1 else -side))
        edge, area = self.size[axis] * side, _area(self.first, self.second)
        place, way = [-self.centre[0], -self.centre[1]], [Num(0.0), Num(0.0)]
        place[axis], way[other] = place[axis] + edge, back
        along = [
            (_area((p[0], p[1]), self.second) / area, _area(self.first, (p[0], p[1])) / area) for p in (place, way)
        ]
        end = clip_line(along[0], along[1], (ONE, ONE))[0] * back
        return (edge, end) if axis == 0 else (end, edge)


def clip_line(place: tuple[Num, Num], way: tuple[Num, Num], size: tuple[Num, Num]) -> tuple[Num, Bool]:
    """Returns where on a line, from -1 to 1, a rectangle about the origin begins, and whether the line meets it."""
    low, high = Num(-1.0), ONE
    for p, d, s in zip(place, way, size, strict=True):
        steep = where(absolute(d) < LEAST_WAY, LEAST_WAY, d)
        middle, half = -(p / steep), s / absolute(steep)
        low, high = maximum(low, middle - half), minimum(high, middle + half)
    return low, low < high


def _area(one: tuple[Num, Num], other: tuple[Num, Num]) -> Num:
    return one[0] * other[1] - one[1] * other[0]


def _square(x: Num, y: Num) -> Num:
    return x * x + y * y
