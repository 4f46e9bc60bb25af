"""Spheres against boxes."""

from __future__ import annotations

from ..algebra.scalar import Num, absolute, clip, maximum, where
from ..algebra.vector import Vec
from .geom import ContactPoint, GeomInfo, sphere_contact, where_vec


def sphere_box(sphere: GeomInfo, box: GeomInfo) -> list[ContactPoint]:
    """Returns the nearest point of the box; from inside, of its nearest face."""
    return [box_sphere(box.local(sphere.frame.pos), sphere.frame.pos, sphere.size[0], box)]


def box_sphere(local: Vec, centre: Vec, radius: Num, box: GeomInfo) -> ContactPoint:
    """Returns the contact of a box and a sphere; the sphere's centre is `local` in the box's frame."""
    outside = Vec(*(p - clip(p, -s, s) for p, s in zip(local, box.size, strict=True)))
    distance, outwards = outside.norm_and_unit()
    within = distance <= 0.0
    x, y, z = (absolute(p) - s for p, s in zip(local, box.size, strict=True))
    shallow = maximum(maximum(x, y), z)
    on_x, on_y = x >= shallow, y >= shallow
    one = [where(p > 0.0, 1.0, -1.0) for p in local]
    face = Vec(
        where(on_x, one[0], 0.0),
        where(on_x, 0.0, where(on_y, one[1], 0.0)),
        where(on_x, 0.0, where(on_y, 0.0, one[2])),
    )
    normal = where_vec(within, face, outwards)
    return sphere_contact(centre, radius, where(within, shallow, distance), -(box.frame.mat @ normal))
