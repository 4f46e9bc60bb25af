"""What a mechanism looks like, for `kousoku.core.scene3d`: its geoms as data, and where its bodies are."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.scene3d import WORLD, Body3d, Geom
from .algebra.scalar import nums, stacked
from .constraint.jacobian import moving
from .contacts import contacts_of
from .forward import Forward
from .model import Model
from .stages.joints import Kind, joints
from .stages.kinematics import kinematics

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

    Points are in the world, NaN where nothing touches; forces in newtons, in the world's axes.

    References:
        MuJoCo documentation, API reference, mj_contactForce.
    """
    found = contacts_of(f)
    sides = [1.0 if moving(f.model, int(f.model.geom_bodyid[second])) else -1.0 for _, second in found.geoms]
    forces = found.world_force * jnp.asarray(sides, found.world_force.dtype).reshape(-1, 1)
    there = found.active[:, None]
    return jnp.where(there, found.position, jnp.nan), jnp.where(there, forces, jnp.nan)


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
