"""Semi-implicit Euler, with implicit joint damping.

References:
    MuJoCo documentation, Computation, "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Array, Float

from ..algebra.scalar import ZERO, Num, num, nums, stacked, subtracted
from ..algebra.sparse import Matrix, factor, multiplied
from ..forward import Forward, forward
from ..model import Model, State
from ..stages.actuation import next_activations
from .integrate_pos import advanced, later

T = TypeVar("T")


def euler(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """The state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    return accelerated(model, state, f, _damped(model, f)), measure(f)


def _damped(model: Model, f: Forward) -> list[Num]:
    """Accelerations that foresee how joints' damping changes during the step."""
    h, damping = num(model.timestep), nums(model.dof_damping)
    if model.no_eulerdamp or model.no_damper or all(b.is_known(0.0) for b in damping):
        return f.solution.acceleration
    return subtracted(f.solution.acceleration, taken(f, {(i, i): h * b for i, b in enumerate(damping)}))


def taken(f: Forward, damping: Matrix) -> list[Num]:
    """What damping h D, on and below the diagonal, takes from the acceleration a: (M + h D)^-1 h D a.

    (M + h D) a' = M a, which is the sum of the forces; each of them may be large beside it.
    """
    matrix = {ij: entry + damping.get(ij, ZERO) for ij, entry in f.smooth.tree.mass_matrix.items()}
    return factor(f.smooth.factor.pattern, matrix).solve(multiplied(damping, f.solution.acceleration))


def accelerated(model: Model, state: State, f: Forward, acceleration: list[Num]) -> State:
    """Velocities first, then positions with the new velocities."""
    dt, dtype = num(model.timestep), state.qpos.dtype
    qvel = [v + dt * a for v, a in zip(nums(state.qvel), acceleration, strict=True)]
    actuation = f.smooth.actuation
    return State(
        stacked(advanced(model, nums(state.qpos), qvel, dt), dtype),
        stacked(qvel, dtype),
        stacked(next_activations(model, nums(state.act), actuation.act_dot, actuation.length), dtype),
        stacked(f.solution.acceleration, dtype),
        later(state.time, dt),
    )
