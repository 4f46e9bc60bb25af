"""Vectors, quaternions and rotations of three dimensions, in `Num`s."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .scalar import MINVAL, ONE, ZERO, Num, atan2, cos, num, sin, sqrt, total, where


class Vec(NamedTuple):
    """A vector of three numbers."""

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
        """Returns the inner product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec) -> Vec:
        """Returns the vector product."""
        return Vec(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )

    def norm(self) -> Num:
        """Returns the Euclidean length."""
        return sqrt(self.dot(self))

    def norm_and_unit(self) -> tuple[Num, Vec]:
        """Returns the length and the unit vector along it, x where the length is 0; neither has a NaN as derivative."""
        square = self.dot(self)
        tiny = square < MINVAL**2
        size = sqrt(where(tiny, 1.0, square))
        unit = Vec(*(where(tiny, other, part / size) for other, part in zip((1.0, 0.0, 0.0), self, strict=True)))
        return where(tiny, 0.0, size), unit


ZERO3 = Vec(ZERO, ZERO, ZERO)
UNIT_VECTORS = (Vec(ONE, ZERO, ZERO), Vec(ZERO, ONE, ZERO), Vec(ZERO, ZERO, ONE))


def vec(values: Sequence[Num | float]) -> Vec:
    """Returns three numbers as a vector."""
    return Vec(*(num(v) for v in values))


class Quat(NamedTuple):
    """A quaternion w + xi + yj + zk; of length one, a rotation."""

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
        """Returns the conjugate: the rotation back."""
        return Quat(self.w, -self.x, -self.y, -self.z)

    def or_identity(self) -> Quat:
        """Returns it as it is; the identity where it is shorter than MINVAL, so that it has no direction."""
        short = total(a * a for a in self) < MINVAL * MINVAL
        return Quat(*(where(short, none, a) for none, a in zip(IDENTITY, self, strict=True)))

    def normalised(self) -> Quat:
        """Returns it with length one; the identity where it is shorter than MINVAL."""
        square = total(a * a for a in self)
        short = square < MINVAL * MINVAL
        length = sqrt(where(short, 1.0, square))
        return Quat(*(where(short, none, a / length) for none, a in zip(IDENTITY, self, strict=True)))

    def matrix(self) -> Mat:
        """Returns the rotation matrix of a quaternion of length one."""
        w, x, y, z = self
        return Mat(
            Vec(w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
            Vec(2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)),
            Vec(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z),
        )


IDENTITY = Quat(ONE, ZERO, ZERO, ZERO)


def quat(values: Sequence[Num | float]) -> Quat:
    """Returns four numbers as a quaternion."""
    return Quat(*(num(v) for v in values))


class Mat(NamedTuple):
    """A 3 x 3 matrix of rows a, b, c."""

    a: Vec
    b: Vec
    c: Vec

    def __matmul__(self, v: Vec) -> Vec:
        return Vec(self.a.dot(v), self.b.dot(v), self.c.dot(v))

    def transpose(self) -> Mat:
        """Returns the transpose: of a rotation, the rotation back."""
        return Mat(*(Vec(*column) for column in zip(*self, strict=True)))

    def columns(self) -> tuple[Vec, Vec, Vec]:
        """Returns the columns: of a rotation, the axes of the rotated frame."""
        return tuple(self.transpose())  # type: ignore[return-value]


def axis_angle_quat(axis: Vec, angle: Num) -> Quat:
    """Returns the rotation by `angle` radians about a unit axis; MuJoCo's mju_axisAngle2Quat."""
    if angle.is_known(0.0):
        return IDENTITY
    half = angle * 0.5
    return Quat(cos(half), *(axis * sin(half)))


def sub_quat(a: Quat, b: Quat) -> Vec:
    """Returns the rotation from b to a as an axis times an angle in [-pi, pi], in b's axes; MuJoCo's mju_subQuat."""
    difference = b.inverse() * a
    axis = vec(difference[1:])
    square = axis.dot(axis)
    tiny = square < MINVAL**2
    size = sqrt(where(tiny, 1.0, square))
    angle = 2.0 * atan2(size, difference.w)
    angle = where(angle > math.pi, angle - 2.0 * math.pi, angle)
    return axis * where(tiny, 2.0, angle / size)
