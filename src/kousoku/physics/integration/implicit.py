"""Euler's method, implicit in velocity (mj_implicit): accelerations that foresee how forces change during the step.

(M + h D) a' = M a, D = -d force / d velocity of all but constraints' forces, in the pattern of the mass matrix M.
`implicitfast` leaves out the forces of motion, which make D unsymmetric, but for bodies that move freely and alone.

References:
    MuJoCo documentation, Computation, "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Array, Float

from ..algebra.scalar import ONE, ZERO, Num, elementwise_subtract, num, nums
from ..algebra.sparse import Pattern, SparseMatrix, mul_mat_vec, solve_lu
from ..algebra.spatial import SpatialVec
from ..algebra.vector import UNIT_VECTORS, ZERO3
from ..constraint.cost import Quadratic
from ..constraint.jacobian import BodyJacobian, Constraint, Jacobian
from ..constraint.problem import PrimalProblem
from ..derivatives.rne_derivative import rne_derivative
from ..forward import Forward, forward
from ..model import Model, State
from ..stages.joints import JointType, joints, moving_ancestor
from ..stages.passive import drags
from ..stages.smooth import Smooth
from .euler import advance, damping_loss

T = TypeVar("T")


def implicit(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """Returns the state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    hD, qacc = _with_rne(model, f.smooth, _damping(model, f.smooth), nums(state.qvel)), f.solution.qacc
    loss = solve_lu(f.smooth.qLD.pattern, _plus_qM(f.smooth, hD), mul_mat_vec(hD, qacc))
    return advance(model, state, f, elementwise_subtract(qacc, loss)), measure(f)


def implicitfast(
    model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]
) -> tuple[State, T]:
    """Returns the state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    damping, qacc = _damping(model, f.smooth), f.solution.qacc
    loss = damping_loss(f, damping)
    if alone := free_bodies(model):
        hD = _with_rne(model, f.smooth, damping, nums(state.qvel))
        full, right = _plus_qM(f.smooth, hD), mul_mat_vec(hD, qacc)
        for dofs in alone:
            block = {(i - dofs[0], j - dofs[0]): full[i, j] for i in dofs for j in dofs}
            below = tuple(tuple(range(i - 1, -1, -1)) for i in range(len(dofs)))
            loss[dofs[0] : dofs[-1] + 1] = solve_lu(Pattern(below), block, right[dofs[0] : dofs[-1] + 1])
    return advance(model, state, f, elementwise_subtract(qacc, loss)), measure(f)


def free_bodies(model: Model) -> list[range]:
    """Returns the degrees of freedom of each body with a free joint, and none but fixed bodies that hang on it."""
    found = []
    for j in joints(model):
        tree = [int(d) for d in range(model.nv) if model.body_rootid[model.dof_bodyid[d]] == j.body]
        if j.type == JointType.FREE and tree == list(j.dofs):
            found.append(j.dofs)
    return found


def _damping(model: Model, s: Smooth) -> SparseMatrix:
    """Returns h D of dampers, actuators and a fluid, on and below the diagonal.

    Each is like an equality constraint of velocities with weight h D.
    """
    dampers = _dampers(model, s)
    found = PrimalProblem(model, s, dampers).add_hessian({}, [c.cost.hessian([]) for c in dampers])
    return {ij: found.get(ij, ZERO) for ij in s.qM}


def _with_rne(model: Model, s: Smooth, damping: SparseMatrix, qvel: list[Num]) -> SparseMatrix:
    """Returns h D with the forces of motion, above the diagonal too."""
    h, derivative = num(model.timestep), rne_derivative(model, s.com_pos, s.com_vel, qvel)
    return {(i, j): damping[max(i, j), min(i, j)] + h * entry for (i, j), entry in derivative.items()}


def _plus_qM(s: Smooth, hD: SparseMatrix) -> SparseMatrix:
    """Returns M + h D, above the diagonal too."""
    return {(i, j): s.qM[max(i, j), min(i, j)] + entry for (i, j), entry in hD.items()}


def _dampers(model: Model, s: Smooth) -> list[Constraint]:
    """Returns all that resists velocities as constraints, whose weights are h times -d force / d velocity."""
    h, rows = num(model.timestep), []
    if not model.no_damper:
        rows += [({d: ONE}, b) for d, b in enumerate(nums(model.dof_damping))]
        rows += [(tendon.jac, b) for tendon, b in zip(s.tendons, nums(model.tendon_damping), strict=True)]
    if not model.no_actuation:
        rows += [(m, -force_vel) for m, force_vel in zip(s.actuation.moment, s.actuation.force_vel, strict=True)]
    found = [Constraint(Quadratic([h * b]), [ZERO], Jacobian([jac])) for jac, b in rows if not b.is_known(0.0)]
    for d in drags(model, s.kinematics, s.com_pos, s.com_vel):
        if body := moving_ancestor(model, d.body):
            axes = [d.frame.mat @ unit for unit in UNIT_VECTORS]
            arm = d.frame.pos - s.com_pos.subtree_com[int(model.body_rootid[d.body])]
            wrenches = [SpatialVec(axis, ZERO3) for axis in axes] + [SpatialVec(arm.cross(axis), axis) for axis in axes]
            cost = Quadratic([h * (one + 2.0 * other) for one, other in zip(d.linear, d.quadratic, strict=True)])
            found.append(Constraint(cost, [ZERO] * 6, Jacobian(on_body=BodyJacobian(body, wrenches))))
    return found
