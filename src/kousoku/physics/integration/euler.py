"""Semi-implicit Euler, with implicit joint damping (mj_Euler).

References:
    MuJoCo documentation, Computation, "Numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jaxtyping import Array, Float

from ..algebra.scalar import ZERO, Num, elementwise_subtract, num, nums, to_array
from ..algebra.sparse import SparseMatrix, factor, mul_sym_vec
from ..forward import Forward, forward
from ..model import Model, State
from ..stages.actuation import next_activations
from .integrate_pos import advance_time, integrate_pos

T = TypeVar("T")


def euler(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """Returns the state a time step later, and what is measured at its beginning."""
    f = forward(model, state, ctrl)
    return advance(model, state, f, _damped(model, f)), measure(f)


def _damped(model: Model, f: Forward) -> list[Num]:
    """Returns accelerations [nv] that foresee how joints' damping changes during the step."""
    h, damping = num(model.timestep), nums(model.dof_damping)
    if model.no_eulerdamp or model.no_damper or all(b.is_known(0.0) for b in damping):
        return f.solution.qacc
    return elementwise_subtract(f.solution.qacc, damping_loss(f, {(i, i): h * b for i, b in enumerate(damping)}))


def damping_loss(f: Forward, damping: SparseMatrix) -> list[Num]:
    """Returns (M + h D)^-1 h D a [nv], which implicit damping takes from the acceleration a.

    It leaves a' of (M + h D) a' = M a. The right side is the sum of the forces, each of which may be large beside it.

    Args:
        f: the forward dynamics, with M and a.
        damping: h D, on and below the diagonal.
    """
    matrix = {ij: entry + damping.get(ij, ZERO) for ij, entry in f.smooth.qM.items()}
    return factor(f.smooth.qLD.pattern, matrix).solve(mul_sym_vec(damping, f.solution.qacc))


def advance(model: Model, state: State, f: Forward, qacc: list[Num]) -> State:
    """Returns the next state: velocities first, then positions with the new velocities; MuJoCo's mj_advance."""
    dt, dtype = num(model.timestep), state.qpos.dtype
    qvel = [v + dt * a for v, a in zip(nums(state.qvel), qacc, strict=True)]
    actuation = f.smooth.actuation
    return State(
        to_array(integrate_pos(model, nums(state.qpos), qvel, dt), dtype),
        to_array(qvel, dtype),
        to_array(next_activations(model, nums(state.act), actuation.act_dot, actuation.length), dtype),
        to_array(f.solution.qacc, dtype),
        advance_time(state.time, dt),
    )
