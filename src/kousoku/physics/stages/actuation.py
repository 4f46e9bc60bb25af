"""Actuators: from commands to generalised forces.

force = gain (control or activation) + bias, each clipped to its range where the model says so.

References:
    MuJoCo documentation, Computation, "Actuation model".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..algebra.scalar import ZERO, Num, absolute, both, clipped, exp, floor, maximum, sqrt, total, where
from ..algebra.vector import UNTURNED, Vec, quat, vec
from ..model import Model
from .dynamics import Tree
from .joints import Kind, ancestors, joint, joints, last_dof
from .kinematics import Frame, Kinematics, row, site_frame
from .passive import SMALLEST, turned
from .tendon import Tendon


class Transmission(IntEnum):
    """MuJoCo's mjtTrn, as far as it is done."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    TENDON = 3
    SITE = 4


class Dynamics(IntEnum):
    """MuJoCo's mjtDyn, as far as it is done."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTER_EXACT = 3


@dataclass(frozen=True)
class Actuation:
    """What the actuators do.

    Attributes:
        length, velocity: of what each actuator pulls at, times its gear [nu].
        force: of each actuator [nu].
        qfrc: generalised forces [nv].
        act_dot: rates of the activations [na].
        moments: of each actuator, by degree of freedom.
        gain_slope: how each actuator's force changes with its velocity [nu].
    """

    length: list[Num]
    velocity: list[Num]
    force: list[Num]
    qfrc: list[Num]
    act_dot: list[Num]
    moments: list[dict[int, Num]]
    gain_slope: list[Num]


def actuation(
    model: Model,
    k: Kinematics,
    t: Tree,
    tendons: list[Tendon],
    qpos: Sequence[Num],
    qvel: Sequence[Num],
    act: Sequence[Num],
    ctrl: Sequence[Num],
) -> Actuation:
    """Forces of all actuators for the commands `ctrl` [nu]."""
    lengths, velocities, forces, moments, slopes = [], [], [], [], []
    act_dot = [ZERO] * model.na
    qfrc = [ZERO] * model.nv
    for i in range(model.nu):
        length, moment = transmission(model, k, t, tendons, qpos, i)
        velocity = total(arm * qvel[d] for d, arm in moment.items())
        command = ctrl[i]
        if model.actuator_ctrllimited[i] and not model.no_clampctrl:
            command = clipped(command, *row(model.actuator_ctrlrange, i))
        if model.actuator_dyntype[i] != Dynamics.NONE:
            place = int(model.actuator_actadr[i]) + int(model.actuator_actnum[i]) - 1
            act_dot[place] = _rate(model, i, command, act[place])
            early = model.actuator_actearly[i]
            given = next_activation(model, i, act[place], act_dot[place]) if early else act[place]
        else:
            given = command
        force, slope = _force(model, i, given, length, velocity)
        lengths.append(length)
        velocities.append(velocity)
        forces.append(force)
        moments.append(moment)
        slopes.append(slope)
        for d, arm in moment.items():
            qfrc[d] = qfrc[d] + arm * force
    for j in joints(model):
        if model.jnt_actfrclimited[j.id] and j.kind in (Kind.SLIDE, Kind.HINGE):
            given, ends = qfrc[j.dof], row(model.jnt_actfrcrange, j.id)
            qfrc[j.dof] = clipped(given, *ends)
            for i, kind in enumerate(model.actuator_trntype):
                if kind in (Transmission.JOINT, Transmission.JOINT_IN_PARENT) and model.actuator_trnid[i][0] == j.id:
                    slopes[i] = _limited(given, slopes[i], ends)[1]
    return Actuation(lengths, velocities, forces, qfrc, act_dot, moments, slopes)


def _force(model: Model, i: int, given: Num, length: Num, velocity: Num) -> tuple[Num, Num]:
    """An actuator's force, and how it changes with the velocity."""
    gain, bias = row(model.actuator_gainprm, i), row(model.actuator_biasprm, i)
    factor, slope = gain[0], ZERO
    if model.actuator_gaintype[i] == 1:
        factor = factor + gain[1] * length + gain[2] * velocity
        slope = gain[2] * given
    force = factor * _nearest(model, i, given, length)
    if model.actuator_biastype[i] == 1:
        force = force + bias[0] + bias[1] * length + bias[2] * velocity
        slope = slope + bias[2]
    if model.actuator_forcelimited[i]:
        force, slope = _limited(force, slope, row(model.actuator_forcerange, i))
    return force, slope


def _angles(model: Model, i: int) -> tuple[slice, slice] | None:
    """Which parts of an actuator's gear count translations and turns, where it may be turns alone.

    On a ball joint, and from site to site, lengths tell angles: those that are a whole turn apart tell the same one.
    """
    kind, (target, reference) = model.actuator_trntype[i], model.actuator_trnid[i]
    if kind in (Transmission.JOINT, Transmission.JOINT_IN_PARENT) and model.jnt_type[target] == Kind.BALL:
        return slice(0, 0), slice(0, 3)
    return (slice(0, 3), slice(3, 6)) if kind == Transmission.SITE and reference >= 0 else None


def _period(model: Model, i: int) -> Num:
    """How far apart targets are that tell a servo the same angle; 0 of what is no servo of an angle.

    A servo's bias takes back what its gain gives. C knows them so too.
    """
    parts = _angles(model, i)
    if parts is None or model.actuator_gaintype[i] != 0 or model.actuator_biastype[i] != 1:
        return ZERO
    straight, turns = (total(g * g for g in row(model.actuator_gear, i)[part]) for part in parts)
    difference = absolute(row(model.actuator_gainprm, i)[0] + row(model.actuator_biasprm, i)[1])
    servo = both(both(straight <= 0.0, turns > 0.0), difference <= 0.0)
    return where(servo, 2.0 * math.pi * sqrt(where(turns > 0.0, turns, 1.0)), 0.0, difference)


def _nearest(model: Model, i: int, target: Num, length: Num) -> Num:
    """Of the targets that tell a servo the same angle the one that is nearest to its length."""
    period = _period(model, i)
    if period.is_known(0.0):
        return target
    turning = period > 0.0
    turns = floor((target - length) / where(turning, period, 1.0) + 0.5)
    return target - where(turning, period * turns, 0.0)


def _limited(force: Num, slope: Num, ends: list[Num]) -> tuple[Num, Num]:
    """A force within its range, at whose ends it does not change."""
    inside = both(force > ends[0], force < ends[1])
    return clipped(force, *ends), where(inside, slope, 0.0, force)


def _rate(model: Model, i: int, command: Num, activation: Num) -> Num:
    if model.actuator_dyntype[i] == Dynamics.INTEGRATOR:
        return command
    return (_nearest(model, i, command, activation) - activation) / maximum(row(model.actuator_dynprm, i)[0], SMALLEST)


def next_activation(model: Model, i: int, activation: Num, rate: Num) -> Num:
    """An actuator's activation after a time step."""
    step = Num(model.timestep)
    if model.actuator_dyntype[i] == Dynamics.FILTER_EXACT:
        tau = maximum(row(model.actuator_dynprm, i)[0], SMALLEST)
        step = tau * (1.0 - exp(-(step / tau)))
    activation = activation + rate * step
    return clipped(activation, *row(model.actuator_actrange, i)) if model.actuator_actlimited[i] else activation


def next_activations(model: Model, act: Sequence[Num], rates: Sequence[Num], length: Sequence[Num]) -> list[Num]:
    """All activations after a time step; targets of servos of angles do not wind up, but stay by the lengths [nu]."""
    found = list(act)
    for i in range(model.nu):
        place = int(model.actuator_actadr[i])
        if place >= 0:
            place += int(model.actuator_actnum[i]) - 1
            found[place] = next_activation(model, i, found[place], rates[place])
            found[place] = _nearest(model, i, found[place], length[i])
    return found


def transmission(
    model: Model, k: Kinematics, t: Tree, tendons: list[Tendon], qpos: Sequence[Num], i: int
) -> tuple[Num, dict[int, Num]]:
    """An actuator's length, and its moments by degree of freedom."""
    kind, target, gear = model.actuator_trntype[i], int(model.actuator_trnid[i][0]), row(model.actuator_gear, i)
    if kind == Transmission.TENDON:
        tendon = tendons[target]
        return gear[0] * tendon.length, {d: gear[0] * arm for d, arm in tendon.arms.items()}
    if kind == Transmission.SITE:
        reference = int(model.actuator_trnid[i][1])
        if reference >= 0:
            return _between_sites(model, k, t, target, reference, gear)
        frame = site_frame(model, k, target)
        return ZERO, _at_site(model, t, target, frame, frame, gear)
    j = joint(model, target)
    if j.kind in (Kind.SLIDE, Kind.HINGE):
        return gear[0] * qpos[j.qpos], {j.dof: gear[0]}
    first = j.qpos + (3 if j.kind == Kind.FREE else 0)
    turn = quat(qpos[first : first + 4]).normalised()
    axis = vec(gear[first - j.qpos : first - j.qpos + 3])
    axis = turn.inverse().matrix() @ axis if kind == Transmission.JOINT_IN_PARENT else axis
    if j.kind == Kind.BALL:
        return turned(turn, UNTURNED).dot(axis), dict(zip(j.dofs, axis, strict=True))
    return ZERO, dict(zip(j.dofs, [*gear[:3], *axis], strict=True))


def _at_site(model: Model, t: Tree, site: int, frame: Frame, axes: Frame, gear: list[Num]) -> dict[int, Num]:
    """What a force and torque at a site, along some axes, do to each degree of freedom."""
    body = int(model.site_bodyid[site])
    force, torque = axes.mat @ Vec(*gear[:3]), axes.mat @ Vec(*gear[3:6])
    arm = frame.pos - t.subtree_com[int(model.body_rootid[body])]
    return {
        d: t.motion[d].rot.dot(torque + arm.cross(force)) + t.motion[d].lin.dot(force)
        for d in ancestors(model, last_dof(model, body))
    }


def _between_sites(
    model: Model, k: Kinematics, t: Tree, site: int, reference: int, gear: list[Num]
) -> tuple[Num, dict[int, Num]]:
    """A site's place in the axes of another: what moves both counts for nothing."""
    frame, axes = site_frame(model, k, site), site_frame(model, k, reference)
    apart = axes.mat.transposed() @ (frame.pos - axes.pos)
    length = apart.dot(Vec(*gear[:3])) + turned(frame.quat, axes.quat).dot(Vec(*gear[3:6]))
    near = _at_site(model, t, site, frame, axes, gear)
    far = _at_site(model, t, reference, axes, axes, gear)
    moment = {d: arm for d, arm in near.items() if d not in far}
    return length, moment | {d: -arm for d, arm in far.items() if d not in near}
