"""Inputs that sensors measure from, and how a sensor is described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num
from ..algebra.spatial import SpatialVec
from ..algebra.vector import Vec
from ..constraint.contact import Contact
from ..forward import Forward
from ..model import Model
from ..stages.com_vel import motion_at
from ..stages.kinematics import Frame, geom_frame, site_frame
from ..stages.smooth import Smooth
from .rne_postconstraint import RnePostConstraint

# MuJoCo's mjtObj, as far as it counts here.
UNKNOWN, BODY, XBODY, GEOM, SITE = 0, 1, 2, 5, 6


@dataclass(frozen=True)
class SensorInputs:
    """The inputs that sensors measure from.

    Attributes:
        model: the mechanism.
        forward: what its state brings about.
        smooth: its smooth dynamics.
        qpos, qvel: positions [nq] and velocities [nv].
        rne: accelerations of bodies, and forces between them; None if no sensor needs them.
        subtree_vel: velocity and angular momentum of each body and all that hangs on it; empty if no sensor needs it.
        contacts: those that contact sensors ask for, with their forces [6], in MuJoCo's order.
    """

    model: Model
    forward: Forward
    smooth: Smooth
    qpos: list[Num]
    qvel: list[Num]
    rne: RnePostConstraint | None
    subtree_vel: list[tuple[Vec, Vec]]
    contacts: list[tuple[Contact, list[Num]]]

    def frame(self, objtype: int, number: int) -> tuple[Frame, int]:
        """Returns the frame of a body, geom or site, and the body that it is fixed in."""
        k = self.smooth.kinematics
        if objtype == GEOM:
            return geom_frame(self.model, k, number), int(self.model.geom_bodyid[number])
        if objtype == SITE:
            return site_frame(self.model, k, number), int(self.model.site_bodyid[number])
        return (k.inertial if objtype == BODY else k.bodies)[number], number

    def motion_at(self, point: Vec, body: int, of: Sequence[SpatialVec]) -> SpatialVec:
        """Returns a body's motion, of those of all bodies [nbody]: rotation, and translation of a point of the body."""
        return motion_at(self.model, self.smooth.com_pos, point, body, of)


@dataclass(frozen=True)
class Sensor:
    """One sensor, by the names of MuJoCo's mjModel.

    Attributes:
        objtype, objid: the object that it is fixed to.
        reftype, refid: the object in whose frame it measures; -1 for the world's.
        dim: how many numbers it has.
        intprm: which fields it has, and which contacts are told of.
    """

    objtype: int
    objid: int
    reftype: int
    refid: int
    dim: int
    intprm: tuple[int, ...]
