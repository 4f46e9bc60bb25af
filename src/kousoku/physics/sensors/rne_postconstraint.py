"""Accelerations of bodies, and the forces that hold each to its parent, from the accelerations of the joints.

References:
    MuJoCo documentation, API reference, mj_rnePostConstraint. Featherstone (2008), table 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num, nums, row
from ..algebra.spatial import ZERO6, SpatialVec
from ..algebra.vector import ZERO3, Vec, vec
from ..constraint.contact import Contact
from ..constraint.equality import BODY, EqualityType
from ..constraint.jacobian import BodyJacobian
from ..forward import Forward
from ..model import Model
from ..stages.apply_ft import wrench_at_com
from ..stages.joints import moving_ancestor
from ..stages.kinematics import site_frame


@dataclass(frozen=True)
class RnePostConstraint:
    """Six-dimensional vectors of each body [nbody], about its tree's centre of mass, by the names of MuJoCo's mjData.

    Attributes:
        cacc: acceleration, as if the world rose with minus gravity.
        cfrc_int: torque and force of the parent on the body.
    """

    cacc: list[SpatialVec]
    cfrc_int: list[SpatialVec]


def rne_postconstraint(f: Forward, qvel: Sequence[Num]) -> RnePostConstraint:
    """Runs the recursive Newton-Euler algorithm with all accelerations and external forces."""
    model, com, vel, qacc = f.model, f.smooth.com_pos, f.smooth.com_vel, f.solution.qacc
    gravity = ZERO3 if model.no_gravity else vec(nums(model.gravity))
    cacc, cfrc_int = [SpatialVec(ZERO3, -gravity)], [ZERO6]
    external = cfrc_ext(f)
    for i in range(1, model.nbody):
        a = cacc[int(model.body_parentid[i])]
        first = int(model.body_dofadr[i])
        for d in range(first, first + int(model.body_dofnum[i])):
            a = a + vel.cdof_dot[d] * qvel[d] + com.cdof[d] * qacc[d]
        cacc.append(a)
        inertial = (com.cinert[i] @ a) + vel.cvel[i].cross_force(com.cinert[i] @ vel.cvel[i])
        cfrc_int.append(inertial + external[i] * -1.0)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        cfrc_int[parent] = cfrc_int[parent] + cfrc_int[i]
    return RnePostConstraint(cacc, cfrc_int)


def cfrc_ext(f: Forward) -> list[SpatialVec]:
    """Returns what contacts, ties and spatial tendons do to each body [nbody], fixed or not: mjData's cfrc_ext."""
    found, model = list(f.cfrc_ext_moving), f.model
    ties = iter(_connects_and_welds(model))
    for c, forces in zip(f.constraints, f.solution.efc_force, strict=True):
        if isinstance(c.source, Contact):
            applied = _contact_forces(model, c.source, forces)
        elif c.source == "equality" and c.body_jacobians:
            applied = _equality_forces(f, c.body_jacobians, forces, next(ties))
        else:
            continue
        for body, point, force, torque in applied:
            if body and not moving_ancestor(model, body):
                found[body] = found[body] + wrench_at_com(f.smooth.com_pos, model, body, point, force, torque)
    for body, wrench in f.tendon_wrenches():
        if not moving_ancestor(model, body):
            found[body] = found[body] + wrench
    return found


AppliedForce = tuple[int, Vec, Vec, Vec]
"""A body, a point, and the force and the torque there."""


def _contact_forces(model: Model, contact: Contact, forces: Sequence[Num]) -> Iterator[AppliedForce]:
    """Yields what a contact does to both its bodies."""
    for geom, side in ((contact.candidate.geom1, -1.0), (contact.candidate.geom2, 1.0)):
        force = torque = ZERO3
        for i, size in zip(contact.used, forces, strict=False):
            along = contact.frame[i % 3] * (size * side)
            force, torque = (force + along, torque) if i < 3 else (force, torque + along)
        yield int(model.geom_bodyid[geom]), contact.point.pos, force, torque


def _connects_and_welds(model: Model) -> list[int]:
    """Returns connects and welds of which a body can move, in the order of their constraints."""
    types = model.eq_type
    tied = [
        i for i in range(model.neq) if model.eq_active0[i] and types[i] in (EqualityType.CONNECT, EqualityType.WELD)
    ]
    return [i for i in tied if any(moving_ancestor(model, _equality_body(model, i, side)) for side in (0, 1))]


def _equality_body(model: Model, i: int, side: int) -> int:
    number = int((model.eq_obj1id, model.eq_obj2id)[side][i])
    return number if model.eq_objtype[i] == BODY else int(model.site_bodyid[number])


def _equality_forces(f: Forward, jacs: Sequence[BodyJacobian], forces: Sequence[Num], i: int) -> Iterator[AppliedForce]:
    """Yields what a connect or weld to a body that moves does to one that does not: the opposite, at its own end."""
    model, k = f.model, f.smooth.kinematics
    force = torque = ZERO3
    for n, (wrench, size) in enumerate(zip(jacs[0].wrenches, forces, strict=True)):
        force, torque = (force - wrench.lin * size, torque) if n < 3 else (force, torque - wrench.rot * size)
    for side in (0, 1):
        body = _equality_body(model, i, side)
        if moving_ancestor(model, body):
            continue
        if model.eq_objtype[i] == BODY:
            first = 3 * (side if model.eq_type[i] == EqualityType.CONNECT else 1 - side)
            offset = k.bodies[body].mat @ vec(row(model.eq_data, i)[first : first + 3])
            yield body, k.bodies[body].pos + offset, force, torque
        else:
            yield body, site_frame(model, k, int((model.eq_obj1id, model.eq_obj2id)[side][i])).pos, force, torque
