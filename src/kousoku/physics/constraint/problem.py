"""The function that constrained acceleration minimises, and the products that its derivatives are made of.

    1/2 (a - a_smooth)^T M (a - a_smooth) + sum_c s_c(J_c a - aref_c)

with a_smooth the acceleration without constraints and s_c a constraint's cost. Constraints that hold a single body are
summed up on the bodies: J x is what the body's motion under x does along a wrench, J'f goes down the tree as in the
recursive Newton-Euler algorithm, and J'CJ up it as in the composite rigid body algorithm.

References:
    MuJoCo documentation, Computation, "Constraint solver", primal problem. Featherstone (2008), tables 5.1 and 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..algebra.scalar import ZERO, Num
from ..algebra.sparse import Pattern, SparseMatrix, mul_sym_vec
from ..algebra.spatial import ZERO6, SpatialVec
from ..algebra.vector import Vec
from ..model import Model
from ..stages.crb import mass_matrix_pattern
from ..stages.joints import ancestors, moving_ancestor
from ..stages.smooth import Smooth
from .conditional import ConditionalRows
from .contact_list import ContactList
from .jacobian import BodyJacobian, Constraint, add_jac_t_hessian_jac, add_jac_t_mul, jac_mul

Rows = list[list[Num]]
"""A number for each row of each constraint."""


@dataclass(frozen=True)
class PrimalProblem:
    """A mechanism and its constraints.

    `Rows` are those of `unconditional` constraints; what others add is computed from the acceleration.

    Attributes:
        model, smooth: the mechanism.
        constraints: constraints that are written out.
        contact_list: contacts between moving bodies, where these are many.
    """

    model: Model
    smooth: Smooth
    constraints: list[Constraint]
    contact_list: ContactList | None = None

    @cached_property
    def unconditional(self) -> list[Constraint]:
        """The constraints that are always computed."""
        return [c for c in self.constraints if c.active is None]

    @cached_property
    def conditional(self) -> ConditionalRows:
        """The constraints that are computed where they are active."""
        return ConditionalRows([c for c in self.constraints if c.active is not None])

    @cached_property
    def pattern(self) -> Pattern:
        """The pattern of the Hessian."""
        return mass_matrix_pattern(self.model, [tuple(r) for c in self.constraints for r in c.jacobian.rows])

    @cached_property
    def carriers(self) -> list[int]:
        """The bodies that constraints hold alone, and those that carry these; parents first."""
        found = {c.jacobian.on_body.body for c in self.unconditional if c.jacobian.on_body}
        for body in sorted(found, reverse=True):
            while body := self.parent(body):
                found.add(body)
        return sorted(found)

    def parent(self, body: int) -> int:
        """Returns the next body towards the world that has joints of its own; 0 if none has."""
        return moving_ancestor(self.model, int(self.model.body_parentid[body]))

    def dofs(self, body: int) -> range:
        """Returns the degrees of freedom between a body and its parent."""
        first = int(self.model.body_dofadr[body])
        return range(first, first + int(self.model.body_dofnum[body]))

    def jac_mul(self, x: Sequence[Num]) -> Rows:
        """Returns J x for x [nv]."""
        cdof = self.smooth.com_pos.cdof
        motions: dict[int, SpatialVec] = {0: ZERO6}
        for body in self.carriers:
            motion = motions[self.parent(body)]
            for d in self.dofs(body):
                motion = motion + cdof[d] * x[d]
            motions[body] = motion
        found = []
        for c in self.unconditional:
            if jac := c.jacobian.on_body:
                found.append([w.dot(motions[jac.body]) for w in jac.wrenches])
            else:
                found.append(jac_mul(c.jacobian.rows, x))
        return found

    def jaref(self, qacc: Sequence[Num]) -> Rows:
        """Returns the residuals J qacc - aref at the acceleration qacc [nv]."""
        return [
            [p - r for p, r in zip(product, c.aref, strict=True)]
            for c, product in zip(self.unconditional, self.jac_mul(qacc), strict=True)
        ]

    def forces(self, jaref: Rows) -> Rows:
        """Returns the force of every row, for residuals `jaref`."""
        return [c.cost.force(v) for c, v in zip(self.unconditional, jaref, strict=True)]

    def all_forces(self, jaref: Rows, qacc: Sequence[Num]) -> Rows:
        """Returns the force of every row of all written constraints, in their order: mjData's efc_force."""
        unconditional, conditional = iter(self.forces(jaref)), iter(self.conditional.forces(qacc))
        return [next(unconditional if c.active is None else conditional) for c in self.constraints]

    def cost_hessians(self, jaref: Rows) -> list[SparseMatrix]:
        """Returns the Hessian of every constraint's cost with respect to its residuals."""
        return [c.cost.hessian(v) for c, v in zip(self.unconditional, jaref, strict=True)]

    def qfrc_constraint(self, forces: Rows, qacc: Sequence[Num] = ()) -> list[Num]:
        """Returns J'f [nv], of given forces and those of all other constraints at the acceleration qacc [nv]."""
        return self.conditional.add_qfrc(self.qfrc_unconditional(forces, qacc), qacc)

    def qfrc_unconditional(self, forces: Rows, qacc: Sequence[Num] = ()) -> list[Num]:
        """Returns J'f [nv], of given forces and those of listed contacts at the acceleration qacc [nv]."""
        result = self.contact_list.qfrc(qacc) if self.contact_list else [ZERO] * self.model.nv
        loads = dict.fromkeys(self.carriers, ZERO6)
        for c, force in zip(self.unconditional, forces, strict=True):
            if jac := c.jacobian.on_body:
                for wrench, f in zip(jac.wrenches, force, strict=True):
                    loads[jac.body] = loads[jac.body] + wrench * f
            else:
                add_jac_t_mul(result, c.jacobian.rows, force)
        for body in reversed(self.carriers):
            for d in self.dofs(body):
                result[d] = result[d] + self.smooth.com_pos.cdof[d].dot(loads[body])
            if parent := self.parent(body):
                loads[parent] = loads[parent] + loads[body]
        return result

    def hessian(self, cost_hessians: Sequence[SparseMatrix], qacc: Sequence[Num] = ()) -> SparseMatrix:
        """Returns M + J'CJ on and below the diagonal, with all other constraints' C at the acceleration qacc [nv].

        Without listed contacts, which the solver adds to the factor.
        """
        return self.conditional.add_hessian(self.add_hessian(self.smooth.qM, cost_hessians), qacc)

    def add_hessian(self, entries: SparseMatrix, cost_hessians: Sequence[SparseMatrix]) -> SparseMatrix:
        """Returns a matrix, on and below the diagonal, with J'CJ of unconditional constraints added."""
        found = dict(entries)
        carried: dict[int, SparseMatrix] = {body: {} for body in self.carriers}
        for c, hessian in zip(self.unconditional, cost_hessians, strict=True):
            if jac := c.jacobian.on_body:
                _add_carried(carried[jac.body], jac, hessian)
            else:
                add_jac_t_hessian_jac(found, c.jacobian.rows, hessian)
        cdof = self.smooth.com_pos.cdof
        for body in reversed(self.carriers):
            for d in self.dofs(body):
                load = _load(carried[body], cdof[d])
                for a in ancestors(self.model, d):
                    found[d, a] = found.get((d, a), ZERO) + cdof[a].dot(load)
            if parent := self.parent(body):
                for key, value in carried[body].items():
                    carried[parent][key] = carried[parent].get(key, ZERO) + value
        return found


def _add_carried(found: SparseMatrix, jac: BodyJacobian, hessian: SparseMatrix) -> None:
    """Adds W'CW to a 6 x 6 inertia that a body carries, rotation first, in place, for wrenches W of its rows."""
    if jac.arm is None:
        add_jac_t_hessian_jac(found, [dict(enumerate((*w.rot, *w.lin))) for w in jac.wrenches], hessian)
        return
    q: SparseMatrix = {}
    add_jac_t_hessian_jac(q, [dict(enumerate(axis)) for axis in jac.axes], hessian)
    rows = [Vec(*(q.get((max(i, j), min(i, j)), ZERO) for j in range(3))) for i in range(3)]
    turning = list(zip(*(jac.arm.cross(r) for r in rows), strict=True))  # of a push along each axis, the torque
    twisting = [jac.arm.cross(Vec(*r)) for r in turning]
    for i in range(3):
        for j in range(3):
            found[3 + i, j] = found.get((3 + i, j), ZERO) + turning[j][i]
            if j <= i:
                found[i, j] = found.get((i, j), ZERO) + twisting[i][j]
                found[3 + i, 3 + j] = found.get((3 + i, 3 + j), ZERO) + rows[i][j]


def _load(carried: SparseMatrix, motion: SpatialVec) -> SpatialVec:
    """Returns the force that a carried inertia answers a motion with."""
    parts = mul_sym_vec(carried, [*motion.rot, *motion.lin])
    return SpatialVec(Vec(*parts[:3]), Vec(*parts[3:]))
