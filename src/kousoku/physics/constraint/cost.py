"""What a constraint's force may be: convex functions of how far its acceleration is from what it wants.

Each law is a function s(v) of the residuals v = J a - reference of a constraint's rows. The force is -ds/dv, the
curvature d2s/dv2. A stiffness of zero makes a constraint that is not there.

References:
    MuJoCo documentation, Computation, "Constraint model", friction cones, and "Constraint solver", primal problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, runtime_checkable

from ..algebra.scalar import SMALLEST, ZERO, Num, Truth, both, maximum, minimum, sqrt, total, where
from ..algebra.sparse import Matrix


@runtime_checkable
class Law(Protocol):
    """A convex function of residuals."""

    def cost(self, v: Sequence[Num]) -> Num:
        """s(v)."""
        ...

    def force(self, v: Sequence[Num]) -> list[Num]:
        """-ds/dv."""
        ...

    def curvature(self, v: Sequence[Num]) -> Matrix:
        """The second derivative: entries on and below the diagonal; those that are not given are zero."""
        ...

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        """The first and second derivative of s(v + length w) with respect to `length`."""
        ...

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        """Negative if v and w may lie on different parabolas, or on none."""
        ...


@dataclass(frozen=True)
class Hold:
    """A parabola of every row: equalities, which push and pull."""

    stiffness: list[Num]

    def cost(self, v: Sequence[Num]) -> Num:
        return total(0.5 * d * x * x for d, x in zip(self.stiffness, v, strict=True))

    def force(self, v: Sequence[Num]) -> list[Num]:
        return [-(d * x) for d, x in zip(self.stiffness, v, strict=True)]

    def curvature(self, v: Sequence[Num]) -> Matrix:
        return {(i, i): d for i, d in enumerate(self.stiffness)}

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        return ZERO

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        pull = [d * y for d, y in zip(self.stiffness, w, strict=True)]
        first = total(p * (x + length * y) for p, x, y in zip(pull, v, w, strict=True))
        return first, total(p * y for p, y in zip(pull, w, strict=True))


@dataclass(frozen=True)
class Push:
    """Half a parabola: limits and contacts without friction."""

    stiffness: Num

    def cost(self, v: Sequence[Num]) -> Num:
        push = maximum(-v[0], 0.0)
        return 0.5 * self.stiffness * push * push

    def force(self, v: Sequence[Num]) -> list[Num]:
        return [self.stiffness * maximum(-v[0], 0.0)]

    def curvature(self, v: Sequence[Num]) -> Matrix:
        return {(0, 0): where(v[0] < 0.0, self.stiffness, 0.0, v[0])}

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        return self.stiffness * v[0] * w[0]

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        return _pushed(self.stiffness, v[0] + length * w[0], w[0])


@dataclass(frozen=True)
class Rub:
    """Huber's function: dry friction, whose force is at most `bound`."""

    stiffness: Num
    bound: Num

    def cost(self, v: Sequence[Num]) -> Num:
        width, size = self.bound / self.stiffness, where(v[0] > 0.0, v[0], -v[0])
        return where(size < width, 0.5 * self.stiffness * size * size, self.bound * (size - 0.5 * width))

    def force(self, v: Sequence[Num]) -> list[Num]:
        push = where(v[0] > 0.0, -self.bound, self.bound, v[0])
        return [where(self._sticks(v[0]), -(self.stiffness * v[0]), push)]

    def curvature(self, v: Sequence[Num]) -> Matrix:
        return {(0, 0): where(self._sticks(v[0]), self.stiffness, 0.0, v[0])}

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        width = self.bound / self.stiffness
        ends = ((x[0] - width, x[0] + width) for x in (v, w))
        return least(a * b for a, b in zip(*ends, strict=True))

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        at = [v[0] + length * w[0]]
        return -(self.force(at)[0] * w[0]), self.curvature(at)[0, 0] * w[0] * w[0]

    def _sticks(self, v: Num) -> Truth:
        width = self.bound / self.stiffness
        return both(v < width, v > -width)


@dataclass(frozen=True)
class Pyramid:
    """Friction bounded by a pyramid: along each tangent two half parabolas of the edges v_0 +- mu_j v_j.

    Attributes:
        stiffness: of an edge.
        friction: of each tangent.
        still: how many tangents there are besides along which nothing can move: their edges are all v_0.
    """

    stiffness: Num
    friction: list[Num]
    still: int = 0

    def edges(self, v: Sequence[Num]) -> list[tuple[Num, Num]]:
        """Both edges along each tangent."""
        return [(v[0] + mu * x, v[0] - mu * x) for mu, x in zip(self.friction, v[1:], strict=True)]

    @property
    def _upright(self) -> Push:
        return Push(2.0 * self.still * self.stiffness)

    def cost(self, v: Sequence[Num]) -> Num:
        pushes = [maximum(-edge, 0.0) for pair in self.edges(v) for edge in pair]
        return self._upright.cost(v[:1]) + 0.5 * self.stiffness * total(p * p for p in pushes)

    def force(self, v: Sequence[Num]) -> list[Num]:
        normal, tangents = self._upright.force(v[:1])[0], []
        for mu, (plus, minus) in zip(self.friction, self.edges(v), strict=True):
            one, other = (self.stiffness * maximum(-edge, 0.0) for edge in (plus, minus))
            normal = normal + (one + other)
            tangents.append(mu * (one - other))
        return [normal, *tangents]

    def curvature(self, v: Sequence[Num]) -> Matrix:
        found = self._upright.curvature(v[:1])
        for i, (mu, edges) in enumerate(zip(self.friction, self.edges(v), strict=True), 1):
            one, other = (where(edge < 0.0, self.stiffness, 0.0, edge) for edge in edges)
            found[0, 0] = found[0, 0] + (one + other)
            found[i, 0] = mu * (one - other)
            found[i, i] = mu * mu * (one + other)
        return found

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        edges = [edge for pair in zip(self.edges(v), self.edges(w), strict=True) for edge in zip(*pair, strict=True)]
        upright = [(v[0], w[0])] if self.still else []
        return self.stiffness * least(a * b for a, b in (*edges, *upright))

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        first, second = self._upright.along(v[:1], w[:1], length)
        for pair, speeds in zip(self.edges(v), self.edges(w), strict=True):
            for edge, speed in zip(pair, speeds, strict=True):
                one, other = _pushed(self.stiffness, edge + length * speed, speed)
                first, second = first + one, second + other
        return first, second


@dataclass(frozen=True)
class Cone:
    """Friction bounded by an elliptic cone.

    With N = mu v_0, T_j = friction_j v_j and T their length: nothing where N >= mu T, parabolas of all rows where
    mu N + T <= 0, and between them D (N - mu T)^2 / 2 with D = stiffness_0 / (mu^2 (1 + mu^2)).

    Attributes:
        stiffness: of each row.
        friction: of each tangent.
        mu: of the regularised cone.
    """

    stiffness: list[Num]
    friction: list[Num]
    mu: Num

    def cost(self, v: Sequence[Num]) -> Num:
        _, size, _, gap = self._parts(v)
        sticks, slides = self._zones(v, size)
        slipping = 0.5 * self._between * gap * gap
        return where(sticks, Hold(self.stiffness).cost(v), where(slides, slipping, 0.0))

    def force(self, v: Sequence[Num]) -> list[Num]:
        _, size, along, gap = self._parts(v)
        sticks, slides = self._zones(v, size)
        pull = self._between * gap * self.mu
        slipping = [-pull, *(pull * f * a for f, a in zip(self.friction, along, strict=True))]
        held = Hold(self.stiffness).force(v)
        return [where(sticks, a, where(slides, b, 0.0)) for a, b in zip(held, slipping, strict=True)]

    def curvature(self, v: Sequence[Num]) -> Matrix:
        _, size, along, gap = self._parts(v)
        sticks, slides = self._zones(v, size)
        outer = self._between * self.mu * self.mu
        turn = -(self._between * gap * self.mu) / size
        found: Matrix = {(0, 0): where(sticks, self.stiffness[0], where(slides, outer, 0.0))}
        for i, (f, a) in enumerate(zip(self.friction, along, strict=True), 1):
            found[i, 0] = where(sticks, 0.0, where(slides, -(outer * f * a), 0.0))
            for j, (g, b) in enumerate(zip(self.friction[:i], along[:i], strict=True), 1):
                entry = (outer - turn) * a * b + (turn if i == j else ZERO)
                held = self.stiffness[i] if i == j else ZERO
                found[i, j] = where(sticks, held, where(slides, f * g * entry, 0.0))
        return found

    def kept(self, v: Sequence[Num], w: Sequence[Num]) -> Num:
        zones = ((self._parts(x), x) for x in (v, w))
        # how far inside of where all rows hold, or outside of where any does
        held, free = zip(*((-(self.mu * self.mu * x[0] + parts[1]), parts[3]) for parts, x in zones), strict=True)
        inside = maximum(minimum(*held), minimum(*free))
        return where(self.stiffness[0] > 0.0, inside, 0.0)

    def along(self, v: Sequence[Num], w: Sequence[Num], length: Num) -> tuple[Num, Num]:
        at = [x + length * y for x, y in zip(v, w, strict=True)]
        _, size, directions, gap = self._parts(at)
        sticks, slides = self._zones(at, size)
        tangents = [f * y for f, y in zip(self.friction, w[1:], strict=True)]
        growth = total(a * t for a, t in zip(directions, tangents, strict=True))
        bend = (total(t * t for t in tangents) - growth * growth) / size
        slope = self.mu * (w[0] - growth)
        first = self._between * gap * slope
        second = self._between * (slope * slope - gap * self.mu * bend)
        pull = [d * y for d, y in zip(self.stiffness, w, strict=True)]
        held = (total(p * x for p, x in zip(pull, at, strict=True)), total(p * y for p, y in zip(pull, w, strict=True)))
        pairs = zip(held, (first, second), strict=True)
        one, other = (where(sticks, a, where(slides, b, 0.0)) for a, b in pairs)
        return one, other

    @property
    def _between(self) -> Num:
        square = self.mu * self.mu
        return self.stiffness[0] / (square * (1.0 + square))

    def _parts(self, v: Sequence[Num]) -> tuple[Num, Num, list[Num], Num]:
        """N, T, the direction of sliding, and N - mu T."""
        tangents = [f * x for f, x in zip(self.friction, v[1:], strict=True)]
        square = total(t * t for t in tangents)
        tiny = square < SMALLEST**2
        size = sqrt(where(tiny, SMALLEST**2, square))
        normal = self.mu * v[0]
        return normal, size, [t / size for t in tangents], normal - self.mu * size

    def _zones(self, v: Sequence[Num], size: Num) -> tuple[Truth, Truth]:
        """Whether all rows are parabolas, and whether the contact is between that and nothing."""
        normal = self.mu * v[0]
        return self.mu * normal + size <= 0.0, normal < self.mu * size


def least(values: Iterable[Num]) -> Num:
    """The smallest one; zero if there is none below."""
    return reduce(lower, values, ZERO)


def lower(a: Num, b: Num) -> Num:
    """The smaller one; if one is not a number, b. A third of the instructions of `minimum`."""
    return where(a < b, a, b)


def _pushed(stiffness: Num, at: Num, speed: Num) -> tuple[Num, Num]:
    """Derivatives of half a parabola along a line."""
    pull = stiffness * speed
    return pull * minimum(at, 0.0), where(at < 0.0, pull * speed, 0.0, at)
