"""Vectors, quaternions, rotations, and the six-dimensional vectors of rigid bodies, in `Num`s.

References:
    Featherstone (2008), Rigid Body Dynamics Algorithms, chapter 2. MuJoCo's order is rotation first, then translation,
    both in the world's axes, about the centre of mass of the whole tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .scalar import ONE, SMALLEST, ZERO, Num, num, sqrt, total, where


class Vec(NamedTuple):
    """Three numbers."""

    x: Num
    y: Num
    z: Num

    def __add__(self, other: Vec) -> Vec:  # type: ignore[override]
        return Vec(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Vec) -> Vec:
        return Vec(*(a - b for a, b in zip(self, other, strict=True)))

    def __neg__(self) -> Vec:
        return Vec(*(-a for a in self))

    def __mul__(self, factor: Num | float) -> Vec:  # type: ignore[override]
        return Vec(*(a * factor for a in self))

    def dot(self, other: Vec) -> Num:
        """The inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec) -> Vec:
        """The vector product."""
        return Vec(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def norm(self) -> Num:
        """The length."""
        return sqrt(self.dot(self))

    def direction(self) -> tuple[Num, Vec]:
        """The length, and the unit vector along it, x where there is no length; neither has a NaN for a derivative."""
        square = self.dot(self)
        tiny = square < SMALLEST**2
        size = sqrt(where(tiny, 1.0, square))
        unit = Vec(*(where(tiny, other, part / size, size) for other, part in zip((1.0, 0.0, 0.0), self, strict=True)))
        return where(tiny, 0.0, size), unit


NOWHERE = Vec(ZERO, ZERO, ZERO)


def vec(values: Sequence[Num | float]) -> Vec:
    """Three numbers as a vector."""
    return Vec(*(num(v) for v in values))


class Quat(NamedTuple):
    """A unit quaternion w + xi + yj + zk: a rotation."""

    w: Num
    x: Num
    y: Num
    z: Num

    def __mul__(self, other: Quat) -> Quat:  # type: ignore[override]
        a, b = self, other
        return Quat(
            a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        )

    def inverse(self) -> Quat:
        """The rotation back."""
        return Quat(self.w, -self.x, -self.y, -self.z)

    def normalised(self) -> Quat:
        """Of length one; that of no turn where it is hardly longer than zero."""
        square = total(a * a for a in self)
        short = square < SMALLEST * SMALLEST
        length = sqrt(where(short, 1.0, square))
        return Quat(*(where(short, none, a / length) for none, a in zip(UNTURNED, self, strict=True)))

    def matrix(self) -> Mat:
        """The rotation as a matrix."""
        w, x, y, z = self
        return Mat(
            Vec(w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
            Vec(2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)),
            Vec(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z),
        )


UNTURNED = Quat(ONE, ZERO, ZERO, ZERO)


def quat(values: Sequence[Num | float]) -> Quat:
    """Four numbers as a quaternion."""
    return Quat(*(num(v) for v in values))


class Mat(NamedTuple):
    """A 3 x 3 matrix, by rows."""

    a: Vec
    b: Vec
    c: Vec

    def __matmul__(self, v: Vec) -> Vec:
        return Vec(self.a.dot(v), self.b.dot(v), self.c.dot(v))

    def transposed(self) -> Mat:
        """Columns as rows: of a rotation, the rotation back."""
        return Mat(*(Vec(*column) for column in zip(*self, strict=True)))

    def columns(self) -> tuple[Vec, Vec, Vec]:
        """The axes of a rotated frame."""
        return tuple(self.transposed())  # type: ignore[return-value]


class Six(NamedTuple):
    """A motion (rotation, translation) or a force (torque, force), about the tree's centre of mass."""

    rot: Vec
    lin: Vec

    def __add__(self, other: Six) -> Six:  # type: ignore[override]
        return Six(self.rot + other.rot, self.lin + other.lin)

    def __mul__(self, factor: Num | float) -> Six:  # type: ignore[override]
        return Six(self.rot * factor, self.lin * factor)

    def dot(self, other: Six) -> Num:
        """Power, for a motion and a force."""
        return self.rot.dot(other.rot) + self.lin.dot(other.lin)

    def cross_motion(self, v: Six) -> Six:
        """How the motion `v` changes in a frame that moves by this one (Featherstone, equation 2.31)."""
        return Six(self.rot.cross(v.rot), self.rot.cross(v.lin) + self.lin.cross(v.rot))

    def cross_force(self, f: Six) -> Six:
        """How the force `f` changes in a frame that moves by this one (Featherstone, equation 2.32)."""
        return Six(self.rot.cross(f.rot) + self.lin.cross(f.lin), self.rot.cross(f.lin))


STILL = Six(NOWHERE, NOWHERE)


class Inertia(NamedTuple):
    """A body's inertia about the tree's centre of mass, in the world's axes.

    Attributes:
        xx, yy, zz, xy, xz, yz: the rotational part.
        h: mass times the vector from the tree's centre of mass to the body's.
        mass: of the body.
    """

    xx: Num
    yy: Num
    zz: Num
    xy: Num
    xz: Num
    yz: Num
    h: Vec
    mass: Num

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        xx, yy, zz, xy, xz, yz = (a + b for a, b in zip(self[:6], other[:6], strict=True))
        return Inertia(xx, yy, zz, xy, xz, yz, self.h + other.h, self.mass + other.mass)

    def __matmul__(self, v: Six) -> Six:
        """Momentum of a motion."""
        w = v.rot
        turned = Vec(
            self.xx * w.x + self.xy * w.y + self.xz * w.z,
            self.xy * w.x + self.yy * w.y + self.yz * w.z,
            self.xz * w.x + self.yz * w.y + self.zz * w.z,
        )
        return Six(turned + self.h.cross(v.lin), v.lin * self.mass - self.h.cross(w))


def inertia_about(axes: Mat, principal: Vec, mass: Num, offset: Vec) -> Inertia:
    """Of a body with principal moments along `axes`, seen from a point from which its centre lies at `offset`."""
    rows = [Vec(*(a * p for a, p in zip(row, principal, strict=True))) for row in axes]

    def entry(i: int, j: int) -> Num:
        return rows[i].dot(axes[j])

    x, y, z = offset
    return Inertia(
        entry(0, 0) + mass * (y * y + z * z),
        entry(1, 1) + mass * (x * x + z * z),
        entry(2, 2) + mass * (x * x + y * y),
        entry(0, 1) - mass * (x * y),
        entry(0, 2) - mass * (x * z),
        entry(1, 2) - mass * (y * z),
        offset * mass,
        mass,
    )
