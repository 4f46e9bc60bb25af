"""The penetration depth of ellipsoids: the direction in which they have to be moved the least to be apart.

Shapes that reach |A n| and |B n| in direction n, the second about c, are parted along n by a move of
|A n| + |B n| - n . c. It is smooth on the sphere of directions, and where shapes overlap it has several minima, near
the axes of the shapes. So the search begins at all these axes, with the signs that c tells, and takes the least of what
Newton's method finds on the sphere. A segment about c reaches |h . n|, which has a kink: each of its ends is searched
as if the other one were not there.

References:
    Cameron, Culley (1986), Determining the minimum translational distance between two convex polyhedra, section 2.
    Absil, Mahony, Sepulchre (2008), Optimization algorithms on matrix manifolds, section 6.2: Newton's method there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import jax
import jax.numpy as jnp
from jax import lax

from ..algebra.scalar import ZERO, Bool, Num, absolute, maximum, nums, sqrt, stop_gradient, to_array, total, where
from ..algebra.vector import UNIT_VECTORS, ZERO3, Mat, Vec
from ..control_flow.cond import cond_or_zeros, map_nums
from .geom import where_vec

NEWTON_STEPS = 8
UPHILL = 0.25
"""The part of a step that is taken where all of it would lead to a larger depth."""
CURVED = 1e-5
"""Of the largest curvature: the least that a step counts on."""
STRAIGHT = 1e-6
"""Of how far the ellipsoids reach: what is added to that."""
LONGEST_STEP = 0.6
"""Radians."""

Start = tuple[Vec, float]
"""A direction, and the end of the segment that is searched: 1 or -1, or 0 without one."""


@dataclass(frozen=True)
class Overlap:
    """The overlap of an ellipsoid about the origin with another one, or with a segment, that is to leave it.

    Attributes:
        squares: the matrix A^2 of each ellipsoid.
        centre: c, the centre of what leaves.
        half: from the segment's middle to its end; zero if there is none.
    """

    squares: tuple[Mat, ...]
    centre: Vec
    half: Vec = ZERO3

    def depth(self, normal: Vec) -> Num:
        """Returns the move along a unit vector that parts them."""
        return self._reach(normal) + absolute(self.half.dot(normal)) - normal.dot(self.centre)

    def sideways(self, normal: Vec) -> Num:
        """Returns how far the two points that are farthest along a unit vector lie apart across it; 0 at a minimum."""
        slope = self._slope(normal, self.centre)
        return (slope - normal * normal.dot(slope)).norm_and_unit()[0]

    def newton_step(self, normal: Vec, side: Num = ZERO) -> Vec:
        """Returns the next unit vector; its derivative at a minimum is that of the minimum."""
        centre = self.centre + self.half * side
        slope = self._slope(normal, centre)
        level = map_nums(normal, stop_gradient)
        u = where_vec(absolute(level.x) < 0.6, UNIT_VECTORS[0], UNIT_VECTORS[1]).cross(level).norm_and_unit()[1]
        w = level.cross(u)
        uu, uw, ww = (map_nums(x, stop_gradient) for x in self._curvature(normal, u, w, normal.dot(slope)))
        mean, uneven = 0.5 * (uu + ww), Vec(0.5 * (uu - ww), uw, ZERO)
        spread = uneven.norm_and_unit()[0]
        low, least = mean - spread, CURVED * absolute(mean + spread) + STRAIGHT * stop_gradient(self._reach(level))
        lift = where(low < least, maximum(least, -low) - low, 0.0)
        uu, ww = uu + lift, ww + lift
        per = -1.0 / (uu * ww - uw * uw)
        along_u, along_w = slope.dot(u), slope.dot(w)
        move = u * ((ww * along_u - uw * along_w) * per) + w * ((uu * along_w - uw * along_u) * per)
        length = stop_gradient(move.norm_and_unit()[0])
        return (normal + move * (LONGEST_STEP / maximum(length, LONGEST_STEP))).norm_and_unit()[1]

    def descend(self, start: Vec, side: Num) -> tuple[Num, Vec]:
        """Returns the least depth that Newton's method finds from a direction or its opposite, and its direction."""
        normal = where_vec(start.dot(self.centre) < 0.0, -start, start)
        end = Overlap(self.squares, self.centre + self.half * side)
        for _ in range(NEWTON_STEPS):
            following = end.newton_step(normal)
            shorter = (normal + (following - normal) * UPHILL).norm_and_unit()[1]
            normal = where_vec(end.depth(following) > end.depth(normal), shorter, following)
        return self.depth(normal), normal

    def _reach(self, normal: Vec) -> Num:
        return total(sqrt(normal.dot(square @ normal)) for square in self.squares)

    def _slope(self, normal: Vec, centre: Vec) -> Vec:
        """Returns the gradient of the depth."""
        slope = -centre
        for square in self.squares:
            scaled = square @ normal
            slope = slope + scaled * (1.0 / sqrt(normal.dot(scaled)))
        return slope

    def _curvature(self, normal: Vec, u: Vec, w: Vec, depth: Num) -> tuple[Num, Num, Num]:
        """Returns the second derivatives along two tangents of the sphere: uu, uw and ww."""
        uu, uw, ww = -depth, ZERO, -depth
        for square in self.squares:
            scaled_u, scaled_w, scaled = square @ u, square @ w, square @ normal
            per = 1.0 / sqrt(normal.dot(scaled))
            along_u, along_w = scaled.dot(u) * per, scaled.dot(w) * per
            uu = uu + (scaled_u.dot(u) - along_u * along_u) * per
            uw = uw + (scaled_u.dot(w) - along_u * along_w) * per
            ww = ww + (scaled_w.dot(w) - along_w * along_w) * per
        return uu, uw, ww


def shortest_way_out(overlap: Overlap, needed: Bool, normal: Vec, starts: Sequence[Start]) -> Vec:
    """Returns the best of a direction and of what is found from `starts`; the direction itself where none is needed.

    Derivatives take it for a constant.
    """
    overlap, normal = map_nums(overlap, stop_gradient), map_nums(normal, stop_gradient)
    rows = [[*map_nums(start, stop_gradient), Num(side)] for start, side in starts]
    if isinstance(needed, bool):
        return _best(overlap, normal, rows) if needed else normal
    dtype = needed.dtype

    def best() -> Vec:
        def better(best: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
            return to_array(_better(overlap, nums(best), nums(row)), dtype), None

        first = to_array([overlap.depth(normal), *normal], dtype)
        return Vec(*nums(lax.scan(better, first, jnp.stack([to_array(row, dtype) for row in rows]))[0])[1:])

    return where_vec(needed, cond_or_zeros(needed, best), normal)


def _best(overlap: Overlap, normal: Vec, rows: list[list[Num]]) -> Vec:
    """Returns what the scan returns, of numbers that are all known."""
    return Vec(*reduce(partial(_better, overlap), rows, [overlap.depth(normal), *normal])[1:])


def _better(overlap: Overlap, best: list[Num], row: list[Num]) -> list[Num]:
    """Returns the smaller depth and its direction, of the best so far and of what is found from a start."""
    depth, normal = overlap.descend(Vec(*row[:3]), row[3])
    less = depth < best[0]
    return [where(less, one, other) for one, other in zip([depth, *normal], best, strict=True)]
