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

from ..algebra.scalar import ZERO, Num, absolute, both, maximum, nums, where
from ..algebra.vector import Vec
from ..collision.ray import meets
from ..constraint.contact import Contact
from ..constraint.contact_list import Row
from ..forward import Forward
from ..stages.kinematics import Frame


def touch(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """The sum of the normal forces on a body of contacts whose normals meet a shape."""
    found, bodies = ZERO, f.model.geom_bodyid
    back = frame.mat.transposed()
    for c, forces in zip(f.constraints, f.solution.forces, strict=True):
        if isinstance(c.of, Contact):
            first, second = int(bodies[c.of.candidate.first]), int(bodies[c.of.candidate.second])
            if body in (first, second):
                normal = back @ (-c.of.axes[0] if body == second else c.of.axes[0])
                start = back @ (c.of.touch.point - frame.pos)
                found = found + where(meets(shape, size, start, normal), maximum(forces[0], 0.0), 0.0, forces[0])
    return found + _of_list(f, frame, shape, size, body)


def _of_list(f: Forward, frame: Frame, shape: int, size: Sequence[Num], body: int) -> Num:
    """The same of the contacts that are listed, edge by edge of their pyramids."""
    rows, x = f.listed, f.solution.acceleration
    bodies = [[int(f.model.geom_bodyid[g]) for g in (c.first, c.second)] for c in rows.pairs] if rows else []
    if rows is None or not any(body in pair for pair in bodies):
        return ZERO
    pushes = rows.rows.push
    # On which side of a pair the body is, if on any, and how rows lie: a friction's two edges are side by side.
    sides = jnp.array([{0: -1.0, 1: 1.0}[pair.index(body)] if body in pair else 0.0 for pair in bodies], pushes.dtype)
    rubs = max(c.condim for c in rows.pairs) > 1
    twins = pushes.reshape(-1, 2, pushes.shape[1])[:, ::-1].reshape(pushes.shape) if rubs else pushes
    back = frame.mat.transposed()

    def add(found: jax.Array, row: Row, twin: jax.Array) -> jax.Array:
        push = nums(row.push)
        normal = Vec(*(0.5 * (a + b) for a, b in zip(push[4:7], nums(twin)[4:7], strict=True)))
        side = Num(sides[row.push[0].astype(jnp.int32)])
        met = meets(shape, size, back @ (Vec(*push[1:4]) - frame.pos), back @ (normal * -side))
        force = row.force(x)
        return (Num(found) + where(both(met, absolute(side) > 0.0), force, 0.0, force)).value

    return Num(rows.summed(add, jnp.zeros((), rows.dtype), twins))
