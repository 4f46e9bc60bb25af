"""Positions that move with velocities, orientations on their sphere.

References:
    MuJoCo documentation, Computation, "Numerical integration"; API reference, mj_integratePos.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Array, Float

from ..algebra.scalar import SMALLEST, Num, cos, num, sin, sqrt, stacked, where
from ..algebra.vector import Quat, Vec, quat
from ..model import Model
from ..stages.joints import Kind, joints


def advanced(model: Model, qpos: Sequence[Num], qvel: Sequence[Num], dt: Num) -> list[Num]:
    """Positions [nq], moved for a time with given velocities [nv]."""
    moved = list(qpos)
    for j in joints(model):
        place, dof = j.qpos, j.dof
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            moved[place] = qpos[place] + dt * qvel[dof]
            continue
        if j.kind == Kind.FREE:
            for i in range(3):
                moved[place + i] = qpos[place + i] + dt * qvel[dof + i]
            place, dof = place + 3, dof + 3
        moved[place : place + 4] = turned_by(qpos[place : place + 4], qvel[dof : dof + 3], dt)
    return moved


def turned_by(turn: Sequence[Num], spin: Sequence[Num], dt: Num) -> list[Num]:
    """A quaternion, turned for a time with a velocity in its own axes."""
    axis = Vec(*spin)
    square = axis.dot(axis)
    tiny = square < SMALLEST**2
    # The sine over the speed rather than a unit axis, which would have no derivative where nothing turns.
    speed = sqrt(where(tiny, 1.0, square))
    half = 0.5 * dt * where(tiny, 0.0, speed)
    away = Quat(cos(half), *(axis * where(tiny, 0.5 * dt, sin(half) / speed, square)))
    return list((quat(turn) * away).normalised())


def later(time: Float[Array, ""] | None, dt: Num) -> Float[Array, ""] | None:
    """The time, moved on; none if there is none."""
    return None if time is None else stacked([num(time) + dt], time.dtype).reshape(())
