"""Forces and torques at points of bodies, as six-dimensional forces and as generalised forces (mj_applyFT)."""

from __future__ import annotations

from ..algebra.scalar import ZERO, Num
from ..algebra.spatial import SpatialVec
from ..algebra.vector import Vec
from ..model import Model
from .com_pos import ComPos
from .joints import ancestors, last_dof


def wrench_at_com(com: ComPos, model: Model, body: int, point: Vec, force: Vec, torque: Vec) -> SpatialVec:
    """Returns a force [N] and torque [N m] at a point of a body as a wrench about its tree's centre of mass."""
    arm = point - com.subtree_com[int(model.body_rootid[body])]
    return SpatialVec(torque + arm.cross(force), force)


def apply_wrenches(model: Model, com: ComPos, wrenches: dict[int, SpatialVec]) -> list[Num]:
    """Returns the generalised forces [nv] of wrenches on bodies, each about the centre of mass of its body's tree."""
    qfrc = [ZERO] * model.nv
    for body, wrench in wrenches.items():
        for d in ancestors(model, last_dof(model, body)):
            qfrc[d] = qfrc[d] + com.cdof[d].dot(wrench)
    return qfrc
