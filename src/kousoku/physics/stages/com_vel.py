"""Velocities of bodies, and how fast the motions of their degrees of freedom change (mj_comVel).

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, table 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num
from ..algebra.spatial import ZERO6, SpatialVec
from ..algebra.vector import Vec
from ..model import Model
from .com_pos import ComPos
from .joints import JointType, body_joints


@dataclass(frozen=True)
class ComVel:
    """A mechanism that moves, by the names of MuJoCo's mjData.

    Attributes:
        cvel: velocity of each body about its tree's centre of mass [nbody].
        cdof_dot: rate of change of each degree of freedom's `cdof` [nv].
    """

    cvel: list[SpatialVec]
    cdof_dot: list[SpatialVec]


def com_vel(model: Model, com: ComPos, qvel: Sequence[Num]) -> ComVel:
    """Returns velocities of bodies and rates of `cdof` at the joint velocities `qvel` [nv]; MuJoCo's mj_comVel."""
    cvel: list[SpatialVec] = [ZERO6]
    cdof_dot: list[SpatialVec] = [ZERO6] * model.nv
    for i in range(1, model.nbody):
        v = cvel[int(model.body_parentid[i])]
        for j in body_joints(model, i):
            # The three turns of a ball or free joint have their rates before any of them adds to the velocity.
            groups = [j.dofs]
            if j.type == JointType.FREE:
                groups = [range(j.dofadr, j.dofadr + 3), range(j.dofadr + 3, j.dofadr + 6)]
            for group in groups:
                for d in group:
                    translates = j.type == JointType.FREE and d < j.dofadr + 3
                    cdof_dot[d] = ZERO6 if translates else v.cross_motion(com.cdof[d])
                for d in group:
                    v = v + com.cdof[d] * qvel[d]
        cvel.append(v)
    return ComVel(cvel, cdof_dot)


def motion_at(model: Model, com: ComPos, point: Vec, body: int, of: Sequence[SpatialVec]) -> SpatialVec:
    """Returns a body's motion, of those of all bodies [nbody]: rotation, and translation of a point of the body."""
    v = of[body]
    arm = point - com.subtree_com[int(model.body_rootid[body])]
    return SpatialVec(v.rot, v.lin + v.rot.cross(arm))
