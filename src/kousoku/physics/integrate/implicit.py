"""Euler's method, implicit in velocity: accelerations that foresee how forces change during the step.

(M + h D) a = force, with D = -d force / d velocity of all but constraints' forces, in the pattern of the mass matrix M.
`implicitfast` leaves out the forces of motion, which make D unsymmetric, but for bodies that move freely and alone.

References:
    MuJoCo documentation, Computation, "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Array, Float

from ..bias_slope import bias_slope
from ..constraint.law import Hold
from ..constraint.problem import Problem
from ..constraint.row import Constraint, Grip, Jacobian, moving
from ..dynamics import UNITS
from ..forward import Forward, forward
from ..joints import Kind, joints
from ..model import Model, State
from ..passive import drags
from ..scalar import ONE, ZERO, Num, num, nums
from ..smooth import Smooth
from ..sparse import Matrix, Pattern, factor, solved
from ..vector import NOWHERE, Six
from .euler import accelerated

T = TypeVar("T")


def implicit(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """The state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    matrix = _full(model, f.smooth, _damped(model, f.smooth), nums(state.qvel))
    acceleration = solved(f.smooth.factor.pattern, matrix, _force(f))
    return accelerated(model, state, f, acceleration), measure(f)


def implicitfast(
    model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]
) -> tuple[State, T]:
    """The state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    damped, force = _damped(model, f.smooth), _force(f)
    acceleration = factor(f.smooth.factor.pattern, damped).solve(force)
    if alone := free_bodies(model):
        full = _full(model, f.smooth, damped, nums(state.qvel))
        for dofs in alone:
            block = {(i - dofs[0], j - dofs[0]): full[i, j] for i in dofs for j in dofs}
            below = tuple(tuple(range(i - 1, -1, -1)) for i in range(len(dofs)))
            acceleration[dofs[0] : dofs[-1] + 1] = solved(Pattern(below), block, force[dofs[0] : dofs[-1] + 1])
    return accelerated(model, state, f, acceleration), measure(f)


def free_bodies(model: Model) -> list[range]:
    """Degrees of freedom of bodies with a free joint and nothing of any mass that hangs on them."""
    found = []
    for j in joints(model):
        tree = [int(d) for d in range(model.nv) if model.body_rootid[model.dof_bodyid[d]] == j.body]
        carried = [b for b in range(model.nbody) if model.body_rootid[b] == j.body != b]
        if j.kind == Kind.FREE and tree == list(j.dofs) and not model.constants["body_mass"][carried].any():
            found.append(j.dofs)
    return found


def _force(f: Forward) -> list[Num]:
    return [a + b for a, b in zip(f.smooth.force, f.solution.force, strict=True)]


def _full(model: Model, s: Smooth, damped: Matrix, qvel: list[Num]) -> Matrix:
    """Both halves of M + h D, the forces of motion included."""
    h = num(model.timestep)
    slopes = bias_slope(model, s.tree, s.motion, qvel)
    return {(i, j): damped[max(i, j), min(i, j)] + h * slope for (i, j), slope in slopes.items()}


def _damped(model: Model, s: Smooth) -> Matrix:
    """M + h D of dampers, actuators and a fluid, on and below the diagonal: each is like an equality of velocities."""
    h, dampers = num(model.timestep), _dampers(model, s)
    curvatures = [{(i, i): h * b for i, b in enumerate(c.law.stiffness)} for c in dampers if isinstance(c.law, Hold)]
    return Problem(model, s, dampers).hessian(curvatures)


def _dampers(model: Model, s: Smooth) -> list[Constraint]:
    """What resists velocities, and how steeply."""
    rows = []
    if not model.no_damper:
        rows += [({d: ONE}, b) for d, b in enumerate(nums(model.dof_damping))]
        rows += [(rope.arms, b) for rope, b in zip(s.tendons, nums(model.tendon_damping), strict=True)]
    if not model.no_actuation:
        rows += [(m, -slope) for m, slope in zip(s.actuation.moments, s.actuation.gain_slope, strict=True)]
    found = [Constraint(Hold([b]), [ZERO], Jacobian([arms])) for arms, b in rows if not b.is_known(0.0)]
    for d in drags(model, s.kinematics, s.tree, s.motion):
        if body := moving(model, d.body):
            axes = [d.frame.mat @ unit for unit in UNITS]
            arm = d.frame.pos - s.tree.subtree_com[int(model.body_rootid[d.body])]
            wrenches = [Six(axis, NOWHERE) for axis in axes] + [Six(arm.cross(axis), axis) for axis in axes]
            law = Hold([one + 2.0 * other for one, other in zip(d.even, d.growing, strict=True)])
            found.append(Constraint(law, [ZERO] * 6, Jacobian(held=Grip(body, wrenches))))
    return found
