"""Range finders: how far along a site's z axis the nearest geom is that is drawn, of another body than the site's.

References:
    MuJoCo documentation, XML reference, sensor/rangefinder; API reference, mj_ray.
"""

from __future__ import annotations

from ..algebra.scalar import Num, minimum, where
from ..collision.ray import FAR, distance
from ..stages.kinematics import geom_frame, row
from .inputs import SITE, Seen, Sensor

FIELDS = ("dist", "dir", "origin", "point", "normal", "depth")
DONE = ("dist", "dir", "origin", "point", "depth")


def rangefinder(s: Seen, i: Sensor) -> list[Num]:
    """Distance [m] and depth are -1, and the direction and the point zeros, where the ray meets nothing."""
    frame, body = s.frame(SITE, i.obj)
    along, nearest = frame.mat.columns()[2], Num(FAR)
    for g in range(s.model.ngeom):
        if s.model.geom_drawn[g] and int(s.model.geom_bodyid[g]) != body:
            geom = geom_frame(s.model, s.smooth.kinematics, g)
            back, shape = geom.mat.transposed(), int(s.model.geom_type[g])
            own = distance(shape, row(s.model.geom_size, g), back @ (frame.pos - geom.pos), back @ along)
            nearest = minimum(nearest, own)
    met = nearest < FAR
    far = where(met, nearest, -1.0)
    told = {
        "dist": [far],
        "dir": [where(met, x, 0.0, nearest) for x in along],
        "origin": frame.pos,
        "point": [where(met, x, 0.0, nearest) for x in frame.pos + along * nearest],
        "depth": [far],
    }
    return [x for bit, name in enumerate(FIELDS) if i.asked[0] >> bit & 1 for x in told[name]]
