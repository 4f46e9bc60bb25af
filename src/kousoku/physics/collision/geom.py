"""What collides, and what comes of it: shapes in the world, and points where they touch.

A function of two shapes always gives the same number of points. One that is not there is far away.

References:
    MuJoCo documentation, Computation, "Collision detection".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from ..algebra.scalar import ZERO, Num, Truth, both, negated, where
from ..algebra.vector import NOWHERE, Vec
from ..stages.kinematics import Frame

ABSENT = 1e3
"""The distance of a point that is not there: beyond all margins, and small enough to be raised to a power."""


class Shape(IntEnum):
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
class Geom:
    """A shape in the world.

    Attributes:
        frame: of its centre, along its axes.
        size: radius; radius and half length; half sizes.
        margin: of the contacts that are looked for.
    """

    frame: Frame
    size: list[Num]
    margin: Num = ZERO

    @property
    def axis(self) -> Vec:
        """Its z axis: a plane's normal, a capsule's direction."""
        return self.frame.mat.columns()[2]

    def local(self, point: Vec) -> Vec:
        """A point of the world, seen from the shape."""
        return self.frame.mat.transposed() @ (point - self.frame.pos)


@dataclass(frozen=True)
class Touch:
    """A point of contact.

    Attributes:
        distance: negative where the shapes overlap.
        point: halfway between the surfaces.
        normal: from the first shape to the second.
        along: roughly the first tangent; nowhere if any will do.
    """

    distance: Num
    point: Vec
    normal: Vec
    along: Vec = NOWHERE


Pair: TypeAlias = Callable[[Geom, Geom], list[Touch]]


def chosen(condition: Truth, one: Vec, other: Vec, like: Num) -> Vec:
    """One of two vectors; numbers that are known in both, in the dtype of `like`."""
    return Vec(*(where(condition, a, b, like) for a, b in zip(one, other, strict=True)))


def either(condition: Truth, one: Truth, other: Truth) -> Truth:
    """One of two answers."""
    return negated(both(negated(both(condition, one)), negated(both(negated(condition), other))))


def round_touch(centre: Vec, radius: Num, away: Num, normal: Vec, along: Vec = NOWHERE) -> Touch:
    """Of a ball, and a surface `away` from its centre in the direction of `normal`."""
    distance = away - radius
    return Touch(distance, centre + normal * (0.5 * (radius + away)), normal, along)
