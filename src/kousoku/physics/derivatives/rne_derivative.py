"""The derivative of the Newton-Euler algorithm's forces with respect to velocity (mjd_rne_vel).

For degrees of freedom i and j, one of which moves the other, with s their `cdof`, r rotations of s, and I the inertia
of the deeper one's body and all that hangs on it,

    d qfrc_bias_i / d qvel_j = s_i . (I t_j + (T r_j, 2 r_j x p))

where t_j = (v + w) x s_j for the velocities v before and w after j's joint, p is the linear momentum of I's bodies, and
T a sum over them. Translations do not enter: in a frame that moves evenly, forces are the same.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, table 5.1. Singh, Russell and Wensing (2022), Efficient
    analytical derivatives of rigid-body dynamics using spatial vector algebra, section IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algebra.scalar import Num
from ..algebra.sparse import SparseMatrix
from ..algebra.spatial import ZERO6, SpatialInertia, SpatialVec
from ..algebra.vector import UNIT_VECTORS, ZERO3, Mat, Vec
from ..model import Model
from ..stages.com_pos import ComPos
from ..stages.com_vel import ComVel
from ..stages.joints import JointType, ancestors, joints


class Composite(NamedTuple):
    """Sums over bodies that move together.

    Attributes:
        inertia: their inertia.
        coriolis: T, by columns.
        momentum: their linear momentum.
    """

    inertia: SpatialInertia
    coriolis: Mat
    momentum: Vec

    def __add__(self, other: Composite) -> Composite:  # type: ignore[override]
        coriolis = Mat(*(a + b for a, b in zip(self.coriolis, other.coriolis, strict=True)))
        return Composite(self.inertia + other.inertia, coriolis, self.momentum + other.momentum)

    def force_derivative(self, s: SpatialVec, t: SpatialVec) -> SpatialVec:
        """Returns the derivative of the bodies' force with respect to the velocity along s."""
        gyration = SpatialVec(self.coriolis.transpose() @ s.rot, s.rot.cross(self.momentum) * 2.0)
        return (self.inertia @ t) + gyration


def rne_derivative(model: Model, com: ComPos, vel: ComVel, qvel: Sequence[Num]) -> SparseMatrix:
    """Returns d qfrc_bias_i / d qvel_j for all i and j of which one moves the other."""
    composites = [_composite(com.cinert[i], vel.cvel[i]) if i else None for i in range(model.nbody)]
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        if parent:
            composites[parent] = composites[parent] + composites[i]  # type: ignore[operator]
    turns, found = _turns(model, com, vel, qvel), {}
    for i in range(model.nv):
        composite, s = composites[int(model.dof_bodyid[i])], com.cdof[i]
        assert composite is not None
        force, momentum = composite.force_derivative(s, turns[i]), composite.inertia @ s
        lever = composite.coriolis @ s.rot + composite.momentum.cross(s.lin) * 2.0
        for j in ancestors(model, i):
            found[j, i] = com.cdof[j].dot(force)
            found[i, j] = turns[j].dot(momentum) + lever.dot(com.cdof[j].rot)
    return found


def _composite(inertia: SpatialInertia, v: SpatialVec) -> Composite:
    """Returns the sums over one body of velocity v = (w, u), J its rotational inertia and m its mass.

    T r = w x J r - J (w x r) - (J w) x r - 2 h x (u x r) and p = m u - h x w.
    """
    w, u, h = v.rot, v.lin, inertia.h
    rotational = SpatialInertia(*inertia[:6], ZERO3, inertia.mass)

    def J(r: Vec) -> Vec:
        return (rotational @ SpatialVec(r, ZERO3)).rot

    columns = (w.cross(J(r)) - J(w.cross(r)) - J(w).cross(r) - h.cross(u.cross(r)) * 2.0 for r in UNIT_VECTORS)
    return Composite(inertia, Mat(*columns), u * inertia.mass - h.cross(w))


def _turns(model: Model, com: ComPos, vel: ComVel, qvel: Sequence[Num]) -> list[SpatialVec]:
    """Returns (v + w) x s of every degree of freedom [nv].

    The three of a ball move at once, and so do the translations and the rotations of a free joint.
    """
    found: list[SpatialVec] = []
    for j in joints(model):
        groups = [j.dofs]
        if j.type == JointType.FREE:
            groups = [range(j.dofadr, j.dofadr + 3), range(j.dofadr + 3, j.dofadr + 6)]
        for group in groups:
            own = ZERO6
            for d in group:
                own = own + com.cdof[d] * qvel[d] if len(group) > 1 else own
            for d in group:
                found.append(vel.cdof_dot[d] * 2.0 + own.cross_motion(com.cdof[d]))
    return found
