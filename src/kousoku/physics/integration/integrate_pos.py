"""Positions that move with velocities, orientations on their sphere (mj_integratePos).

References:
    MuJoCo documentation, Computation, "Numerical integration"; API reference, mj_integratePos.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Array, Float

from ..algebra.scalar import MINVAL, Num, cos, num, sin, sqrt, to_array, where
from ..algebra.vector import Quat, Vec, quat
from ..model import Model
from ..stages.joints import JointType, joints


def integrate_pos(model: Model, qpos: Sequence[Num], qvel: Sequence[Num], dt: Num) -> list[Num]:
    """Returns positions [nq] after the time `dt` [s] with velocities `qvel` [nv]; MuJoCo's mj_integratePos."""
    result = list(qpos)
    for j in joints(model):
        address, dof = j.qposadr, j.dofadr
        if j.type in (JointType.SLIDE, JointType.HINGE):
            result[address] = qpos[address] + dt * qvel[dof]
            continue
        if j.type == JointType.FREE:
            for i in range(3):
                result[address + i] = qpos[address + i] + dt * qvel[dof + i]
            address, dof = address + 3, dof + 3
        result[address : address + 4] = quat_integrate(qpos[address : address + 4], qvel[dof : dof + 3], dt)
    return result


def quat_integrate(turn: Sequence[Num], angvel: Sequence[Num], dt: Num) -> list[Num]:
    """Returns a quaternion [4] turned for `dt` [s] by an angular velocity in its own axes (mju_quatIntegrate).

    One that is shorter than MINVAL is the identity before it is turned.
    """
    axis = Vec(*angvel)
    square = axis.dot(axis)
    tiny = square < MINVAL**2
    # The sine over the speed rather than a unit axis, which would have no derivative where nothing turns.
    speed = sqrt(where(tiny, 1.0, square))
    half = 0.5 * dt * where(tiny, 0.0, speed)
    change = Quat(cos(half), *(axis * where(tiny, 0.5 * dt, sin(half) / speed)))
    return list((quat(turn).or_identity() * change).normalised())


def advance_time(time: Float[Array, ""] | None, dt: Num) -> Float[Array, ""] | None:
    """Returns the time `dt` seconds later; None if nobody keeps it."""
    return None if time is None else to_array([num(time) + dt], time.dtype).reshape(())
