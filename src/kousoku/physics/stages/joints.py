"""Joint types, where each joint's and body's numbers lie, and walks along the kinematic tree.

References:
    MuJoCo documentation, Overview, "Joint"; XML reference, body/joint. Metres and radians.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from ..model import Model


class JointType(IntEnum):
    """MuJoCo's mjtJoint."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3


DOFS = {JointType.FREE: 6, JointType.BALL: 3, JointType.SLIDE: 1, JointType.HINGE: 1}


class Joint(NamedTuple):
    """One joint of a model.

    Attributes:
        id: its number.
        type: what it lets its body do.
        body: the body that it moves.
        qposadr: the first of its positions in qpos.
        dofadr: the first of its degrees of freedom in qvel.
    """

    id: int
    type: JointType
    body: int
    qposadr: int
    dofadr: int

    @property
    def dofs(self) -> range:
        """The numbers of its degrees of freedom."""
        return range(self.dofadr, self.dofadr + DOFS[self.type])


def joint(model: Model, j: int) -> Joint:
    """Returns joint number j."""
    body, qposadr, dofadr = int(model.jnt_bodyid[j]), int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
    return Joint(j, JointType(int(model.jnt_type[j])), body, qposadr, dofadr)


def joints(model: Model) -> Iterator[Joint]:
    """Yields all joints of the model."""
    for j in range(model.njnt):
        yield joint(model, j)


def body_joints(model: Model, body: int) -> Iterator[Joint]:
    """Yields the joints of a body, in the order in which they move it."""
    first = int(model.body_jntadr[body])
    for j in range(first, first + int(model.body_jntnum[body])):
        yield joint(model, j)


def ancestors(model: Model, dof: int) -> Iterator[int]:
    """Yields a degree of freedom and those between it and the world, nearest first; nothing for -1."""
    while dof >= 0:
        yield dof
        dof = int(model.dof_parentid[dof])


def last_dof(model: Model, body: int) -> int:
    """Returns the nearest degree of freedom that moves the body; -1 if none does."""
    while body > 0:
        if int(model.body_dofnum[body]):
            return int(model.body_dofadr[body]) + int(model.body_dofnum[body]) - 1
        body = int(model.body_parentid[body])
    return -1


def moving_ancestor(model: Model, body: int) -> int:
    """Returns the nearest body, itself included, that has joints of its own; 0 if the body is fixed to the world."""
    dof = last_dof(model, body)
    return int(model.dof_bodyid[dof]) if dof >= 0 else 0
