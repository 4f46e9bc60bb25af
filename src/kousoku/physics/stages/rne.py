"""Forces of motion and gravity, by the recursive Newton-Euler algorithm (mj_rne).

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, table 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra.scalar import Num, nums
from ..algebra.spatial import ZERO6, SpatialVec
from ..algebra.vector import ZERO3, vec
from ..model import Model
from .com_pos import ComPos
from .com_vel import ComVel


def rne(model: Model, com: ComPos, vel: ComVel, qvel: Sequence[Num]) -> list[Num]:
    """Returns the generalised forces that keep joints from accelerating [nv]: mjData's qfrc_bias.

    These are Coriolis, centrifugal and gravity forces, with the sign of the left side of M qacc + bias = force.
    """
    gravity = ZERO3 if model.no_gravity else vec(nums(model.gravity))
    cacc: list[SpatialVec] = [SpatialVec(ZERO3, -gravity)]
    cfrc: list[SpatialVec] = [ZERO6]
    for i in range(1, model.nbody):
        a = cacc[int(model.body_parentid[i])]
        first = int(model.body_dofadr[i])
        for d in range(first, first + int(model.body_dofnum[i])):
            a = a + vel.cdof_dot[d] * qvel[d]
        cacc.append(a)
        cfrc.append((com.cinert[i] @ a) + vel.cvel[i].cross_force(com.cinert[i] @ vel.cvel[i]))
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        cfrc[parent] = cfrc[parent] + cfrc[i]
    return [com.cdof[d].dot(cfrc[int(model.dof_bodyid[d])]) for d in range(model.nv)]
