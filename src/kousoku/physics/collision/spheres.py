"""Spheres against spheres, capsules and cylinders, whose nearest point has a formula."""

from __future__ import annotations

from ..algebra.scalar import ZERO, Num, absolute, clip, maximum, where
from ..algebra.vector import Vec
from .geom import ContactPoint, GeomInfo, sphere_contact, where_vec


def sphere_pair(a: Vec, radius_a: Num, b: Vec, radius_b: Num, otherwise: Vec) -> ContactPoint:
    """Returns the contact of two spheres; where their centres meet, the normal is `otherwise`."""
    size, normal = (b - a).norm_and_unit()
    return sphere_contact(a, radius_a, size - radius_b, where_vec(size <= 0.0, otherwise, normal))


def fallback_normal(first: GeomInfo, second: GeomInfo) -> Vec:
    """Returns the normal where none is better than another: at right angles to both axes."""
    return first.axis.cross(second.axis).norm_and_unit()[1]


def sphere_sphere(first: GeomInfo, second: GeomInfo) -> list[ContactPoint]:
    """Returns one point, on the line between the centres."""
    return [
        sphere_pair(first.frame.pos, first.size[0], second.frame.pos, second.size[0], fallback_normal(first, second))
    ]


def sphere_capsule(sphere: GeomInfo, capsule: GeomInfo) -> list[ContactPoint]:
    """Returns one point, of the sphere and the nearest sphere in the capsule."""
    axis, half = capsule.axis, capsule.size[1]
    place = clip((sphere.frame.pos - capsule.frame.pos).dot(axis), -half, half)
    nearest = capsule.frame.pos + axis * place
    return [sphere_pair(sphere.frame.pos, sphere.size[0], nearest, capsule.size[0], fallback_normal(sphere, capsule))]


def sphere_cylinder(sphere: GeomInfo, cylinder: GeomInfo) -> list[ContactPoint]:
    """Returns the nearest point of the side, of a flat end or of a rim; from inside, of the side or an end."""
    axis, (radius, half, _) = cylinder.axis, cylinder.size
    offset = sphere.frame.pos - cylinder.frame.pos
    height = offset.dot(axis)
    width, side = (offset - axis * height).norm_and_unit()
    side = where_vec(width <= 0.0, -fallback_normal(sphere, cylinder), side)
    end = axis * where(height > 0.0, 1.0, -1.0)
    over, out = absolute(height) - half, width - radius
    distance, (rim_end, rim_side, _) = Vec(maximum(over, 0.0), maximum(out, 0.0), ZERO).norm_and_unit()
    inside = distance <= 0.0
    inner = where_vec(out > over, side, end)
    normal = where_vec(inside, inner, end * rim_end + side * rim_side)
    return [sphere_contact(sphere.frame.pos, sphere.size[0], where(inside, maximum(over, out), distance), -normal)]
