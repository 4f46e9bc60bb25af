"""Accelerations of bodies, and the forces that hold each to its parent, from the accelerations of the joints.

References:
    MuJoCo documentation, API reference, mj_rnePostConstraint. Featherstone (2008), table 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num, nums
from ..algebra.vector import NOWHERE, STILL, Six, Vec, vec
from ..constraint.contact import Contact
from ..constraint.equality import BODY, Kind
from ..constraint.jacobian import Grip, moving
from ..forward import Forward
from ..model import Model
from ..stages.dynamics import point_force
from ..stages.kinematics import row, site_frame


@dataclass(frozen=True)
class Reaction:
    """Six-dimensional vectors of each body, about its tree's centre of mass.

    Attributes:
        acceleration: as if the world rose with minus gravity.
        force: torque and force of the parent on the body: MuJoCo's cfrc_int.
    """

    acceleration: list[Six]
    force: list[Six]


def reaction(f: Forward, qvel: Sequence[Num]) -> Reaction:
    """The recursive Newton-Euler algorithm, with all accelerations and external forces."""
    model, t, motion, qacc = f.model, f.smooth.tree, f.smooth.motion, f.solution.acceleration
    gravity = NOWHERE if model.no_gravity else vec(nums(model.gravity))
    acceleration, force = [Six(NOWHERE, -gravity)], [STILL]
    external = loads(f)
    for i in range(1, model.nbody):
        a = acceleration[int(model.body_parentid[i])]
        first = int(model.body_dofadr[i])
        for d in range(first, first + int(model.body_dofnum[i])):
            a = a + motion.dof[d] * qvel[d] + t.motion[d] * qacc[d]
        acceleration.append(a)
        push = (t.inertia[i] @ a) + motion.body[i].cross_force(t.inertia[i] @ motion.body[i])
        force.append(push + external[i] * -1.0)
    for i in range(model.nbody - 1, 0, -1):
        parent = int(model.body_parentid[i])
        force[parent] = force[parent] + force[i]
    return Reaction(acceleration, force)


def loads(f: Forward) -> list[Six]:
    """What contacts and equalities do to each body, those that cannot move too: MuJoCo's cfrc_ext."""
    found, model = list(f.external), f.model
    ties = iter(_ties(model))
    for c, forces in zip(f.constraints, f.solution.forces, strict=True):
        if isinstance(c.of, Contact):
            onto = _of_contact(model, c.of, forces)
        elif c.of == "equality" and c.grips:
            onto = _of_tie(f, c.grips, forces, next(ties))
        else:
            continue
        for body, point, push, turn in onto:
            if body and not moving(model, body):
                found[body] = found[body] + point_force(f.smooth.tree, model, body, point, push, turn)
    return found


Onto = tuple[int, Vec, Vec, Vec]
"""A body, a point, and the force and the torque there."""


def _of_contact(model: Model, contact: Contact, forces: Sequence[Num]) -> Iterator[Onto]:
    """What a contact does to both its bodies."""
    for geom, side in ((contact.candidate.first, -1.0), (contact.candidate.second, 1.0)):
        push = turn = NOWHERE
        for i, size in zip(contact.used, forces, strict=False):
            along = contact.axes[i % 3] * (size * side)
            push, turn = (push + along, turn) if i < 3 else (push, turn + along)
        yield int(model.geom_bodyid[geom]), contact.touch.point, push, turn


def _ties(model: Model) -> list[int]:
    """Points and frames that are tied to one another, of which one can move, in the order of their constraints."""
    kinds = model.eq_type
    tied = [i for i in range(model.neq) if model.eq_active0[i] and kinds[i] in (Kind.CONNECT, Kind.WELD)]
    return [i for i in tied if any(moving(model, _tied_body(model, i, side)) for side in (0, 1))]


def _tied_body(model: Model, i: int, side: int) -> int:
    number = int((model.eq_obj1id, model.eq_obj2id)[side][i])
    return number if model.eq_objtype[i] == BODY else int(model.site_bodyid[number])


def _of_tie(f: Forward, grips: Sequence[Grip], forces: Sequence[Num], i: int) -> Iterator[Onto]:
    """What a tie to a body that moves does to one that does not: the opposite, at its own end."""
    model, k = f.model, f.smooth.kinematics
    push = turn = NOWHERE
    for n, (wrench, size) in enumerate(zip(grips[0].wrenches, forces, strict=True)):
        push, turn = (push - wrench.lin * size, turn) if n < 3 else (push, turn - wrench.rot * size)
    for side in (0, 1):
        body = _tied_body(model, i, side)
        if moving(model, body):
            continue
        if model.eq_objtype[i] == BODY:
            first = 3 * (side if model.eq_type[i] == Kind.CONNECT else 1 - side)
            place = k.bodies[body].mat @ vec(row(model.eq_data, i)[first : first + 3])
            yield body, k.bodies[body].pos + place, push, turn
        else:
            yield body, site_frame(model, k, int((model.eq_obj1id, model.eq_obj2id)[side][i])).pos, push, turn
