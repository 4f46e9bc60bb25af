"""Costs of constraints: convex functions of how far their accelerations are from the reference acceleration.

Each cost is a function s(v) of the residuals v = J a - aref of a constraint's rows, MuJoCo's Jaref. The constraint's
force is -ds/dv. D, the weight of a row, is the inverse of its regularisation R: mjData's efc_D. With D = 0 the
constraint is not active.

References:
    MuJoCo documentation, Computation, "Constraint model", friction cones, and "Constraint solver", primal problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, runtime_checkable

from ..algebra.scalar import MINVAL, ZERO, Bool, Num, logical_and, maximum, minimum, sqrt, total, where
from ..algebra.sparse import SparseMatrix


@runtime_checkable
class ConstraintCost(Protocol):
    """A convex function s(v) of the residuals v [rows] of one constraint."""

    def cost(self, v: Sequence[Num]) -> Num:
        """Returns s(v)."""
        ...

    def force(self, v: Sequence[Num]) -> list[Num]:
        """Returns -ds/dv [rows]: mjData's efc_force."""
        ...

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        """Returns d2s/dv2 [rows, rows]: entries on and below the diagonal; those that are not given are zero."""
        ...

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        """Returns the first and second derivative of s(v + alpha jv) with respect to alpha."""
        ...

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        """Returns a number that is negative if s may not be one quadratic function between the residuals v and w."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """1/2 D v^2 of every row: equalities, which push and pull.

    Attributes:
        D: weight of each row.
    """

    D: list[Num]

    def cost(self, v: Sequence[Num]) -> Num:
        return total(0.5 * d * x * x for d, x in zip(self.D, v, strict=True))

    def force(self, v: Sequence[Num]) -> list[Num]:
        return [-(d * x) for d, x in zip(self.D, v, strict=True)]

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        return {(i, i): d for i, d in enumerate(self.D)}

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        return ZERO

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        weighted = [d * y for d, y in zip(self.D, jv, strict=True)]
        first = total(p * (x + alpha * y) for p, x, y in zip(weighted, v, jv, strict=True))
        return first, total(p * y for p, y in zip(weighted, jv, strict=True))


@dataclass(frozen=True)
class OneSided:
    """1/2 D min(v, 0)^2 of one row: limits and contacts without friction, which only push.

    Attributes:
        D: weight of the row.
    """

    D: Num

    def cost(self, v: Sequence[Num]) -> Num:
        push = maximum(-v[0], 0.0)
        return 0.5 * self.D * push * push

    def force(self, v: Sequence[Num]) -> list[Num]:
        return [self.D * maximum(-v[0], 0.0)]

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        return {(0, 0): where(v[0] < 0.0, self.D, 0.0)}

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        return self.D * v[0] * w[0]

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        return _one_sided_derivatives(self.D, v[0] + alpha * jv[0], jv[0])


@dataclass(frozen=True)
class Huber:
    """Huber's function of one row: dry friction, whose force is at most `frictionloss`.

    Attributes:
        D: weight of the row.
        frictionloss: largest force [N or N m].
    """

    D: Num
    frictionloss: Num

    def cost(self, v: Sequence[Num]) -> Num:
        width, size = self.frictionloss / self.D, where(v[0] > 0.0, v[0], -v[0])
        return where(size < width, 0.5 * self.D * size * size, self.frictionloss * (size - 0.5 * width))

    def force(self, v: Sequence[Num]) -> list[Num]:
        push = where(v[0] > 0.0, -self.frictionloss, self.frictionloss)
        return [where(self._is_quadratic(v[0]), -(self.D * v[0]), push)]

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        return {(0, 0): where(self._is_quadratic(v[0]), self.D, 0.0)}

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        width = self.frictionloss / self.D
        ends = ((x[0] - width, x[0] + width) for x in (v, w))
        return min_or_zero(a * b for a, b in zip(*ends, strict=True))

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        at = [v[0] + alpha * jv[0]]
        return -(self.force(at)[0] * jv[0]), self.hessian(at)[0, 0] * jv[0] * jv[0]

    def _is_quadratic(self, v: Num) -> Bool:
        width = self.frictionloss / self.D
        return logical_and(v < width, v > -width)


@dataclass(frozen=True)
class PyramidalCone:
    """Friction bounded by a pyramid: along each tangent the one-sided costs of two edges v_0 +- mu_j v_j.

    The rows are the normal and the tangents; MuJoCo's are the edges.

    Attributes:
        D: weight of an edge.
        friction: coefficient mu_j of each tangent.
        fixed_tangents: how many tangents there are besides along which nothing can move: their edges are all v_0.
    """

    D: Num
    friction: list[Num]
    fixed_tangents: int = 0

    def edges(self, v: Sequence[Num]) -> list[tuple[Num, Num]]:
        """Returns both edges along each tangent."""
        return [(v[0] + mu * x, v[0] - mu * x) for mu, x in zip(self.friction, v[1:], strict=True)]

    @property
    def _fixed_edges(self) -> OneSided:
        return OneSided(2.0 * self.fixed_tangents * self.D)

    def cost(self, v: Sequence[Num]) -> Num:
        pushes = [maximum(-edge, 0.0) for pair in self.edges(v) for edge in pair]
        return self._fixed_edges.cost(v[:1]) + 0.5 * self.D * total(p * p for p in pushes)

    def force(self, v: Sequence[Num]) -> list[Num]:
        normal, tangents = self._fixed_edges.force(v[:1])[0], []
        for mu, (plus, minus) in zip(self.friction, self.edges(v), strict=True):
            one, other = (self.D * maximum(-edge, 0.0) for edge in (plus, minus))
            normal = normal + (one + other)
            tangents.append(mu * (one - other))
        return [normal, *tangents]

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        found = self._fixed_edges.hessian(v[:1])
        for i, (mu, edges) in enumerate(zip(self.friction, self.edges(v), strict=True), 1):
            one, other = (where(edge < 0.0, self.D, 0.0) for edge in edges)
            found[0, 0] = found[0, 0] + (one + other)
            found[i, 0] = mu * (one - other)
            found[i, i] = mu * mu * (one + other)
        return found

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        edges = [edge for pair in zip(self.edges(v), self.edges(w), strict=True) for edge in zip(*pair, strict=True)]
        fixed = [(v[0], w[0])] if self.fixed_tangents else []
        return self.D * min_or_zero(a * b for a, b in (*edges, *fixed))

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        first, second = self._fixed_edges.line_derivatives(v[:1], jv[:1], alpha)
        for pair, speeds in zip(self.edges(v), self.edges(jv), strict=True):
            for edge, speed in zip(pair, speeds, strict=True):
                one, other = _one_sided_derivatives(self.D, edge + alpha * speed, speed)
                first, second = first + one, second + other
        return first, second


@dataclass(frozen=True)
class EllipticCone:
    """Friction bounded by an elliptic cone.

    With N = mu v_0, T_j = friction_j v_j and T their length, as in MuJoCo's documentation: zero in the top zone, where
    N >= mu T; quadratic in all rows in the bottom zone, where mu N + T <= 0; and between them, in the middle zone,
    D_m (N - mu T)^2 / 2 with D_m = D_0 / (mu^2 (1 + mu^2)).

    Attributes:
        D: weight of each row.
        friction: coefficient of each tangent.
        mu: coefficient of the regularised cone.
    """

    D: list[Num]
    friction: list[Num]
    mu: Num

    def cost(self, v: Sequence[Num]) -> Num:
        _, size, _, gap = self._parts(v)
        bottom, middle = self._zones(v, size)
        sliding = 0.5 * self._middle_weight * gap * gap
        return where(bottom, Quadratic(self.D).cost(v), where(middle, sliding, 0.0))

    def force(self, v: Sequence[Num]) -> list[Num]:
        _, size, along, gap = self._parts(v)
        bottom, middle = self._zones(v, size)
        pull = self._middle_weight * gap * self.mu
        sliding = [-pull, *(pull * f * a for f, a in zip(self.friction, along, strict=True))]
        sticking = Quadratic(self.D).force(v)
        return [where(bottom, a, where(middle, b, 0.0)) for a, b in zip(sticking, sliding, strict=True)]

    def hessian(self, v: Sequence[Num]) -> SparseMatrix:
        _, size, along, gap = self._parts(v)
        bottom, middle = self._zones(v, size)
        outer = self._middle_weight * self.mu * self.mu
        turn = -(self._middle_weight * gap * self.mu) / size
        found: SparseMatrix = {(0, 0): where(bottom, self.D[0], where(middle, outer, 0.0))}
        for i, (f, a) in enumerate(zip(self.friction, along, strict=True), 1):
            found[i, 0] = where(bottom, 0.0, where(middle, -(outer * f * a), 0.0))
            for j, (g, b) in enumerate(zip(self.friction[:i], along[:i], strict=True), 1):
                entry = (outer - turn) * a * b + (turn if i == j else ZERO)
                sticking = self.D[i] if i == j else ZERO
                found[i, j] = where(bottom, sticking, where(middle, f * g * entry, 0.0))
        return found

    def same_piece(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        ends = ((self._parts(x), x) for x in (v, w))
        # how far inside the bottom zone, and how far inside the top zone
        bottom, top = zip(*((-(self.mu * self.mu * x[0] + parts[1]), parts[3]) for parts, x in ends), strict=True)
        inside = maximum(minimum(*bottom), minimum(*top))
        return where(self.D[0] > 0.0, inside, 0.0)

    def line_derivatives(self, v: Sequence[Num], jv: Sequence[Num], alpha: Num) -> tuple[Num, Num]:
        at = [x + alpha * y for x, y in zip(v, jv, strict=True)]
        _, size, directions, gap = self._parts(at)
        bottom, middle = self._zones(at, size)
        tangents = [f * y for f, y in zip(self.friction, jv[1:], strict=True)]
        growth = total(a * t for a, t in zip(directions, tangents, strict=True))
        bend = (total(t * t for t in tangents) - growth * growth) / size
        slope = self.mu * (jv[0] - growth)
        first = self._middle_weight * gap * slope
        second = self._middle_weight * (slope * slope - gap * self.mu * bend)
        weighted = [d * y for d, y in zip(self.D, jv, strict=True)]
        sticking = (
            total(p * x for p, x in zip(weighted, at, strict=True)),
            total(p * y for p, y in zip(weighted, jv, strict=True)),
        )
        pairs = zip(sticking, (first, second), strict=True)
        one, other = (where(bottom, a, where(middle, b, 0.0)) for a, b in pairs)
        return one, other

    @property
    def _middle_weight(self) -> Num:
        square = self.mu * self.mu
        return self.D[0] / (square * (1.0 + square))

    def _parts(self, v: Sequence[Num]) -> tuple[Num, Num, list[Num], Num]:
        """Returns N, T, the direction of sliding, and N - mu T."""
        tangents = [f * x for f, x in zip(self.friction, v[1:], strict=True)]
        square = total(t * t for t in tangents)
        tiny = square < MINVAL**2
        size = sqrt(where(tiny, MINVAL**2, square))
        normal = self.mu * v[0]
        return normal, size, [t / size for t in tangents], normal - self.mu * size

    def _zones(self, v: Sequence[Num], size: Num) -> tuple[Bool, Bool]:
        """Returns whether v is in the bottom zone, and whether it is in the middle or the bottom zone."""
        normal = self.mu * v[0]
        return self.mu * normal + size <= 0.0, normal < self.mu * size


def min_or_zero(values: Iterable[Num]) -> Num:
    """Returns the smallest number, or zero if none is below."""
    return reduce(lower, values, ZERO)


def lower(a: Num, b: Num) -> Num:
    """Returns the smaller number; b if one is a NaN. A third of the instructions of `minimum`."""
    return where(a < b, a, b)


def _one_sided_derivatives(D: Num, v: Num, jv: Num) -> tuple[Num, Num]:
    """Returns the derivatives of 1/2 D min(v + alpha jv, 0)^2 with respect to alpha, at alpha = 0."""
    weighted = D * jv
    return weighted * minimum(v, 0.0), where(v < 0.0, weighted * jv, 0.0)
