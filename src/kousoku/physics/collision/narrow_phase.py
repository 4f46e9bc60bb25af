"""Which pairs of shapes can touch: the table of the functions that find where.

References:
    MuJoCo documentation, Computation, "Collision detection".
"""

from __future__ import annotations

from .box_box import box_box
from .capsule_box import capsule_box
from .capsule_capsule import capsule_capsule
from .capsule_cylinder import capsule_cylinder
from .geom import Geom, Pair, Shape, Touch
from .planes import plane_box, plane_capsule, plane_cylinder, plane_ellipsoid, plane_sphere
from .sphere_box import sphere_box
from .sphere_ellipsoid import sphere_ellipsoid
from .spheres import sphere_capsule, sphere_cylinder, sphere_sphere

__all__ = ["PAIRS", "Geom", "Pair", "Shape", "Touch"]

PAIRS: dict[tuple[Shape, Shape], Pair] = {
    (Shape.PLANE, Shape.SPHERE): plane_sphere,
    (Shape.PLANE, Shape.CAPSULE): plane_capsule,
    (Shape.PLANE, Shape.ELLIPSOID): plane_ellipsoid,
    (Shape.PLANE, Shape.CYLINDER): plane_cylinder,
    (Shape.PLANE, Shape.BOX): plane_box,
    (Shape.SPHERE, Shape.SPHERE): sphere_sphere,
    (Shape.SPHERE, Shape.CAPSULE): sphere_capsule,
    (Shape.SPHERE, Shape.ELLIPSOID): sphere_ellipsoid,
    (Shape.SPHERE, Shape.CYLINDER): sphere_cylinder,
    (Shape.SPHERE, Shape.BOX): sphere_box,
    (Shape.CAPSULE, Shape.CAPSULE): capsule_capsule,
    (Shape.CAPSULE, Shape.CYLINDER): capsule_cylinder,
    (Shape.CAPSULE, Shape.BOX): capsule_box,
    (Shape.BOX, Shape.BOX): box_box,
}
