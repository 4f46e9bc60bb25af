"""Euler's method, implicit in velocity: accelerations that foresee how forces change during the step.

(M + h D) a' = M a, D = -d force / d velocity of all but constraints' forces, in the pattern of the mass matrix M.
`implicitfast` leaves out the forces of motion, which make D unsymmetric, but for bodies that move freely and alone.

References:
    MuJoCo documentation, Computation, "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Array, Float

from ..algebra.scalar import ONE, ZERO, Num, num, nums, subtracted
from ..algebra.sparse import Matrix, Pattern, product, solved
from ..algebra.vector import NOWHERE, Six
from ..constraint.cost import Hold
from ..constraint.jacobian import Constraint, Grip, Jacobian, moving
from ..constraint.problem import Problem
from ..derivatives.rne_derivative import bias_slope
from ..forward import Forward, forward
from ..model import Model, State
from ..stages.dynamics import UNITS
from ..stages.joints import Kind, joints
from ..stages.passive import drags
from ..stages.smooth import Smooth
from .euler import accelerated, taken

T = TypeVar("T")


def implicit(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """The state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    slopes, a = _slopes(model, f.smooth, _damping(model, f.smooth), nums(state.qvel)), f.solution.acceleration
    less = solved(f.smooth.factor.pattern, _beside(f.smooth, slopes), product(slopes, a))
    return accelerated(model, state, f, subtracted(a, less)), measure(f)


def implicitfast(
    model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]
) -> tuple[State, T]:
    """The state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    damping, a = _damping(model, f.smooth), f.solution.acceleration
    less = taken(f, damping)
    if alone := free_bodies(model):
        slopes = _slopes(model, f.smooth, damping, nums(state.qvel))
        full, right = _beside(f.smooth, slopes), product(slopes, a)
        for dofs in alone:
            block = {(i - dofs[0], j - dofs[0]): full[i, j] for i in dofs for j in dofs}
            below = tuple(tuple(range(i - 1, -1, -1)) for i in range(len(dofs)))
            less[dofs[0] : dofs[-1] + 1] = solved(Pattern(below), block, right[dofs[0] : dofs[-1] + 1])
    return accelerated(model, state, f, subtracted(a, less)), measure(f)


def free_bodies(model: Model) -> list[range]:
    """Degrees of freedom of bodies with a free joint and nothing of any mass that hangs on them."""
    found = []
    for j in joints(model):
        tree = [int(d) for d in range(model.nv) if model.body_rootid[model.dof_bodyid[d]] == j.body]
        carried = [b for b in range(model.nbody) if model.body_rootid[b] == j.body != b]
        if j.kind == Kind.FREE and tree == list(j.dofs) and not model.constants["body_mass"][carried].any():
            found.append(j.dofs)
    return found


def _damping(model: Model, s: Smooth) -> Matrix:
    """h D of dampers, actuators and a fluid, on and below the diagonal: each is like an equality of velocities."""
    dampers = _dampers(model, s)
    found = Problem(model, s, dampers).with_standing({}, [c.law.curvature([]) for c in dampers])
    return {ij: found.get(ij, ZERO) for ij in s.tree.mass_matrix}


def _slopes(model: Model, s: Smooth, damping: Matrix, qvel: list[Num]) -> Matrix:
    """Both halves of h D, the forces of motion included."""
    h, slopes = num(model.timestep), bias_slope(model, s.tree, s.motion, qvel)
    return {(i, j): damping[max(i, j), min(i, j)] + h * slope for (i, j), slope in slopes.items()}


def _beside(s: Smooth, slopes: Matrix) -> Matrix:
    """Both halves of M + h D."""
    return {(i, j): s.tree.mass_matrix[max(i, j), min(i, j)] + entry for (i, j), entry in slopes.items()}


def _dampers(model: Model, s: Smooth) -> list[Constraint]:
    """What resists velocities, and how steeply, times h."""
    h, rows = num(model.timestep), []
    if not model.no_damper:
        rows += [({d: ONE}, b) for d, b in enumerate(nums(model.dof_damping))]
        rows += [(rope.arms, b) for rope, b in zip(s.tendons, nums(model.tendon_damping), strict=True)]
    if not model.no_actuation:
        rows += [(m, -slope) for m, slope in zip(s.actuation.moments, s.actuation.gain_slope, strict=True)]
    found = [Constraint(Hold([h * b]), [ZERO], Jacobian([arms])) for arms, b in rows if not b.is_known(0.0)]
    for d in drags(model, s.kinematics, s.tree, s.motion):
        if body := moving(model, d.body):
            axes = [d.frame.mat @ unit for unit in UNITS]
            arm = d.frame.pos - s.tree.subtree_com[int(model.body_rootid[d.body])]
            wrenches = [Six(axis, NOWHERE) for axis in axes] + [Six(arm.cross(axis), axis) for axis in axes]
            law = Hold([h * (one + 2.0 * other) for one, other in zip(d.even, d.growing, strict=True)])
            found.append(Constraint(law, [ZERO] * 6, Jacobian(held=Grip(body, wrenches))))
    return found
