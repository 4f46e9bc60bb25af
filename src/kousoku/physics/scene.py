"""The picture of a mechanism, for `kousoku.core.scene3d`: its geoms and tendons as data, and where its bodies are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.scene3d import WORLD, Body3d, Geom
from .algebra.scalar import nums, to_array
from .contacts import contacts_of
from .cords import SHOWN_GROUPS, cords, free_points, num_free_points
from .forward import Forward
from .model import Model
from .stages.joints import JointType, joints, moving_ancestor
from .stages.kinematics import kinematics

Positions = Float[Array, " nq"] | Float[np.ndarray, " nq"]

SHAPES = {0: "plane", 2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box"}
"""Of MuJoCo's mjtGeom those that there is a picture of."""


def body3d(model: Model, name: str = "") -> Body3d:
    """Returns the geoms and spatial tendons that MuJoCo shows: groups 0 to 2, unless they are transparent.

    A robot that shows nothing but meshes, of which there is no picture, is drawn by the geoms that it is touched by.
    Frame i is body i + 1: the world, body 0, needs none. Behind them are frames of points of the tendons.

    References:
        MuJoCo documentation, XML reference, body/geom: group, rgba.
    """
    names, file = dict(model.names), model.of_file()
    geoms = _shown(_geoms(model, np.asarray(model.geom_rgba, np.float64), names["geom"]))
    return Body3d(geoms, name, cords(file, file.tendon_rgba, names["tendon"], model.nbody - 1), _jointed(model))


def compiled_body3d(compiled: Any, name: str = "") -> Body3d:
    """Returns the geoms and tendons of a model of C MuJoCo, as `body3d` does of ours, but with frames of bodies alone.

    So nothing is drawn between two sites of a tendon with a geom between them, and what hangs slack is straight.

    Args:
        compiled: a `mujoco.MjModel`.
        name: any text.
    """
    from .mjcf.compiler import element_name
    from .mjcf.load import colors

    names = [element_name(compiled, "geom", i) for i in range(compiled.ngeom)]
    tendons = [element_name(compiled, "tendon", i) for i in range(compiled.ntendon)]
    geoms = _shown(_geoms(compiled, colors(compiled, "geom"), names))
    return Body3d(geoms, name, cords(compiled, colors(compiled, "tendon"), tendons, None), _jointed(compiled))


def poses(model: Model, qpos: Positions) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
    """Returns positions and quaternions (w, x, y, z) of the bodies but for the world, then of points of tendons."""
    k = kinematics(model, nums(qpos))
    frames, points = k.bodies[1:], free_points(model, k, qpos.dtype)
    positions = to_array([number for frame in frames for number in frame.pos], qpos.dtype).reshape(len(frames), 3)
    quaternions = to_array([number for frame in frames for number in frame.quat], qpos.dtype).reshape(len(frames), 4)
    if not len(points):
        return positions, quaternions
    identity = jnp.tile(jnp.array([1.0, 0.0, 0.0, 0.0], qpos.dtype), (len(points), 1))
    return jnp.concatenate([positions, points]), jnp.concatenate([quaternions, identity])


def num_frames(model: Model) -> int:
    """Returns how many frames `poses` tells."""
    return model.nbody - 1 + num_free_points(model)


def joint_values(model: Model, qpos: Positions) -> dict[str, Any]:
    """Returns metres of slides and radians of hinges by the joint's name; of a free joint x, y and z."""
    names = dict(model.names)["joint"]
    found: dict[str, Any] = {}
    for j in joints(model):
        name = names[j.id] or f"joint {j.id}"
        if j.type in (JointType.SLIDE, JointType.HINGE):
            found[name] = qpos[j.qposadr]
        elif j.type == JointType.FREE:
            found |= {f"{name} {axis}": qpos[j.qposadr + i] for i, axis in enumerate("xyz")}
    return found


def contacts3d(f: Forward) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
    """Returns where geoms touch and with which force.

    The force is on the second one's body, or on the first one's if the second is fixed.

    Points are in the world, NaN where nothing touches; forces in newtons, in the world's axes.

    References:
        MuJoCo documentation, API reference, mj_contactForce.
    """
    found = contacts_of(f)
    sides = [1.0 if moving_ancestor(f.model, int(f.model.geom_bodyid[second])) else -1.0 for _, second in found.geoms]
    forces = found.world_force * jnp.asarray(sides, found.world_force.dtype).reshape(-1, 1)
    active = found.active[:, None]
    return jnp.where(active, found.position, jnp.nan), jnp.where(active, forces, jnp.nan)


def _jointed(model: Any) -> tuple[int, ...]:
    """Returns the frames of bodies that have joints, or hang on one that has."""
    moved = {int(body) for body in model.jnt_bodyid}
    for body in range(1, model.nbody):
        if int(model.body_parentid[body]) in moved:
            moved.add(body)
    return tuple(body - 1 for body in sorted(moved))


def _geoms(model: Any, colors: Float[np.ndarray, "ngeom 4"], names: Sequence[str]) -> list[tuple[Geom, int]]:
    """Returns what there is a picture of and is not transparent, each geom with its group."""
    shown = (i for i in range(model.ngeom) if int(model.geom_type[i]) in SHAPES and colors[i, 3] > 0.0)
    return [(_geom(model, i, colors[i], names[i]), int(model.geom_group[i])) for i in shown]


def _shown(geoms: Sequence[tuple[Geom, int]]) -> tuple[Geom, ...]:
    """Returns the geoms of the groups that MuJoCo shows; those of all groups if none of the shown ones can move."""
    shown = tuple(geom for geom, group in geoms if group < SHOWN_GROUPS)
    moves = any(geom.frame != WORLD for geom in shown)
    return shown if moves else tuple(geom for geom, _ in geoms)


def _geom(model: Any, geom: int, color: Float[np.ndarray, "4"], name: str) -> Geom:
    body = int(model.geom_bodyid[geom])
    return Geom(
        kind=SHAPES[int(model.geom_type[geom])],
        size=_triple(model.geom_size[geom]),
        frame=body - 1 if body else WORLD,
        color=tuple(np.clip(color, 0.0, 1.0).tolist()),
        name=name,
        position=_triple(model.geom_pos[geom]),
        quaternion=tuple(np.asarray(model.geom_quat[geom], np.float64).tolist()),
    )


def _triple(values: np.ndarray | Array) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, np.float64).tolist()
    return x, y, z
