"""Ellipsoids against ellipsoids: the two points whose normals are opposite and on the line between them.

Of A = {x: |A^-1 x| <= 1} about the origin and B about c, the points in direction n are A^2 n / |A n| and
c - B^2 n / |B n|. They differ by a multiple of n where (s A^2 + t B^2 + d) n = c for some d, s = 1 / |A n| and
t = 1 / |B n|. With w = (s A^2 + t B^2 + d)^-1 c these are two equations, s |A w| = 1 and t |B w| = 1, which do not
change if s, t, d and 1 / w are all multiplied by a number, so that s + t may be 1. They are smooth where the shapes
begin to overlap and d becomes negative. Newton's method on 1 / (s |A w|) and 1 / (t |B w|) begins at d = 0, and keeps
the matrix positive definite. Overlaps may be left in several directions, of which it finds one, and very flat or long
shapes may need more steps: there the shortest way out is searched. Derivatives are those of a last step on the sphere
of directions, which at a root are the root's.

References:
    Perram, Wertheim (1985), Statistical mechanics of hard ellipsoids I: the contact function, where d is 0.
    Conn, Gould, Toint (2000), Trust-region methods, section 7.3: one ellipsoid, and the bound on d.
    Golub, Van Loan (2013), Matrix computations, section 4.1: the factors of the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from ..algebra.scalar import ONE, ZERO, Num, clip, logical_any, maximum, minimum, sqrt, stop_gradient, total
from ..algebra.vector import UNIT_VECTORS, Mat, Vec
from ..control_flow.cond import map_nums
from .geom import ContactPoint, GeomInfo, where_vec
from .penetration import Overlap, shortest_way_out

NEWTON_STEPS = 6
KEPT = 0.1
"""The least share of the matrix' smallest eigenvalue that a step keeps."""
SINGULAR = 1e-7
"""Of an element of the diagonal: the least that a factor's may be."""
DEEP = 0.5
"""Of the least radius of curvature, or less: the overlap beyond which other ways out are searched."""
SETTLED = 1e-4
"""Of the smallest half size: how far the two points may lie apart sideways before others are searched."""
LEAST_DISTANCE = 1e-8
"""Of the first half size: how far apart centres are at least taken to be."""


def ellipsoid_ellipsoid(first: GeomInfo, second: GeomInfo) -> list[ContactPoint]:
    """Returns one point."""
    a, frame = _Shape.upright(first.size), first.frame
    b = _Shape.turned(second.size, [frame.mat.transpose() @ column for column in second.frame.mat.columns()])
    centre = first.local(second.frame.pos)
    least_distance = first.size[0] * LEAST_DISTANCE
    met = centre.dot(centre) < least_distance * least_distance
    overlap = Overlap((a.square, b.square), where_vec(met, Vec(least_distance, least_distance, least_distance), centre))
    normal = overlap.newton_step(_normal(a, b, overlap))
    from_a, from_b = a.support(normal), centre - b.support(normal)
    middle = (from_a + from_b) * 0.5
    return [ContactPoint(normal.dot(from_b - from_a), frame.pos + frame.mat @ middle, frame.mat @ normal)]


@dataclass(frozen=True)
class _Shape:
    """An ellipsoid about the origin.

    Attributes:
        axes: its axes, unit vectors.
        square: the matrix A^2.
        least: its smallest eigenvalue.
        trace: the sum of its eigenvalues.
    """

    axes: tuple[Vec, ...]
    square: Mat
    least: Num
    trace: Num

    @staticmethod
    def upright(size: list[Num]) -> _Shape:
        """Returns the ellipsoid whose axes are those of the frame."""
        return _Shape.turned(size, UNIT_VECTORS)

    @staticmethod
    def turned(size: list[Num], axes: Sequence[Vec]) -> _Shape:
        """Returns the ellipsoid of these axes."""
        squares = [s * s for s in size]
        rows = [reduce(Vec.__add__, (v * (s * v[i]) for s, v in zip(squares, axes, strict=True))) for i in range(3)]
        return _Shape(tuple(axes), Mat(*rows), minimum(minimum(squares[0], squares[1]), squares[2]), total(squares))

    def support(self, normal: Vec) -> Vec:
        """Returns the point that is farthest in a direction."""
        scaled = self.square @ normal
        return scaled * (1.0 / sqrt(normal.dot(scaled)))


@dataclass(frozen=True)
class _Factors:
    """The inverse of a positive definite matrix, M^T D M, where M is lower triangular with a diagonal of ones.

    Attributes:
        yx, zx, zy: elements of M.
        inverse: diagonal of D.
    """

    yx: Num
    zx: Num
    zy: Num
    inverse: Vec

    @staticmethod
    def of(matrix: Mat, least: Num) -> _Factors:
        """Returns the factors of a matrix; those of a diagonal are at least `least`."""
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = matrix
        x = 1.0 / maximum(xx, least)
        yx, zx = xy * x, xz * x
        y = 1.0 / maximum(yy - yx * xy, least)
        rest = yz - zx * xy
        zy = rest * y
        z = 1.0 / maximum(zz - zx * xz - zy * rest, least)
        return _Factors(-yx, yx * zy - zx, -zy, Vec(x, y, z))

    def forward(self, v: Vec) -> Vec:
        """Returns M v."""
        return Vec(v.x, v.y + self.yx * v.x, v.z + self.zx * v.x + self.zy * v.y)

    def product(self, u: Vec, v: Vec) -> Num:
        """Returns the inner product with the inverse between, of M u and M v."""
        return total(d * x * y for d, x, y in zip(self.inverse, u, v, strict=True))

    def solve(self, v: Vec) -> Vec:
        """Returns the inverse times v."""
        x, y, z = (d * s for d, s in zip(self.inverse, self.forward(v), strict=True))
        return Vec(x + self.yx * y + self.zx * z, y + self.zy * z, z)

    def trace(self) -> Num:
        """Returns the sum of the eigenvalues of the inverse."""
        x, y, z = self.inverse
        return x + (1.0 + self.yx * self.yx) * y + (1.0 + self.zx * self.zx + self.zy * self.zy) * z


def _normal(a: _Shape, b: _Shape, overlap: Overlap) -> Vec:
    """Returns the unit vector along which the ellipsoids are farthest from each other, to derivatives a constant."""
    a, b, overlap = (map_nums(x, stop_gradient) for x in (a, b, overlap))
    ratio, shift = ONE, ZERO
    for _ in range(NEWTON_STEPS):
        ratio, shift = _newton_step(a, b, overlap.centre, ratio, shift)
    normal = _solve(a, b, overlap.centre, ratio, shift)[1].norm_and_unit()[1]
    least = minimum(a.least, b.least)
    curved, settled = least / sqrt(maximum(a.trace, b.trace)), SETTLED * sqrt(least)
    unsure = logical_any([overlap.depth(normal) > DEEP * curved, overlap.sideways(normal) > settled])
    return shortest_way_out(overlap, unsure, normal, [(axis, 0.0) for axis in (*a.axes, *b.axes)])


def _solve(a: _Shape, b: _Shape, centre: Vec, ratio: Num, shift: Num) -> tuple[_Factors, Vec]:
    """Returns the factors of the matrix with t / s = `ratio` and d = `shift`, and w."""
    s = 1.0 / (1.0 + ratio)
    t = ratio * s
    rows = [u * s + v * t + e * shift for u, v, e in zip(a.square, b.square, UNIT_VECTORS, strict=True)]
    factors = _Factors.of(Mat(*rows), (a.trace * s + b.trace * t) * SINGULAR)
    return factors, factors.solve(centre)


def _newton_step(a: _Shape, b: _Shape, centre: Vec, ratio: Num, shift: Num) -> tuple[Num, Num]:
    """Returns the next ratio and shift; the ratio is changed by a factor of at most three."""
    factors, w = _solve(a, b, centre, ratio, shift)
    s = 1.0 / (1.0 + ratio)
    t = ratio * s
    x, y = a.square @ w, b.square @ w
    square_x, square_y = w.dot(x), w.dot(y)
    fx, fy, fw = (factors.forward(v) for v in (x, y, w))
    both = factors.product(fx, fy)
    # How the logarithms of s |A w| and t |B w| change with that of the ratio, and with the shift.
    x_ratio = s * t * (factors.product(fx, fx) - both) / square_x - t
    y_ratio = s * t * (both - factors.product(fy, fy)) / square_y + s
    x_shift, y_shift = -factors.product(fx, fw) / square_x, -factors.product(fy, fw) / square_y
    off_x, off_y = s * sqrt(square_x) - 1.0, t * sqrt(square_y) - 1.0
    per = 1.0 / (x_ratio * y_shift - x_shift * y_ratio)
    change = clip((x_shift * off_y - off_x * y_shift) * per, -1.0, 1.0)
    factor = (2.0 + change) / (2.0 - change)
    following = ratio * factor
    # A smallest eigenvalue is at least one over the trace of the inverse.
    least, shrunk = 1.0 / factors.trace(), (1.0 + ratio) / (1.0 + following)
    kept = minimum(shrunk, shrunk * factor) * (least - shift)
    bound = maximum(kept, (a.least + following * b.least) / (1.0 + following))
    moved = shift - (x_ratio * off_y - y_ratio * off_x) * per
    return following, maximum(moved, KEPT * minimum(least, bound) - bound)
