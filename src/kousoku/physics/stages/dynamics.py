"""Smooth dynamics of a tree: inertia, mass matrix, velocities and the forces of motion.

All six-dimensional quantities are about the centre of mass of the whole tree that a body belongs to, in the world's
axes, which keeps numbers small and float32 exact.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms: table 6.2 (composite rigid body), table 5.1 (Newton-Euler).
    MuJoCo documentation, Computation, "General framework".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import ONE, SMALLEST, ZERO, Num, nums, where
from ..algebra.sparse import Matrix
from ..algebra.vector import NOWHERE, STILL, Inertia, Six, Vec, inertia_about, vec
from ..model import Model
from .joints import Kind, ancestors, joints_of, last_dof
from .kinematics import Kinematics, row

UNITS = (Vec(ONE, ZERO, ZERO), Vec(ZERO, ONE, ZERO), Vec(ZERO, ZERO, ONE))


@dataclass(frozen=True)
class Tree:
    """A mechanism at a position.

    Attributes:
        subtree_com: centre of mass of each body and all that hangs on it.
        inertia: of each body, about its tree's centre of mass.
        motion: how each degree of freedom moves its body, per unit of velocity.
        mass_matrix: its entries (i, j), j an ancestor of i or i itself; the others are zero or their mirror images.
    """

    subtree_com: list[Vec]
    inertia: list[Inertia]
    motion: list[Six]
    mass_matrix: Matrix


@dataclass(frozen=True)
class Motion:
    """A mechanism that moves.

    Attributes:
        body: velocity of each body.
        dof: how fast each degree of freedom's `motion` changes.
    """

    body: list[Six]
    dof: list[Six]


def tree(model: Model, k: Kinematics) -> Tree:
    """Inertia at the position of `k`."""
    coms = subtree_com(model, k)
    roots = [coms[int(r)] for r in model.body_rootid]
    inertia = [
        inertia_about(
            k.inertial[i].mat, vec(row(model.body_inertia, i)), nums(model.body_mass)[i], k.inertial[i].pos - roots[i]
        )
        if i
        else inertia_about(k.inertial[0].mat, NOWHERE, ZERO, NOWHERE)
        for i in range(model.nbody)
    ]
    motion = _motions(model, k, roots)
    return Tree(coms, inertia, motion, mass_matrix(model, inertia, motion))


def subtree_com(model: Model, k: Kinematics) -> list[Vec]:
    """The centre of mass of each body and all that hangs on it."""
    masses = nums(model.body_mass)
    moment = [frame.pos * masses[i] for i, frame in enumerate(k.inertial)]
    weight = list(masses)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        moment[parent], weight[parent] = moment[parent] + moment[i], weight[parent] + weight[i]
    return [per_mass(moment[i], weight[i], k.inertial[i].pos) for i in range(model.nbody)]


def per_mass(moment: Vec, weight: Num, otherwise: Vec) -> Vec:
    """A sum weighed by masses, divided by their sum; something else where there is no mass."""
    massless = weight < SMALLEST
    mean = moment * (1.0 / where(massless, 1.0, weight))
    return Vec(*(where(massless, a, b, weight) for a, b in zip(otherwise, mean, strict=True)))


def _motions(model: Model, k: Kinematics, roots: list[Vec]) -> list[Six]:
    motions: list[Six] = []
    for body in range(1, model.nbody):
        for j in joints_of(model, body):
            offset = roots[body] - k.anchors[j.id]
            if j.kind == Kind.SLIDE:
                motions.append(Six(NOWHERE, k.axes[j.id]))
                continue
            if j.kind == Kind.FREE:
                motions += [Six(NOWHERE, unit) for unit in UNITS]
            axes = [k.axes[j.id]] if j.kind == Kind.HINGE else k.bodies[body].mat.columns()
            motions += [Six(axis, axis.cross(offset)) for axis in axes]
    return motions


def mass_matrix(model: Model, inertia: list[Inertia], motion: list[Six]) -> Matrix:
    """The composite rigid body algorithm, with armature on the diagonal."""
    composite = list(inertia)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        if parent:
            composite[parent] = composite[parent] + composite[i]
    armature = nums(model.dof_armature)
    entries: Matrix = {}
    for i in range(model.nv):
        momentum = composite[int(model.dof_bodyid[i])] @ motion[i]
        for j in ancestors(model, i):
            entries[i, j] = motion[j].dot(momentum)
        entries[i, i] = entries[i, i] + armature[i]
    return entries


def velocities(model: Model, t: Tree, qvel: Sequence[Num]) -> Motion:
    """Velocities of bodies, and of the degrees of freedom's motions."""
    body: list[Six] = [STILL]
    dof: list[Six] = [STILL] * model.nv
    for i in range(1, model.nbody):
        v = body[int(model.body_parentid[i])]
        for j in joints_of(model, i):
            groups = [j.dofs]
            if j.kind == Kind.FREE:
                groups = [range(j.dof, j.dof + 3), range(j.dof + 3, j.dof + 6)]
            for group in groups:
                for d in group:
                    still = j.kind == Kind.FREE and d < j.dof + 3
                    dof[d] = STILL if still else v.cross_motion(t.motion[d])
                for d in group:
                    v = v + t.motion[d] * qvel[d]
        body.append(v)
    return Motion(body, dof)


def bias(model: Model, t: Tree, m: Motion, qvel: Sequence[Num]) -> list[Num]:
    """Forces that keep the mechanism from accelerating: gravity, centrifugal and Coriolis forces [nv].

    The recursive Newton-Euler algorithm with zero acceleration.
    """
    gravity = NOWHERE if model.no_gravity else vec(nums(model.gravity))
    acceleration: list[Six] = [Six(NOWHERE, -gravity)]
    force: list[Six] = [STILL]
    for i in range(1, model.nbody):
        a = acceleration[int(model.body_parentid[i])]
        first = int(model.body_dofadr[i])
        for d in range(first, first + int(model.body_dofnum[i])):
            a = a + m.dof[d] * qvel[d]
        acceleration.append(a)
        force.append((t.inertia[i] @ a) + m.body[i].cross_force(t.inertia[i] @ m.body[i]))
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        force[parent] = force[parent] + force[i]
    return [t.motion[d].dot(force[int(model.dof_bodyid[d])]) for d in range(model.nv)]


# ---- forces at points


def point_force(t: Tree, model: Model, body: int, point: Vec, force: Vec, torque: Vec) -> Six:
    """A force and a torque at a point of a body, about its tree's centre of mass."""
    arm = point - t.subtree_com[int(model.body_rootid[body])]
    return Six(torque + arm.cross(force), force)


def along_dofs(model: Model, t: Tree, forces: dict[int, Six]) -> list[Num]:
    """Generalised forces [nv] of forces on bodies."""
    result = [ZERO] * model.nv
    for body, force in forces.items():
        for d in ancestors(model, last_dof(model, body)):
            result[d] = result[d] + t.motion[d].dot(force)
    return result
