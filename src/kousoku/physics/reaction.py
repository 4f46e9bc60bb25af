"""Accelerations of bodies, and the forces that hold each to its parent, from the accelerations of the joints.

References:
    MuJoCo documentation, API reference, mj_rnePostConstraint. Featherstone (2008), table 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .constraint.contact import Contact
from .constraint.row import moving
from .dynamics import point_force
from .forward import Forward
from .scalar import Num, nums
from .vector import NOWHERE, STILL, Six, vec


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
    """What contacts and equalities do to each body, those that cannot move too: a table may be a scale."""
    found, model = list(f.external), f.model
    for c, forces in zip(f.constraints, f.solution.forces, strict=True):
        if not isinstance(c.of, Contact):
            continue
        contact = c.of
        for geom, side in ((contact.candidate.first, -1.0), (contact.candidate.second, 1.0)):
            body = int(model.geom_bodyid[geom])
            if body and not moving(model, body):
                push = turn = NOWHERE
                for i, size in zip(contact.used, forces, strict=False):
                    along = contact.axes[i % 3] * (size * side)
                    push, turn = (push + along, turn) if i < 3 else (push, turn + along)
                found[body] = found[body] + point_force(f.smooth.tree, model, body, contact.touch.point, push, turn)
    return found
