"""Quantities of a position about centres of mass: inertias of bodies and axes of degrees of freedom (mj_comPos).

All six-dimensional quantities are about the centre of mass of the whole tree that a body belongs to, in the world's
axes, which keeps numbers small and float32 exact.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, chapter 2.
    MuJoCo documentation, Computation, "General framework".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.scalar import MINVAL, ZERO, Num, nums, row, where
from ..algebra.spatial import SpatialInertia, SpatialVec, inertia_com_frame
from ..algebra.vector import UNIT_VECTORS, ZERO3, Vec, vec
from ..model import Model
from .joints import JointType, body_joints
from .kinematics import Kinematics


@dataclass(frozen=True)
class ComPos:
    """A mechanism at a position, by the names of MuJoCo's mjData.

    Attributes:
        subtree_com: the centre of mass of each body and all that hangs on it [nbody].
        cinert: inertia of each body about its tree's centre of mass [nbody].
        cdof: the motion of its body by each degree of freedom, for a velocity of one [nv].
    """

    subtree_com: list[Vec]
    cinert: list[SpatialInertia]
    cdof: list[SpatialVec]


def com_pos(model: Model, k: Kinematics) -> ComPos:
    """Returns inertias and motions of the degrees of freedom at the position of `k`; MuJoCo's mj_comPos."""
    coms = subtree_com(model, k)
    roots = [coms[int(r)] for r in model.body_rootid]
    cinert = [
        inertia_com_frame(
            k.inertial[i].mat, vec(row(model.body_inertia, i)), nums(model.body_mass)[i], k.inertial[i].pos - roots[i]
        )
        if i
        else inertia_com_frame(k.inertial[0].mat, ZERO3, ZERO, ZERO3)
        for i in range(model.nbody)
    ]
    return ComPos(coms, cinert, _cdof(model, k, roots))


def subtree_com(model: Model, k: Kinematics) -> list[Vec]:
    """Returns the centre of mass of each body and all that hangs on it [nbody], metres in the world."""
    masses = nums(model.body_mass)
    moment = [frame.pos * masses[i] for i, frame in enumerate(k.inertial)]
    subtree_mass = list(masses)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        moment[parent] = moment[parent] + moment[i]
        subtree_mass[parent] = subtree_mass[parent] + subtree_mass[i]
    return [divide_by_mass(moment[i], subtree_mass[i], k.inertial[i].pos) for i in range(model.nbody)]


def divide_by_mass(weighted: Vec, mass: Num, otherwise: Vec) -> Vec:
    """Returns weighted / mass; `otherwise` where the mass is below MINVAL."""
    massless = mass < MINVAL
    mean = weighted * (1.0 / where(massless, 1.0, mass))
    return Vec(*(where(massless, a, b) for a, b in zip(otherwise, mean, strict=True)))


def _cdof(model: Model, k: Kinematics, roots: list[Vec]) -> list[SpatialVec]:
    cdof: list[SpatialVec] = []
    for body in range(1, model.nbody):
        for j in body_joints(model, body):
            offset = roots[body] - k.xanchor[j.id]
            if j.type == JointType.SLIDE:
                cdof.append(SpatialVec(ZERO3, k.xaxis[j.id]))
                continue
            if j.type == JointType.FREE:
                cdof += [SpatialVec(ZERO3, unit) for unit in UNIT_VECTORS]
            axes = [k.xaxis[j.id]] if j.type == JointType.HINGE else k.bodies[body].mat.columns()
            cdof += [SpatialVec(axis, axis.cross(offset)) for axis in axes]
    return cdof
