"""Geoms in the world, and the contact points of two of them.

A collision function of two types of geoms always gives the same number of points. One that is not there is far away.

References:
    MuJoCo documentation, Computation, "Collision detection".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from ..algebra.scalar import ZERO, Bool, Num, logical_and, logical_not, maximum, nums, row, where
from ..algebra.vector import ZERO3, Vec, vec
from ..model import Model
from ..stages.kinematics import Frame

ABSENT = 1e3
"""The distance of a point that is not there: beyond all margins, and small enough to be raised to a power."""


class GeomType(IntEnum):
    """MuJoCo's mjtGeom."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


@dataclass(frozen=True)
class GeomInfo:
    """A geom in the world.

    Attributes:
        frame: its centre and axes.
        size: geom_size, metres: radius; radius and half length; half sizes.
        margin: the margin of the contacts that are looked for, metres.
    """

    frame: Frame
    size: list[Num]
    margin: Num = ZERO

    @property
    def axis(self) -> Vec:
        """Its z axis: a plane's normal, a capsule's direction."""
        return self.frame.mat.columns()[2]

    def local(self, point: Vec) -> Vec:
        """Returns a point of the world in the geom's frame."""
        return self.frame.mat.transpose() @ (point - self.frame.pos)


@dataclass(frozen=True)
class ContactPoint:
    """A point of contact: what collision functions write to MuJoCo's mjContact.

    Attributes:
        dist: distance between the surfaces, metres, negative where the geoms overlap.
        pos: the point halfway between the surfaces.
        normal: the unit vector from the first geom to the second.
        tangent: roughly the first tangent; zero if any will do.
        order: returns for all points of the two geoms numbers from 0 to 8 that grow along MuJoCo's list of them; None
            if that is the order of the collision function. It is a function, as hardly anyone asks.
    """

    dist: Num
    pos: Vec
    normal: Vec
    tangent: Vec = ZERO3
    order: Callable[[], list[Num]] | None = None


def bounding_radius(model: Model, geom: int) -> Num:
    """Returns how far a geom reaches from its centre, metres: geom_rbound, which follows sizes that are leaves."""
    if "geom_size" not in model.varied or "geom_rbound" in model.varied:
        return nums(model.geom_rbound)[geom]
    x, y, z = row(model.geom_size, geom)
    match GeomType(int(model.geom_type[geom])):
        case GeomType.SPHERE:
            return x
        case GeomType.CAPSULE:
            return x + y
        case GeomType.CYLINDER:
            return vec([x, y, ZERO]).norm_and_unit()[0]
        case GeomType.ELLIPSOID:
            return maximum(maximum(x, y), z)
        case GeomType.BOX:
            return vec([x, y, z]).norm_and_unit()[0]
    return nums(model.geom_rbound)[geom]


CollisionFunction: TypeAlias = Callable[[GeomInfo, GeomInfo], list[ContactPoint]]


def where_vec(condition: Bool, one: Vec, other: Vec) -> Vec:
    """Returns `one` where the condition holds, else `other`."""
    return Vec(*(where(condition, a, b) for a, b in zip(one, other, strict=True)))


def where_bool(condition: Bool, one: Bool, other: Bool) -> Bool:
    """Returns `one` where the condition holds, else `other`."""
    return logical_not(
        logical_and(logical_not(logical_and(condition, one)), logical_not(logical_and(logical_not(condition), other)))
    )


def sphere_contact(centre: Vec, radius: Num, distance: Num, normal: Vec) -> ContactPoint:
    """Returns the contact of a sphere and a surface at `distance` from its centre in the direction of `normal`."""
    dist = distance - radius
    return ContactPoint(dist, centre + normal * (0.5 * (radius + distance)), normal)
