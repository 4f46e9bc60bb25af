"""Six-dimensional vectors of rigid bodies, motions and forces, and the inertias that make one of the other.

Rotation comes first, then translation, as in MuJoCo; both in the world's axes, about the centre of mass of the whole
tree that a body belongs to.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, chapter 2.
"""

from __future__ import annotations

from typing import NamedTuple

from .scalar import Num
from .vector import ZERO3, Mat, Vec


class SpatialVec(NamedTuple):
    """A motion (angular, linear velocity) or a force (torque, force), about the tree's centre of mass.

    Attributes:
        rot: angular velocity [rad/s] or torque [N m].
        lin: linear velocity [m/s] or force [N].
    """

    rot: Vec
    lin: Vec

    def __add__(self, other: SpatialVec) -> SpatialVec:  # type: ignore[override]
        return SpatialVec(self.rot + other.rot, self.lin + other.lin)

    def __mul__(self, factor: Num | float) -> SpatialVec:  # type: ignore[override]
        return SpatialVec(self.rot * factor, self.lin * factor)

    def dot(self, other: SpatialVec) -> Num:
        """Returns the power of a force along a motion [W]."""
        return self.rot.dot(other.rot) + self.lin.dot(other.lin)

    def cross_motion(self, v: SpatialVec) -> SpatialVec:
        """Returns the rate of change of motion `v` in a frame that moves by this one (Featherstone, equation 2.31)."""
        return SpatialVec(self.rot.cross(v.rot), self.rot.cross(v.lin) + self.lin.cross(v.rot))

    def cross_force(self, f: SpatialVec) -> SpatialVec:
        """Returns the rate of change of force `f` in a frame that moves by this one (Featherstone, equation 2.32)."""
        return SpatialVec(self.rot.cross(f.rot) + self.lin.cross(f.lin), self.rot.cross(f.lin))


ZERO6 = SpatialVec(ZERO3, ZERO3)


class SpatialInertia(NamedTuple):
    """A body's inertia about the tree's centre of mass, in the world's axes: a row of mjData's cinert.

    Attributes:
        xx, yy, zz, xy, xz, yz: the rotational part [kg m^2].
        h: mass times the vector from the tree's centre of mass to the body's [kg m].
        mass: the body's [kg].
    """

    xx: Num
    yy: Num
    zz: Num
    xy: Num
    xz: Num
    yz: Num
    h: Vec
    mass: Num

    def __add__(self, other: SpatialInertia) -> SpatialInertia:  # type: ignore[override]
        xx, yy, zz, xy, xz, yz = (a + b for a, b in zip(self[:6], other[:6], strict=True))
        return SpatialInertia(xx, yy, zz, xy, xz, yz, self.h + other.h, self.mass + other.mass)

    def __matmul__(self, v: SpatialVec) -> SpatialVec:
        """Returns the momentum of motion `v`, or the force that accelerates by `v`."""
        w = v.rot
        turned = Vec(
            self.xx * w.x + self.xy * w.y + self.xz * w.z,
            self.xy * w.x + self.yy * w.y + self.yz * w.z,
            self.xz * w.x + self.yz * w.y + self.zz * w.z,
        )
        return SpatialVec(turned + self.h.cross(v.lin), v.lin * self.mass - self.h.cross(w))


def inertia_com_frame(axes: Mat, principal: Vec, mass: Num, offset: Vec) -> SpatialInertia:
    """Returns a body's inertia about a point from which its centre of mass lies at `offset`; MuJoCo's mju_inertCom.

    Args:
        axes: the body's principal axes, as columns in the world.
        principal: moments of inertia about these axes [kg m^2].
        mass: the body's [kg].
        offset: vector from the point to the body's centre of mass, in the world's axes [m].
    """
    rows = [Vec(*(a * p for a, p in zip(row, principal, strict=True))) for row in axes]

    def entry(i: int, j: int) -> Num:
        return rows[i].dot(axes[j])

    x, y, z = offset
    return SpatialInertia(
        entry(0, 0) + mass * (y * y + z * z),
        entry(1, 1) + mass * (x * x + z * z),
        entry(2, 2) + mass * (x * x + y * y),
        entry(0, 1) - mass * (x * y),
        entry(0, 2) - mass * (x * z),
        entry(1, 2) - mass * (y * z),
        offset * mass,
        mass,
    )
