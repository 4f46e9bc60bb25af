"""Conditional constraints: hardly ever active, each is computed in a branch of its own.

An ant may touch the floor at two dozen points, and does at one or two. What a constraint adds to the derivatives of the
solver's function is computed only for gangs of lanes of which one has it active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import jax

from ...compiler import any_lane
from ..algebra.scalar import ZERO, Condition, Num, elementwise_add
from ..algebra.sparse import SparseMatrix
from ..control_flow.cond import cond_or_zeros, cond_update
from .cost import lower
from .jacobian import Constraint, add_jac_t_hessian_jac, add_jac_t_mul, jac_mul


class LineResiduals(NamedTuple):
    """Residuals of a constraint's rows on a line of accelerations.

    Attributes:
        jaref: J a - aref where the line begins [rows].
        jv: J times the direction of the line [rows].
    """

    jaref: list[Num]
    jv: list[Num]

    def at(self, alpha: Num) -> list[Num]:
        """Returns the residuals `alpha` times the direction farther along [rows]."""
        return [v + alpha * w for v, w in zip(self.jaref, self.jv, strict=True)]


@dataclass(frozen=True)
class ConditionalRows:
    """Constraints with a Jacobian by degree of freedom, whose numbers are zero where they are not active.

    Attributes:
        constraints: each with `active`.
    """

    constraints: list[Constraint]

    def on_line(self, qacc: Sequence[Num], search: Sequence[Num]) -> list[LineResiduals]:
        """Returns each one's residuals on the line qacc + alpha search."""
        return [
            cond_or_zeros(
                _any_lane_active(c), lambda c=c: LineResiduals(_jaref(c, qacc), jac_mul(c.jacobian.rows, search))
            )
            for c in self.constraints
        ]

    def forces(self, qacc: Sequence[Num]) -> list[list[Num]]:
        """Returns the forces of each one's rows at the acceleration qacc [nv]."""
        return [cond_or_zeros(_any_lane_active(c), lambda c=c: c.cost.force(_jaref(c, qacc))) for c in self.constraints]

    def add_qfrc(self, qfrc: Sequence[Num], qacc: Sequence[Num]) -> list[Num]:
        """Returns `qfrc` [nv] with J'f at the acceleration qacc [nv] added."""
        result = list(qfrc)
        for c in self.constraints:
            own = {d: result[d] for d in _dofs(c)}

            def add(c: Constraint = c, own: dict[int, Num] = own) -> list[Num]:
                return _plus_jac_t_mul(own, c, c.cost.force(_jaref(c, qacc)))

            for d, force in zip(own, _update(c, add, list(own.values())), strict=True):
                result[d] = force
        return result

    def add_hessian(self, entries: SparseMatrix, qacc: Sequence[Num]) -> SparseMatrix:
        """Returns a matrix with J'CJ at the acceleration qacc [nv] added, on and below its diagonal."""
        found = dict(entries)
        for c in self.constraints:
            keys = sorted({(i, j) for r in c.jacobian.rows for i in r for j in _dofs(c) if j <= i})
            old = {key: found.get(key, ZERO) for key in keys}

            def add(c: Constraint = c, old: SparseMatrix = old) -> list[Num]:
                own = dict(old)
                add_jac_t_hessian_jac(own, c.jacobian.rows, c.cost.hessian(_jaref(c, qacc)))
                return list(own.values())

            found |= zip(old, _update(c, add, list(old.values())), strict=True)
        return found

    def add_line_derivatives(
        self, line: Sequence[LineResiduals], alpha: Num, found: tuple[Num, Num]
    ) -> tuple[Num, Num]:
        """Returns the first and second derivative `found` of a cost with respect to alpha, with these costs' added."""
        for c, residuals in zip(self.constraints, line, strict=True):

            def add(
                c: Constraint = c, residuals: LineResiduals = residuals, found: tuple[Num, Num] = found
            ) -> list[Num]:
                return elementwise_add(found, c.cost.line_derivatives(*residuals, alpha))

            first, second = _update(c, add, found)
            found = first, second
        return found

    def add_qfrc_after_step(
        self, line: Sequence[LineResiduals], alpha: Num, qfrc: Sequence[Num]
    ) -> tuple[list[Num], Num]:
        """Returns `qfrc` [nv] with J'f at the end of a step added, and whether the step stayed on one piece.

        The second is negative if any of the costs may not be one quadratic function along the step.
        """
        result, piece = list(qfrc), ZERO
        for c, residuals in zip(self.constraints, line, strict=True):
            own = {d: result[d] for d in _dofs(c)}

            def add(
                c: Constraint = c,
                residuals: LineResiduals = residuals,
                own: dict[int, Num] = own,
                piece: Num = piece,
            ) -> list[Num]:
                end = residuals.at(alpha)
                forces = _plus_jac_t_mul(own, c, c.cost.force(end))
                return [*forces, lower(piece, c.cost.same_piece(residuals.jaref, end))]

            *forces, piece = _update(c, add, [*own.values(), piece])
            for d, force in zip(own, forces, strict=True):
                result[d] = force
        return result, piece


def _is_active(c: Constraint) -> jax.Array:
    assert c.active is not None
    return c.active.value > 0


def _any_lane_active(c: Constraint) -> Condition:
    assert c.active is not None
    return Condition(any_lane(_is_active(c)), c.active.value.dtype)


def _dofs(c: Constraint) -> list[int]:
    return sorted(set(chain.from_iterable(c.jacobian.rows)))


def _update(c: Constraint, update: Callable[[], Sequence[Num]], old: Sequence[Num]) -> list[Num]:
    assert c.active is not None
    return cond_update(_is_active(c), update, old, c.active.value.dtype)


def _jaref(c: Constraint, qacc: Sequence[Num]) -> list[Num]:
    return [p - r for p, r in zip(jac_mul(c.jacobian.rows, qacc), c.aref, strict=True)]


def _plus_jac_t_mul(qfrc: dict[int, Num], c: Constraint, force: Sequence[Num]) -> list[Num]:
    """Returns forces by degree of freedom with J'f added."""
    result = dict(qfrc)
    add_jac_t_mul(result, c.jacobian.rows, force)
    return list(result.values())
