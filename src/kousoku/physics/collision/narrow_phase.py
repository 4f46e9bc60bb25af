"""The narrow phase: the collision function of each pair of geom types, MuJoCo's mjCOLLISIONFUNC.

References:
    MuJoCo documentation, Computation, "Collision detection".
"""

from __future__ import annotations

from .box_box import box_box
from .capsule_box import capsule_box
from .capsule_capsule import capsule_capsule
from .capsule_cylinder import capsule_cylinder
from .capsule_ellipsoid import capsule_ellipsoid
from .ellipsoid_ellipsoid import ellipsoid_ellipsoid
from .geom import CollisionFunction, GeomType
from .planes import plane_box, plane_capsule, plane_cylinder, plane_ellipsoid, plane_sphere
from .sphere_box import sphere_box
from .sphere_ellipsoid import sphere_ellipsoid
from .spheres import sphere_capsule, sphere_cylinder, sphere_sphere

COLLISION_FUNCTIONS: dict[tuple[GeomType, GeomType], CollisionFunction] = {
    (GeomType.PLANE, GeomType.SPHERE): plane_sphere,
    (GeomType.PLANE, GeomType.CAPSULE): plane_capsule,
    (GeomType.PLANE, GeomType.ELLIPSOID): plane_ellipsoid,
    (GeomType.PLANE, GeomType.CYLINDER): plane_cylinder,
    (GeomType.PLANE, GeomType.BOX): plane_box,
    (GeomType.SPHERE, GeomType.SPHERE): sphere_sphere,
    (GeomType.SPHERE, GeomType.CAPSULE): sphere_capsule,
    (GeomType.SPHERE, GeomType.ELLIPSOID): sphere_ellipsoid,
    (GeomType.SPHERE, GeomType.CYLINDER): sphere_cylinder,
    (GeomType.SPHERE, GeomType.BOX): sphere_box,
    (GeomType.CAPSULE, GeomType.CAPSULE): capsule_capsule,
    (GeomType.CAPSULE, GeomType.ELLIPSOID): capsule_ellipsoid,
    (GeomType.CAPSULE, GeomType.CYLINDER): capsule_cylinder,
    (GeomType.CAPSULE, GeomType.BOX): capsule_box,
    (GeomType.ELLIPSOID, GeomType.ELLIPSOID): ellipsoid_ellipsoid,
    (GeomType.BOX, GeomType.BOX): box_box,
}
