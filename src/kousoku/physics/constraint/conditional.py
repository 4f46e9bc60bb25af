"""Constraints that are hardly ever there, each in a branch of its own.

An ant may touch the floor at two dozen points, and does at one or two. What a constraint adds to the derivatives of the
solver's function is computed only in groups of lanes of which one has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import jax

from ...compiler.somewhere import somewhere
from ..algebra.scalar import ZERO, Num, added
from ..algebra.sparse import Matrix
from ..control_flow.cond import changed, only
from .cost import lower
from .jacobian import Constraint, add_congruent, add_pull, products


class Place(NamedTuple):
    """Residuals of a constraint where a line begins, and how they grow along it."""

    at: list[Num]
    along: list[Num]

    def moved(self, length: Num) -> list[Num]:
        """The residuals farther along."""
        return [v + length * w for v, w in zip(self.at, self.along, strict=True)]


@dataclass(frozen=True)
class Seldom:
    """Constraints with a Jacobian by degree of freedom, whose numbers are zero where they are not there."""

    constraints: list[Constraint]

    def begun(self, x: Sequence[Num], search: Sequence[Num]) -> list[Place]:
        """Each one's residuals along a line."""
        return [
            only(_near(c), lambda c=c: Place(_residuals(c, x), products(c.jacobian.dofs, search)))
            for c in self.constraints
        ]

    def forces(self, x: Sequence[Num]) -> list[list[Num]]:
        """Of each one's rows at the acceleration x."""
        return [only(_near(c), lambda c=c: c.law.force(_residuals(c, x))) for c in self.constraints]

    def pulled(self, found: Sequence[Num], x: Sequence[Num]) -> list[Num]:
        """J^T f at x, added to what was found."""
        result = list(found)
        for c in self.constraints:
            own = {d: result[d] for d in _dofs(c)}

            def add(c: Constraint = c, own: dict[int, Num] = own) -> list[Num]:
                return _pulled(own, c, c.law.force(_residuals(c, x)))

            for d, pull in zip(own, _changed(c, add, list(own.values())), strict=True):
                result[d] = pull
        return result

    def curved(self, entries: Matrix, x: Sequence[Num]) -> Matrix:
        """A matrix with J^T C J at x added, on and below its diagonal."""
        found = dict(entries)
        for c in self.constraints:
            keys = sorted({(i, j) for r in c.jacobian.dofs for i in r for j in _dofs(c) if j <= i})
            old = {key: found.get(key, ZERO) for key in keys}

            def add(c: Constraint = c, old: Matrix = old) -> list[Num]:
                own = dict(old)
                add_congruent(own, c.jacobian.dofs, c.law.curvature(_residuals(c, x)))
                return list(own.values())

            found |= zip(old, _changed(c, add, list(old.values())), strict=True)
        return found

    def along(self, places: Sequence[Place], length: Num, found: tuple[Num, Num]) -> tuple[Num, Num]:
        """Derivatives along a line, with those of these constraints added."""
        for c, place in zip(self.constraints, places, strict=True):

            def add(c: Constraint = c, place: Place = place, found: tuple[Num, Num] = found) -> list[Num]:
                return added(found, c.law.along(*place, length))

            first, second = _changed(c, add, found)
            found = first, second
        return found

    def ended(self, places: Sequence[Place], length: Num, found: Sequence[Num]) -> tuple[list[Num], Num]:
        """J^T f at the end of a step, added, and a number that is negative if the step left the laws' parabolas."""
        result, kept = list(found), ZERO
        for c, place in zip(self.constraints, places, strict=True):
            own = {d: result[d] for d in _dofs(c)}

            def add(c: Constraint = c, place: Place = place, own: dict[int, Num] = own, kept: Num = kept) -> list[Num]:
                end = place.moved(length)
                return [*_pulled(own, c, c.law.force(end)), lower(kept, c.law.kept(place.at, end))]

            *pulls, kept = _changed(c, add, [*own.values(), kept])
            for d, pull in zip(own, pulls, strict=True):
                result[d] = pull
        return result, kept


def _there(c: Constraint) -> jax.Array:
    assert c.there is not None
    return c.there.value > 0


def _near(c: Constraint) -> jax.Array:
    """Where it is there, and where it comes to nothing."""
    return somewhere(_there(c))


def _dofs(c: Constraint) -> list[int]:
    return sorted(set(chain.from_iterable(c.jacobian.dofs)))


def _changed(c: Constraint, change: Callable[[], Sequence[Num]], old: Sequence[Num]) -> list[Num]:
    assert c.there is not None
    return changed(_there(c), change, old, c.there.value.dtype)


def _residuals(c: Constraint, x: Sequence[Num]) -> list[Num]:
    return [p - r for p, r in zip(products(c.jacobian.dofs, x), c.reference, strict=True)]


def _pulled(found: dict[int, Num], c: Constraint, forces: Sequence[Num]) -> list[Num]:
    """J^T f, added to what was found of each degree of freedom."""
    result = dict(found)
    add_pull(result, c.jacobian.dofs, forces)
    return list(result.values())
