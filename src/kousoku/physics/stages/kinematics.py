"""Frames of bodies, joints, geoms and sites from joint positions (mj_kinematics).

References:
    MuJoCo documentation, Computation, "Kinematic tree" and stage 1 of the forward dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..algebra.scalar import Num, nums, row, to_array
from ..algebra.vector import IDENTITY, ZERO3, Mat, Quat, Vec, axis_angle_quat, quat, vec
from ..model import Model
from .joints import JointType, body_joints


@dataclass(frozen=True)
class Frame:
    """A position and orientation in the world.

    Attributes:
        pos: the origin, metres.
        quat, mat: the orientation, as a quaternion and as a matrix whose columns are the frame's axes.
    """

    pos: Vec
    quat: Quat
    mat: Mat

    def transform(self, local: Vec) -> Vec:
        """Returns the point of the world that is `local` in the frame."""
        return self.pos + self.mat @ local


def pack_frame(frame: Frame, dtype: Any) -> jax.Array:
    """Returns a frame as one array [12]: its origin, then the rows of its matrix."""
    return to_array([*frame.pos, *(x for row in frame.mat for x in row)], dtype)


def unpack_frame(values: jax.Array) -> Frame:
    """Returns the frame of an array [12] of `pack_frame`, but for its quaternion, which is not in the array."""
    v = nums(values)
    return Frame(Vec(*v[:3]), IDENTITY, Mat(Vec(*v[3:6]), Vec(*v[6:9]), Vec(*v[9:12])))


WORLD_FRAME = Frame(ZERO3, IDENTITY, IDENTITY.matrix())


@dataclass(frozen=True)
class Kinematics:
    """Frames in the world, of which mjData has xpos, xquat, xmat and the like.

    Attributes:
        bodies: xpos, xquat, xmat of each body, the world first [nbody].
        inertial: xipos, ximat: each body's centre of mass, along its principal axes [nbody].
        xanchor, xaxis: anchor and axis of each joint, before the joints after it move its body [njnt].
    """

    bodies: list[Frame]
    inertial: list[Frame]
    xanchor: list[Vec]
    xaxis: list[Vec]


def kinematics(model: Model, qpos: Sequence[Num]) -> Kinematics:
    """Returns frames of bodies and joints at the joint positions `qpos` [nq]; MuJoCo's mj_kinematics."""
    bodies = [WORLD_FRAME]
    xanchor: list[Vec] = [ZERO3] * model.njnt
    xaxis: list[Vec] = [ZERO3] * model.njnt
    for body in range(1, model.nbody):
        bodies.append(_body_frame(model, body, qpos, bodies[int(model.body_parentid[body])], xanchor, xaxis))
    inertial = [
        child_frame(frame, vec(row(model.body_ipos, i)), quat(row(model.body_iquat, i)))
        for i, frame in enumerate(bodies)
    ]
    return Kinematics(bodies, inertial, xanchor, xaxis)


def child_frame(parent: Frame, pos: Vec, turn: Quat) -> Frame:
    """Returns the frame that is at `pos`, turned by `turn`, in a parent frame."""
    own = parent.quat * turn
    return Frame(parent.transform(pos), own, parent.mat if _is_identity(turn) else own.matrix())


def geom_frame(model: Model, k: Kinematics, geom: int) -> Frame:
    """Returns a geom's frame: mjData's geom_xpos and geom_xmat."""
    body = k.bodies[int(model.geom_bodyid[geom])]
    return child_frame(body, vec(row(model.geom_pos, geom)), quat(row(model.geom_quat, geom)))


def site_frame(model: Model, k: Kinematics, site: int) -> Frame:
    """Returns a site's frame: mjData's site_xpos and site_xmat."""
    body = k.bodies[int(model.site_bodyid[site])]
    return child_frame(body, vec(row(model.site_pos, site)), quat(row(model.site_quat, site)))


def _is_identity(turn: Quat) -> bool:
    return turn.w.is_known(1.0) and all(part.is_known(0.0) for part in turn[1:])


def _body_frame(
    model: Model, body: int, qpos: Sequence[Num], parent: Frame, xanchor: list[Vec], xaxis: list[Vec]
) -> Frame:
    """Returns the frame of a body, moved by its joints one after the other; writes their anchors and axes."""
    pos = parent.transform(vec(row(model.body_pos, body)))
    turn = parent.quat * _unit(quat(row(model.body_quat, body)))
    for j in body_joints(model, body):
        axis = vec(row(model.jnt_axis, j.id))
        if j.type == JointType.FREE:
            pos, turn = vec(qpos[j.qposadr : j.qposadr + 3]), quat(qpos[j.qposadr + 3 : j.qposadr + 7]).normalised()
            xanchor[j.id], xaxis[j.id] = pos, axis
            continue
        offset, mat = vec(row(model.jnt_pos, j.id)), turn.matrix()
        xanchor[j.id], xaxis[j.id] = pos + mat @ offset, mat @ axis
        if j.type == JointType.SLIDE:
            pos = pos + xaxis[j.id] * _displacement(model, qpos, j.qposadr)
            continue
        if j.type == JointType.BALL:
            turn = turn * quat(qpos[j.qposadr : j.qposadr + 4]).normalised()
        else:
            turn = turn * axis_angle_quat(axis, _displacement(model, qpos, j.qposadr))
        pos = xanchor[j.id] - turn.matrix() @ offset
    return Frame(pos, turn, turn.matrix())


def _unit(turn: Quat) -> Quat:
    """Returns a quaternion of length one; those of a file are, and need not be made so."""
    return turn if all(part.known for part in turn) else turn.normalised()


def _displacement(model: Model, qpos: Sequence[Num], address: int) -> Num:
    """Returns qpos - qpos0 of a slide or hinge, metres or radians."""
    return qpos[address] - nums(model.qpos0)[address]
