"""Spheres and capsules, and spheres against shapes whose nearest point has a formula."""

from __future__ import annotations

from ..algebra.scalar import ZERO, Num, absolute, clipped, maximum, where
from ..algebra.vector import Vec
from .geom import Geom, Touch, chosen, round_touch


def balls(a: Vec, radius_a: Num, b: Vec, radius_b: Num, otherwise: Vec) -> Touch:
    """Two balls; where their centres meet, the normal is `otherwise`."""
    size, normal = (b - a).direction()
    return round_touch(a, radius_a, size - radius_b, chosen(size <= 0.0, otherwise, normal, size))


def sideways(first: Geom, second: Geom) -> Vec:
    """The normal where none is better than another: at right angles to both axes."""
    return first.axis.cross(second.axis).direction()[1]


def sphere_sphere(first: Geom, second: Geom) -> list[Touch]:
    """One point on the line between the centres."""
    return [balls(first.frame.pos, first.size[0], second.frame.pos, second.size[0], sideways(first, second))]


def sphere_capsule(sphere: Geom, capsule: Geom) -> list[Touch]:
    """The sphere and the ball of the capsule that is nearest to it."""
    axis, half = capsule.axis, capsule.size[1]
    place = clipped((sphere.frame.pos - capsule.frame.pos).dot(axis), -half, half)
    nearest = capsule.frame.pos + axis * place
    return [balls(sphere.frame.pos, sphere.size[0], nearest, capsule.size[0], sideways(sphere, capsule))]


def sphere_cylinder(sphere: Geom, cylinder: Geom) -> list[Touch]:
    """The nearest point of the side, of a flat end or of a rim; from inside, of the side or an end."""
    axis, (radius, half, _) = cylinder.axis, cylinder.size
    away = sphere.frame.pos - cylinder.frame.pos
    height = away.dot(axis)
    width, side = (away - axis * height).direction()
    side = chosen(width <= 0.0, -sideways(sphere, cylinder), side, width)
    end = axis * where(height > 0.0, 1.0, -1.0, height)
    over, out = absolute(height) - half, width - radius
    distance, (rim_end, rim_side, _) = Vec(maximum(over, 0.0), maximum(out, 0.0), ZERO).direction()
    inside = distance <= 0.0
    inner = chosen(out > over, side, end, out)
    normal = chosen(inside, inner, end * rim_end + side * rim_side, distance)
    return [round_touch(sphere.frame.pos, sphere.size[0], where(inside, maximum(over, out), distance), -normal)]
