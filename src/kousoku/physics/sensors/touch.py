"""Touch sensors: the normal forces of contacts whose normals pass through a site.

MuJoCo follows each contact's normal, from the point of contact towards the sensor's body, and counts the contact if the
ray meets the site's shape.

References:
    MuJoCo documentation, XML reference, sensor/touch.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from ..algebra.scalar import ZERO, Num, absolute, logical_and, maximum, nums, where
from ..algebra.vector import Vec
from ..collision.ray import ray_hits
from ..constraint.contact import Contact
from ..constraint.contact_list import ContactRow
from ..forward import Forward
from ..stages.kinematics import Frame


def touch(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """Returns the sum of the normal forces [N] on a body, of contacts whose normals meet a shape.

    Args:
        f: the forward dynamics.
        frame, shape, size: the shape: its frame, mjtGeom and size.
        body: the body.
    """
    found, bodies = ZERO, f.model.geom_bodyid
    to_local = frame.mat.transpose()
    for c, forces in zip(f.constraints, f.solution.efc_force, strict=True):
        if isinstance(c.source, Contact):
            first, second = int(bodies[c.source.candidate.geom1]), int(bodies[c.source.candidate.geom2])
            if body in (first, second):
                normal = to_local @ (-c.source.frame[0] if body == second else c.source.frame[0])
                start = to_local @ (c.source.point.pos - frame.pos)
                found = found + where(ray_hits(shape, size, start, normal), maximum(forces[0], 0.0), 0.0)
    return found + _listed(f, frame, shape, size, body)


def _listed(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """Returns the same sum of the contacts that are listed, edge by edge of their pyramids."""
    listed, qacc = f.contact_list, f.solution.qacc
    bodies = [[int(f.model.geom_bodyid[g]) for g in (c.geom1, c.geom2)] for c in listed.pairs] if listed else []
    if listed is None or not any(body in pair for pair in bodies):
        return ZERO
    wrenches = listed.rows.wrench
    # On which side of a pair the body is, if on any, and how rows lie: a friction's two edges are side by side.
    sides = jnp.array([{0: -1.0, 1: 1.0}[pair.index(body)] if body in pair else 0.0 for pair in bodies], wrenches.dtype)
    has_friction = max(c.condim for c in listed.pairs) > 1
    twins = wrenches.reshape(-1, 2, wrenches.shape[1])[:, ::-1].reshape(wrenches.shape) if has_friction else wrenches
    to_local = frame.mat.transpose()

    def add(found: jax.Array, row: ContactRow, twin: jax.Array) -> jax.Array:
        wrench = nums(row.wrench)
        normal = Vec(*(0.5 * (a + b) for a, b in zip(wrench[4:7], nums(twin)[4:7], strict=True)))
        side = Num(sides[row.wrench[0].astype(jnp.int32)])
        hit = ray_hits(shape, size, to_local @ (Vec(*wrench[1:4]) - frame.pos), to_local @ (normal * -side))
        force = row.force(qacc)
        return (Num(found) + where(logical_and(hit, absolute(side) > 0.0), force, 0.0)).value

    return Num(listed.reduce(add, jnp.zeros((), listed.dtype), twins))
