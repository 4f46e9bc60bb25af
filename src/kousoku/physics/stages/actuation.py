"""Actuators: from commands to generalised forces (mj_transmission, mj_fwdActuation).

force = gain * (control or activation) + bias, each clipped to its range where the model says so.

References:
    MuJoCo documentation, Computation, "Actuation model".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from ..algebra.scalar import (
    MINVAL,
    ZERO,
    Num,
    absolute,
    clip,
    exp,
    floor,
    logical_and,
    maximum,
    row,
    sqrt,
    total,
    where,
)
from ..algebra.vector import IDENTITY, Vec, quat, sub_quat, vec
from ..model import Model
from .com_pos import ComPos
from .joints import JointType, ancestors, joint, joints, last_dof
from .kinematics import Frame, Kinematics, site_frame
from .muscle import muscle_bias, muscle_dynamics, muscle_gain
from .tendon import Tendon


class TransmissionType(IntEnum):
    """MuJoCo's mjtTrn, as far as it is supported."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    TENDON = 3
    SITE = 4


class DynamicsType(IntEnum):
    """MuJoCo's mjtDyn, as far as it is supported."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTER_EXACT = 3
    MUSCLE = 4


FIXED, AFFINE, MUSCLE = range(3)
"""MuJoCo's mjtGain, as far as it is supported; of mjtBias the first is none."""


@dataclass(frozen=True)
class Actuation:
    """The forces of the actuators, by the names of MuJoCo's mjData.

    Attributes:
        length, velocity: actuator_length and actuator_velocity: of what each actuator pulls at, times its gear [nu].
        force: actuator_force [nu].
        qfrc_actuator: generalised forces [nv].
        act_dot: rates of change of the activations [na].
        moment: actuator_moment: of each actuator, by degree of freedom [nu].
        force_vel: derivative of each actuator's force with respect to its velocity [nu].
    """

    length: list[Num]
    velocity: list[Num]
    force: list[Num]
    qfrc_actuator: list[Num]
    act_dot: list[Num]
    moment: list[dict[int, Num]]
    force_vel: list[Num]


def actuation(
    model: Model,
    k: Kinematics,
    com: ComPos,
    tendons: list[Tendon],
    qpos: Sequence[Num],
    qvel: Sequence[Num],
    act: Sequence[Num],
    ctrl: Sequence[Num],
) -> Actuation:
    """Returns forces of all actuators for the activations `act` [na] and commands `ctrl` [nu]."""
    lengths, velocities, forces, moments, force_vels = [], [], [], [], []
    act_dot = [ZERO] * model.na
    qfrc = [ZERO] * model.nv
    for i in range(model.nu):
        length, moment = transmission(model, k, com, tendons, qpos, i)
        velocity = total(arm * qvel[d] for d, arm in moment.items())
        command = ctrl[i]
        if model.actuator_ctrllimited[i] and not model.no_clampctrl:
            command = clip(command, *row(model.actuator_ctrlrange, i))
        if model.actuator_dyntype[i] != DynamicsType.NONE:
            address = int(model.actuator_actadr[i]) + int(model.actuator_actnum[i]) - 1
            act_dot[address] = ZERO if model.no_actuation else _act_dot(model, i, command, act[address])
            early = model.actuator_actearly[i]
            signal = next_activation(model, i, act[address], act_dot[address]) if early else act[address]
        else:
            signal = command
        force, force_vel = _force(model, i, signal, length, velocity)
        lengths.append(length)
        velocities.append(velocity)
        forces.append(force)
        moments.append(moment)
        force_vels.append(force_vel)
        for d, arm in moment.items():
            qfrc[d] = qfrc[d] + arm * force
    _clip_joint_forces(model, qfrc, force_vels)
    return Actuation(lengths, velocities, forces, qfrc, act_dot, moments, force_vels)


def _clip_joint_forces(model: Model, qfrc: list[Num], force_vels: list[Num]) -> None:
    """Clips the sum of the actuators' forces on each joint to its `actfrcrange`, in place."""
    for j in joints(model):
        if model.jnt_actfrclimited[j.id] and j.type in (JointType.SLIDE, JointType.HINGE):
            unclipped, ends = qfrc[j.dofadr], row(model.jnt_actfrcrange, j.id)
            qfrc[j.dofadr] = clip(unclipped, *ends)
            for i, kind in enumerate(model.actuator_trntype):
                on_joint = kind in (TransmissionType.JOINT, TransmissionType.JOINT_IN_PARENT)
                if on_joint and model.actuator_trnid[i][0] == j.id:
                    force_vels[i] = _clip_force(unclipped, force_vels[i], ends)[1]


def _force(model: Model, i: int, signal: Num, length: Num, velocity: Num) -> tuple[Num, Num]:
    """Returns an actuator's force, and its derivative with respect to the velocity."""
    gain, bias = row(model.actuator_gainprm, i), row(model.actuator_biasprm, i)
    factor, force_vel = gain[0], ZERO
    if model.actuator_gaintype[i] == AFFINE:
        factor = factor + gain[1] * length + gain[2] * velocity
        force_vel = gain[2] * signal
    if model.actuator_gaintype[i] == MUSCLE:
        factor, factor_vel = muscle_gain(model, i, length, velocity)
        force_vel = factor_vel * signal
    force = factor * _nearest_turn(model, i, signal, length)
    if model.actuator_biastype[i] == MUSCLE:
        force = force + muscle_bias(model, i, length)
    if model.actuator_biastype[i] == AFFINE:
        force = force + bias[0] + bias[1] * length + bias[2] * velocity
        force_vel = force_vel + bias[2]
    if model.actuator_forcelimited[i]:
        force, force_vel = _clip_force(force, force_vel, row(model.actuator_forcerange, i))
    return force, force_vel


def _angle_gears(model: Model, i: int) -> tuple[slice, slice] | None:
    """Returns which parts of an actuator's gear count translations and turns, where its length may be an angle.

    On a ball joint, and from site to site, lengths tell angles: those that are a whole turn apart tell the same one.
    """
    kind, (target, reference) = model.actuator_trntype[i], model.actuator_trnid[i]
    on_joint = kind in (TransmissionType.JOINT, TransmissionType.JOINT_IN_PARENT)
    if on_joint and model.jnt_type[target] == JointType.BALL:
        return slice(0, 0), slice(0, 3)
    return (slice(0, 3), slice(3, 6)) if kind == TransmissionType.SITE and reference >= 0 else None


def _turn_length(model: Model, i: int) -> Num:
    """Returns the length of a whole turn of an actuator that is a servo of an angle; 0 of others.

    A servo's bias takes back what its gain gives; MuJoCo recognises servos so too.
    """
    parts = _angle_gears(model, i)
    if parts is None or model.actuator_gaintype[i] != FIXED or model.actuator_biastype[i] != AFFINE:
        return ZERO
    straight, turns = (total(g * g for g in row(model.actuator_gear, i)[part]) for part in parts)
    difference = absolute(row(model.actuator_gainprm, i)[0] + row(model.actuator_biasprm, i)[1])
    servo = logical_and(logical_and(straight <= 0.0, turns > 0.0), difference <= 0.0)
    return where(servo, 2.0 * math.pi * sqrt(where(turns > 0.0, turns, 1.0)), 0.0)


def _nearest_turn(model: Model, i: int, target: Num, length: Num) -> Num:
    """Returns the target of a servo of an angle plus the whole turns that bring it nearest to the length.

    Any other actuator's target is returned as it is.
    """
    period = _turn_length(model, i)
    if period.is_known(0.0):
        return target
    turning = period > 0.0
    turns = floor((target - length) / where(turning, period, 1.0) + 0.5)
    return target - where(turning, period * turns, 0.0)


def _clip_force(force: Num, force_vel: Num, ends: list[Num]) -> tuple[Num, Num]:
    """Returns a force within its range, and its derivative, which is zero at the range's ends."""
    inside = logical_and(force > ends[0], force < ends[1])
    return clip(force, *ends), where(inside, force_vel, 0.0)


def _act_dot(model: Model, i: int, command: Num, activation: Num) -> Num:
    if model.actuator_dyntype[i] == DynamicsType.INTEGRATOR:
        return command
    if model.actuator_dyntype[i] == DynamicsType.MUSCLE:
        return muscle_dynamics(model, i, command, activation)
    difference = _nearest_turn(model, i, command, activation) - activation
    return difference / maximum(row(model.actuator_dynprm, i)[0], MINVAL)


def next_activation(model: Model, i: int, activation: Num, act_dot: Num) -> Num:
    """Returns actuator i's activation after a time step; MuJoCo's mj_nextActivation."""
    step = Num(model.timestep)
    if model.actuator_dyntype[i] == DynamicsType.FILTER_EXACT:
        tau = maximum(row(model.actuator_dynprm, i)[0], MINVAL)
        step = tau * (1.0 - exp(-(step / tau)))
    activation = activation + act_dot * step
    return clip(activation, *row(model.actuator_actrange, i)) if model.actuator_actlimited[i] else activation


def next_activations(model: Model, act: Sequence[Num], act_dot: Sequence[Num], length: Sequence[Num]) -> list[Num]:
    """Returns all activations [na] after a time step; the same ones where actuation is disabled.

    Targets of servos of angles do not wind up: each stays within half a turn of the actuator's length [nu].
    """
    found = list(act)
    if model.no_actuation:
        return found
    for i in range(model.nu):
        address = int(model.actuator_actadr[i])
        if address >= 0:
            address += int(model.actuator_actnum[i]) - 1
            found[address] = next_activation(model, i, found[address], act_dot[address])
            found[address] = _nearest_turn(model, i, found[address], length[i])
    return found


def actuators_of(model: Any, tendon: int) -> list[int]:
    """Returns the actuators that pull at a tendon, of a model of ours or of MuJoCo's."""
    return np.flatnonzero(
        (model.actuator_trntype == TransmissionType.TENDON) & (model.actuator_trnid[:, 0] == tendon)
    ).tolist()


def transmission(
    model: Model, k: Kinematics, com: ComPos, tendons: list[Tendon], qpos: Sequence[Num], i: int
) -> tuple[Num, dict[int, Num]]:
    """Returns actuator i's length, and its moment by degree of freedom; MuJoCo's mj_transmission."""
    kind, target, gear = model.actuator_trntype[i], int(model.actuator_trnid[i][0]), row(model.actuator_gear, i)
    if kind == TransmissionType.TENDON:
        tendon = tendons[target]
        return gear[0] * tendon.length, {d: gear[0] * arm for d, arm in tendon.jac.items()}
    if kind == TransmissionType.SITE:
        reference = int(model.actuator_trnid[i][1])
        if reference >= 0:
            return _between_sites(model, k, com, target, reference, gear)
        frame = site_frame(model, k, target)
        return ZERO, _site_moment(model, com, target, frame, frame, gear)
    j = joint(model, target)
    if j.type in (JointType.SLIDE, JointType.HINGE):
        return gear[0] * qpos[j.qposadr], {j.dofadr: gear[0]}
    first = j.qposadr + (3 if j.type == JointType.FREE else 0)
    turn = quat(qpos[first : first + 4]).normalised()
    axis = vec(gear[first - j.qposadr : first - j.qposadr + 3])
    axis = turn.inverse().matrix() @ axis if kind == TransmissionType.JOINT_IN_PARENT else axis
    if j.type == JointType.BALL:
        return sub_quat(turn, IDENTITY).dot(axis), dict(zip(j.dofs, axis, strict=True))
    return ZERO, dict(zip(j.dofs, [*gear[:3], *axis], strict=True))


def _site_moment(model: Model, com: ComPos, site: int, frame: Frame, axes: Frame, gear: list[Num]) -> dict[int, Num]:
    """Returns the moment of a force and torque `gear` at a site, along the axes of a frame, by degree of freedom."""
    body = int(model.site_bodyid[site])
    force, torque = axes.mat @ Vec(*gear[:3]), axes.mat @ Vec(*gear[3:6])
    arm = frame.pos - com.subtree_com[int(model.body_rootid[body])]
    return {
        d: com.cdof[d].rot.dot(torque + arm.cross(force)) + com.cdof[d].lin.dot(force)
        for d in ancestors(model, last_dof(model, body))
    }


def _between_sites(
    model: Model, k: Kinematics, com: ComPos, site: int, reference: int, gear: list[Num]
) -> tuple[Num, dict[int, Num]]:
    """Returns length and moment of a site's pose in the axes of another, without what moves both."""
    frame, axes = site_frame(model, k, site), site_frame(model, k, reference)
    offset = axes.mat.transpose() @ (frame.pos - axes.pos)
    length = offset.dot(Vec(*gear[:3])) + sub_quat(frame.quat, axes.quat).dot(Vec(*gear[3:6]))
    near = _site_moment(model, com, site, frame, axes, gear)
    far = _site_moment(model, com, reference, axes, axes, gear)
    moment = {d: arm for d, arm in near.items() if d not in far}
    return length, moment | {d: -arm for d, arm in far.items() if d not in near}
