"""Range finders: how far along a site's z axis the nearest geom is that is drawn, of another body than the site's.

References:
    MuJoCo documentation, XML reference, sensor/rangefinder; API reference, mj_ray.
"""

from __future__ import annotations

from ..algebra.scalar import Num, minimum, row, where
from ..collision.ray import FAR, ray_distance
from ..stages.kinematics import geom_frame
from .inputs import SITE, Sensor, SensorInputs

FIELDS = ("dist", "dir", "origin", "point", "normal", "depth")
"""MuJoCo's mjtRayDataField."""
SUPPORTED = ("dist", "dir", "origin", "point", "depth")


def rangefinder(s: SensorInputs, i: Sensor) -> list[Num]:
    """Measures distance [m], direction, origin and point [m], and depth [m], as far as they are asked for.

    Distance and depth are -1, and the direction and the point zeros, where the ray meets nothing.
    """
    frame, body = s.frame(SITE, i.objid)
    direction, nearest = frame.mat.columns()[2], Num(FAR)
    for g in range(s.model.ngeom):
        if s.model.geom_drawn[g] and int(s.model.geom_bodyid[g]) != body:
            geom = geom_frame(s.model, s.smooth.kinematics, g)
            to_local, shape = geom.mat.transpose(), int(s.model.geom_type[g])
            start = to_local @ (frame.pos - geom.pos)
            distance = ray_distance(shape, row(s.model.geom_size, g), start, to_local @ direction)
            nearest = minimum(nearest, distance)
    hit = nearest < FAR
    dist = where(hit, nearest, -1.0)
    fields = {
        "dist": [dist],
        "dir": [where(hit, x, 0.0) for x in direction],
        "origin": frame.pos,
        "point": [where(hit, x, 0.0) for x in frame.pos + direction * nearest],
        "depth": [dist],
    }
    return [x for bit, name in enumerate(FIELDS) if i.intprm[0] >> bit & 1 for x in fields[name]]
