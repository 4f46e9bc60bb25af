"""Where everything is: frames of bodies, joints, geoms and sites from joint positions.

References:
    MuJoCo documentation, Computation, "Kinematic tree" and stage 1 of the forward dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..algebra.scalar import ZERO, Num, cos, nums, sin
from ..algebra.vector import NOWHERE, UNTURNED, Mat, Quat, Vec, quat, vec
from ..model import Model
from .joints import Kind, joints_of


@dataclass(frozen=True)
class Frame:
    """A place and a direction in the world."""

    pos: Vec
    quat: Quat
    mat: Mat

    def point(self, local: Vec) -> Vec:
        """A point of the frame in the world."""
        return self.pos + self.mat @ local


WORLD = Frame(NOWHERE, UNTURNED, UNTURNED.matrix())


@dataclass(frozen=True)
class Kinematics:
    """Frames in the world.

    Attributes:
        bodies: one for each body, the world first.
        inertial: each body's centre of mass, along its principal axes.
        anchors, axes: of each joint, before the joints after it move its body.
    """

    bodies: list[Frame]
    inertial: list[Frame]
    anchors: list[Vec]
    axes: list[Vec]


def row(array: Any, i: int) -> list[Num]:
    """A row of a model's number, known or not."""
    return nums(array[i])


def kinematics(model: Model, qpos: Sequence[Num]) -> Kinematics:
    """Frames of bodies and joints at the joint positions `qpos` [nq]."""
    bodies = [WORLD]
    anchors: list[Vec] = [NOWHERE] * model.njnt
    axes: list[Vec] = [NOWHERE] * model.njnt
    for body in range(1, model.nbody):
        bodies.append(_body(model, body, qpos, bodies[int(model.body_parentid[body])], anchors, axes))
    inertial = [
        attached(frame, vec(row(model.body_ipos, i)), quat(row(model.body_iquat, i))) for i, frame in enumerate(bodies)
    ]
    return Kinematics(bodies, inertial, anchors, axes)


def attached(frame: Frame, pos: Vec, turn: Quat) -> Frame:
    """A frame that is fixed in another."""
    own = frame.quat * turn
    return Frame(frame.point(pos), own, frame.mat if _is_unturned(turn) else own.matrix())


def geom_frame(model: Model, k: Kinematics, geom: int) -> Frame:
    """A geom's frame."""
    body = k.bodies[int(model.geom_bodyid[geom])]
    return attached(body, vec(row(model.geom_pos, geom)), quat(row(model.geom_quat, geom)))


def site_frame(model: Model, k: Kinematics, site: int) -> Frame:
    """A site's frame."""
    body = k.bodies[int(model.site_bodyid[site])]
    return attached(body, vec(row(model.site_pos, site)), quat(row(model.site_quat, site)))


def _is_unturned(turn: Quat) -> bool:
    return turn.w.is_known(1.0) and all(part.is_known(0.0) for part in turn[1:])


def _body(model: Model, body: int, qpos: Sequence[Num], parent: Frame, anchors: list[Vec], axes: list[Vec]) -> Frame:
    """The frame of a body, moved by its joints one after the other."""
    pos = parent.point(vec(row(model.body_pos, body)))
    turn = parent.quat * quat(row(model.body_quat, body))
    for j in joints_of(model, body):
        axis = vec(row(model.jnt_axis, j.id))
        if j.kind == Kind.FREE:
            pos, turn = vec(qpos[j.qpos : j.qpos + 3]), quat(qpos[j.qpos + 3 : j.qpos + 7]).normalised()
            anchors[j.id], axes[j.id] = pos, axis
            continue
        offset, mat = vec(row(model.jnt_pos, j.id)), turn.matrix()
        anchors[j.id], axes[j.id] = pos + mat @ offset, mat @ axis
        if j.kind == Kind.SLIDE:
            pos = pos + axes[j.id] * moved(model, qpos, j.qpos)
            continue
        if j.kind == Kind.BALL:
            turn = turn * quat(qpos[j.qpos : j.qpos + 4]).normalised()
        else:
            turn = turn * about(axis, moved(model, qpos, j.qpos))
        pos = anchors[j.id] - turn.matrix() @ offset
    return Frame(pos, turn, turn.matrix())


def moved(model: Model, qpos: Sequence[Num], place: int) -> Num:
    """How far a slide or hinge is from where the file has it."""
    return qpos[place] - nums(model.qpos0)[place]


def about(axis: Vec, angle: Num) -> Quat:
    """A turn by `angle` radians about a unit axis."""
    if angle.is_known(0.0):
        return UNTURNED
    half = angle * 0.5
    return Quat(cos(half), *(axis * sin(half)))


def zeros(count: int) -> list[Num]:
    """Known zeros."""
    return [ZERO] * count
