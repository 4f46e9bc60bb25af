"""Spheres against boxes."""

from __future__ import annotations

from ..algebra.scalar import Num, absolute, clipped, maximum, where
from ..algebra.vector import Vec
from .geom import Geom, Touch, chosen, round_touch


def sphere_box(sphere: Geom, box: Geom) -> list[Touch]:
    """The nearest point of the box; from inside, of its nearest face."""
    return [box_ball(box.local(sphere.frame.pos), sphere.frame.pos, sphere.size[0], box)]


def box_ball(local: Vec, centre: Vec, radius: Num, box: Geom) -> Touch:
    """A ball whose centre is given, in the box's frame too."""
    outside = Vec(*(p - clipped(p, -s, s) for p, s in zip(local, box.size, strict=True)))
    distance, outwards = outside.direction()
    within = distance <= 0.0
    x, y, z = (absolute(p) - s for p, s in zip(local, box.size, strict=True))
    shallow = maximum(maximum(x, y), z)
    on_x, on_y = x >= shallow, y >= shallow
    one = [where(p > 0.0, 1.0, -1.0, p) for p in local]
    face = Vec(
        where(on_x, one[0], 0.0, shallow),
        where(on_x, 0.0, where(on_y, one[1], 0.0, shallow), shallow),
        where(on_x, 0.0, where(on_y, 0.0, one[2], shallow), shallow),
    )
    normal = chosen(within, face, outwards, distance)
    return round_touch(centre, radius, where(within, shallow, distance), -(box.frame.mat @ normal))
