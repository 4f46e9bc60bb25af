"""Joint types, and where each joint's and body's numbers lie.

References:
    MuJoCo documentation, Overview, "Joint"; XML reference, body/joint. Metres and radians.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from ..model import Model


class Kind(IntEnum):
    """MuJoCo's mjtJoint."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3


DOFS = {Kind.FREE: 6, Kind.BALL: 3, Kind.SLIDE: 1, Kind.HINGE: 1}


class Joint(NamedTuple):
    """A joint's number, kind, body, and the first of its positions and of its degrees of freedom."""

    id: int
    kind: Kind
    body: int
    qpos: int
    dof: int

    @property
    def dofs(self) -> range:
        """Its degrees of freedom."""
        return range(self.dof, self.dof + DOFS[self.kind])


def joint(model: Model, j: int) -> Joint:
    """Joint number j."""
    return Joint(
        j, Kind(int(model.jnt_type[j])), int(model.jnt_bodyid[j]), int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
    )


def joints(model: Model) -> Iterator[Joint]:
    """All joints."""
    for j in range(model.njnt):
        yield joint(model, j)


def joints_of(model: Model, body: int) -> Iterator[Joint]:
    """A body's joints, in the order in which they move it."""
    first = int(model.body_jntadr[body])
    for j in range(first, first + int(model.body_jntnum[body])):
        yield joint(model, j)


def ancestors(model: Model, dof: int) -> Iterator[int]:
    """The degree of freedom itself and those between it and the world, nearest first."""
    while dof >= 0:
        yield dof
        dof = int(model.dof_parentid[dof])


def last_dof(model: Model, body: int) -> int:
    """The nearest degree of freedom that moves the body; -1 if none does."""
    while body > 0:
        if int(model.body_dofnum[body]):
            return int(model.body_dofadr[body]) + int(model.body_dofnum[body]) - 1
        body = int(model.body_parentid[body])
    return -1
