"""The function that constrained acceleration minimises, and the products that its derivatives are made of.

    1/2 (a - a0)^T M (a - a0) + sum_c s_c(J_c a - reference_c)

with a0 the smooth acceleration and s_c a constraint's law. Constraints that hold a single body are summed up on the
bodies: J x is what the body's motion under x does along a wrench, J^T f goes down the tree as in the recursive
Newton-Euler algorithm, and J^T C J up it as in the composite rigid body algorithm.

References:
    MuJoCo documentation, Computation, "Constraint solver", primal problem. Featherstone (2008), tables 5.1 and 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..algebra.scalar import ZERO, Num
from ..algebra.sparse import Matrix, Pattern, multiplied
from ..algebra.vector import STILL, Six, Vec
from ..model import Model
from ..stages.joints import ancestors
from ..stages.smooth import Smooth
from .conditional import Seldom
from .contact_list import Listed
from .jacobian import Constraint, Grip, add_congruent, add_pull, moving, products

Rows = list[list[Num]]


@dataclass(frozen=True)
class Problem:
    """A mechanism and its constraints.

    Rows are those of `standing` constraints; what others add is computed from the acceleration.
    """

    model: Model
    smooth: Smooth
    constraints: list[Constraint]
    listed: Listed | None = None

    @cached_property
    def standing(self) -> list[Constraint]:
        """Those that are always computed."""
        return [c for c in self.constraints if c.there is None]

    @cached_property
    def seldom(self) -> Seldom:
        """Those that are computed where they are there."""
        return Seldom([c for c in self.constraints if c.there is not None])

    @cached_property
    def pattern(self) -> Pattern:
        """Of the Hessian."""
        return Pattern.of(self.model, [tuple(r) for c in self.constraints for r in c.jacobian.dofs])

    @cached_property
    def carriers(self) -> list[int]:
        """Bodies that constraints hold, and those that carry these; parents first."""
        found = {c.jacobian.held.body for c in self.standing if c.jacobian.held}
        for body in sorted(found, reverse=True):
            while body := self.parent(body):
                found.add(body)
        return sorted(found)

    def parent(self, body: int) -> int:
        """The next body towards the world that moves by itself."""
        return moving(self.model, int(self.model.body_parentid[body]))

    def dofs(self, body: int) -> range:
        """Degrees of freedom between a body and its parent."""
        first = int(self.model.body_dofadr[body])
        return range(first, first + int(self.model.body_dofnum[body]))

    def products(self, x: Sequence[Num]) -> Rows:
        """J x."""
        motion = self.smooth.tree.motion
        moves: dict[int, Six] = {0: STILL}
        for body in self.carriers:
            move = moves[self.parent(body)]
            for d in self.dofs(body):
                move = move + motion[d] * x[d]
            moves[body] = move
        found = []
        for c in self.standing:
            if grip := c.jacobian.held:
                found.append([w.dot(moves[grip.body]) for w in grip.wrenches])
            else:
                found.append(products(c.jacobian.dofs, x))
        return found

    def residuals(self, x: Sequence[Num]) -> Rows:
        """J x - reference."""
        return [
            [p - r for p, r in zip(product, c.reference, strict=True)]
            for c, product in zip(self.standing, self.products(x), strict=True)
        ]

    def forces(self, residuals: Rows) -> Rows:
        """Of every row."""
        return [c.law.force(v) for c, v in zip(self.standing, residuals, strict=True)]

    def every_force(self, residuals: Rows, x: Sequence[Num]) -> Rows:
        """Of every row of all constraints, in their order."""
        standing, seldom = iter(self.forces(residuals)), iter(self.seldom.forces(x))
        return [next(standing if c.there is None else seldom) for c in self.constraints]

    def curvatures(self, residuals: Rows) -> list[Matrix]:
        """Of every constraint's law."""
        return [c.law.curvature(v) for c, v in zip(self.standing, residuals, strict=True)]

    def pulled(self, forces: Rows, x: Sequence[Num] = ()) -> list[Num]:
        """J^T f, of given forces and those of all other constraints at the acceleration x."""
        return self.seldom.pulled(self.pulled_standing(forces, x), x)

    def pulled_standing(self, forces: Rows, x: Sequence[Num] = ()) -> list[Num]:
        """J^T f, of given forces and those of listed contacts at the acceleration x."""
        result = self.listed.pulled(x) if self.listed else [ZERO] * self.model.nv
        loads = dict.fromkeys(self.carriers, STILL)
        for c, force in zip(self.standing, forces, strict=True):
            if grip := c.jacobian.held:
                for wrench, f in zip(grip.wrenches, force, strict=True):
                    loads[grip.body] = loads[grip.body] + wrench * f
            else:
                add_pull(result, c.jacobian.dofs, force)
        for body in reversed(self.carriers):
            for d in self.dofs(body):
                result[d] = result[d] + self.smooth.tree.motion[d].dot(loads[body])
            if parent := self.parent(body):
                loads[parent] = loads[parent] + loads[body]
        return result

    def hessian(self, curvatures: Sequence[Matrix], x: Sequence[Num] = ()) -> Matrix:
        """M + J^T C J, on and below the diagonal, with the curvatures of all other constraints at x."""
        return self.seldom.curved(self.with_standing(self.smooth.tree.mass_matrix, curvatures), x)

    def with_standing(self, matrix: Matrix, curvatures: Sequence[Matrix]) -> Matrix:
        """A matrix, on and below the diagonal, with J^T C J of standing constraints added."""
        found = dict(matrix)
        carried: dict[int, Matrix] = {body: {} for body in self.carriers}
        for c, curvature in zip(self.standing, curvatures, strict=True):
            if grip := c.jacobian.held:
                _add_held(carried[grip.body], grip, curvature)
            else:
                add_congruent(found, c.jacobian.dofs, curvature)
        motion = self.smooth.tree.motion
        for body in reversed(self.carriers):
            for d in self.dofs(body):
                load = _loaded(carried[body], motion[d])
                for a in ancestors(self.model, d):
                    found[d, a] = found.get((d, a), ZERO) + motion[a].dot(load)
            if parent := self.parent(body):
                for key, value in carried[body].items():
                    carried[parent][key] = carried[parent].get(key, ZERO) + value
        return found


def _add_held(found: Matrix, grip: Grip, curvature: Matrix) -> None:
    """Add what a body carries: a 6 x 6 inertia, rotation first."""
    if grip.arm is None:
        add_congruent(found, [dict(enumerate((*w.rot, *w.lin))) for w in grip.wrenches], curvature)
        return
    q: Matrix = {}
    add_congruent(q, [dict(enumerate(axis)) for axis in grip.axes], curvature)
    rows = [Vec(*(q.get((max(i, j), min(i, j)), ZERO) for j in range(3))) for i in range(3)]
    turning = list(zip(*(grip.arm.cross(r) for r in rows), strict=True))  # of a push along each axis, the torque
    twisting = [grip.arm.cross(Vec(*r)) for r in turning]
    for i in range(3):
        for j in range(3):
            found[3 + i, j] = found.get((3 + i, j), ZERO) + turning[j][i]
            if j <= i:
                found[i, j] = found.get((i, j), ZERO) + twisting[i][j]
                found[3 + i, 3 + j] = found.get((3 + i, 3 + j), ZERO) + rows[i][j]


def _loaded(carried: Matrix, move: Six) -> Six:
    """The load of what a body carries when it moves."""
    parts = multiplied(carried, [*move.rot, *move.lin])
    return Six(Vec(*parts[:3]), Vec(*parts[3:]))
