"""What sensors measure from, and how a sensor is described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..algebra.scalar import Num
from ..algebra.vector import Six, Vec
from ..constraint.contact import Contact
from ..forward import Forward
from ..model import Model
from ..stages.kinematics import Frame, geom_frame, site_frame
from ..stages.smooth import Smooth
from .rne_postconstraint import Reaction

# MuJoCo's mjtObj, as far as it counts here.
UNKNOWN, BODY, XBODY, GEOM, SITE = 0, 1, 2, 5, 6


@dataclass(frozen=True)
class Seen:
    """What sensors measure from.

    Attributes:
        model: the mechanism.
        forward: what its state brings about.
        smooth: of that.
        qpos, qvel: of the state.
        reaction: accelerations, and forces between bodies.
        subtree: velocity and angular momentum of each body and all that hangs on it.
        contacts: those that contact sensors ask for, with their forces, in MuJoCo's order.
    """

    model: Model
    forward: Forward
    smooth: Smooth
    qpos: list[Num]
    qvel: list[Num]
    reaction: Reaction | None
    subtree: list[tuple[Vec, Vec]]
    contacts: list[tuple[Contact, list[Num]]]

    def frame(self, kind: int, number: int) -> tuple[Frame, int]:
        """The frame of a body, geom or site, and the body that it is fixed in."""
        k = self.smooth.kinematics
        if kind == GEOM:
            return geom_frame(self.model, k, number), int(self.model.geom_bodyid[number])
        if kind == SITE:
            return site_frame(self.model, k, number), int(self.model.site_bodyid[number])
        return (k.inertial if kind == BODY else k.bodies)[number], number

    def motion(self, place: Vec, body: int, of: Sequence[Six]) -> Six:
        """A motion of a body, at a place in the world: how it turns, and how that point moves."""
        v = of[body]
        arm = place - self.smooth.tree.subtree_com[int(self.model.body_rootid[body])]
        return Six(v.rot, v.lin + v.rot.cross(arm))


@dataclass(frozen=True)
class Sensor:
    """One sensor.

    Attributes:
        objtype, obj: what it is fixed to.
        reftype, ref: in whose frame it measures; -1 for the world's.
        dim: how many numbers it has.
        asked: MuJoCo's `intprm`: which fields it has, and which contacts are told of.
    """

    objtype: int
    obj: int
    reftype: int
    ref: int
    dim: int
    asked: tuple[int, ...]
