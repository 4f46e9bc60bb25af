"""What a mechanism looks like, for `kousoku.core.scene3d`: its geoms as data, and where its bodies are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.scene3d import WORLD, Body3d, Geom
from .constraint.contact import Contact
from .constraint.row import moving
from .forward import Forward
from .joints import Kind, joints
from .kinematics import kinematics
from .model import Model
from .scalar import Num, nums, stacked
from .vector import NOWHERE

Positions = Float[Array, " nq"] | Float[np.ndarray, " nq"]

# MuJoCo's mjtGeom, as far as there is a picture of it.
KINDS = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}
SHOWN_GROUPS = 3


def body3d(model: Model, name: str = "") -> Body3d:
    """The geoms that MuJoCo shows: groups 0 to 2, unless they are transparent.

    Frame i is body i + 1: the world, body 0, needs none.

    References:
        MuJoCo documentation, XML reference, body/geom: group, rgba.
    """
    shown = (geom for geom in range(model.ngeom) if _is_shown(model, geom))
    return Body3d(tuple(_geom(model, geom) for geom in shown), name)


def poses(model: Model, qpos: Positions) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
    """Where the bodies are, but for the world: positions and quaternions (w, x, y, z)."""
    frames = kinematics(model, nums(qpos)).bodies[1:]
    positions = stacked([number for frame in frames for number in frame.pos], qpos.dtype)
    quaternions = stacked([number for frame in frames for number in frame.quat], qpos.dtype)
    return positions.reshape(len(frames), 3), quaternions.reshape(len(frames), 4)


def joint_values(model: Model, qpos: Positions) -> dict[str, Any]:
    """Metres of slides and radians of hinges by the joint's name; of a free joint x, y and z."""
    names = dict(model.names)["joint"]
    found: dict[str, Any] = {}
    for j in joints(model):
        name = names[j.id] or f"joint {j.id}"
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            found[name] = qpos[j.qpos]
        elif j.kind == Kind.FREE:
            found |= {f"{name} {axis}": qpos[j.qpos + i] for i, axis in enumerate("xyz")}
    return found


def contacts3d(f: Forward) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
    """Where geoms touch and with which force: on the second one's body, or on the first one's if the second is fixed.

    Points are in the world, NaN where nothing touches; forces in newtons, in the world's axes. A contact that the
    solver lists is there with each edge of its pyramid.

    References:
        MuJoCo documentation, API reference, mj_contactForce.
    """
    points: list[Num] = []
    forces: list[Num] = []
    there: list[Array] = []
    for c, sizes in zip(f.constraints, f.solution.forces, strict=True):
        if not isinstance(c.of, Contact):
            continue
        side = 1.0 if moving(f.model, int(f.model.geom_bodyid[c.of.candidate.second])) else -1.0
        force = NOWHERE
        for i, size in zip(c.of.used, sizes, strict=False):
            force = force + c.of.axes[i] * (size * side) if i < 3 else force
        points += c.of.touch.point
        forces += force
        there.append(jnp.asarray(c.of.touch.distance - c.of.candidate.margin < 0.0))
    dtype = f.state.qpos.dtype
    touching = jnp.stack(there)[:, None] if there else jnp.zeros((0, 1), bool)
    empty = jnp.asarray(jnp.nan, dtype)
    points3, forces3 = (stacked(part, dtype).reshape(-1, 3) for part in (points, forces))
    found = jnp.where(touching, points3, empty), jnp.where(touching, forces3, empty)
    if f.listed is None:
        return found
    more = f.listed.pushes(stacked(f.solution.acceleration, dtype))
    return jnp.concatenate([found[0], more[0]]), jnp.concatenate([found[1], more[1]])


def _is_shown(model: Model, geom: int) -> bool:
    known = int(model.geom_type[geom]) in KINDS
    return known and int(model.geom_group[geom]) < SHOWN_GROUPS and float(model.geom_rgba[geom][3]) > 0.0


def _geom(model: Model, geom: int) -> Geom:
    body = int(model.geom_bodyid[geom])
    return Geom(
        kind=KINDS[int(model.geom_type[geom])],
        size=_triple(model.geom_size[geom]),
        frame=body - 1 if body else WORLD,
        color=tuple(np.clip(np.asarray(model.geom_rgba[geom], np.float64), 0.0, 1.0).tolist()),
        name=dict(model.names)["geom"][geom],
        position=_triple(model.geom_pos[geom]),
        quaternion=tuple(np.asarray(model.geom_quat[geom], np.float64).tolist()),
    )


def _triple(values: np.ndarray | Array) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, np.float64).tolist()
    return x, y, z
