"""Forces that need no command (mj_passive): springs, dampers, gravity compensation, a fluid.

References:
    MuJoCo documentation, Computation, "Passive forces"; Fluid forces, "Inertia model".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import MINVAL, ZERO, Num, absolute, logical_any, maximum, nums, row, sqrt, total, where
from ..algebra.vector import ZERO3, quat, sub_quat, vec
from ..model import Model
from .apply_ft import apply_wrenches, wrench_at_com
from .com_pos import ComPos
from .com_vel import ComVel
from .joints import Joint, JointType, joints
from .kinematics import Frame, Kinematics
from .tendon import Tendon


def passive(
    model: Model,
    k: Kinematics,
    com: ComPos,
    vel: ComVel,
    tendons: list[Tendon],
    qpos: Sequence[Num],
    qvel: Sequence[Num],
) -> list[Num]:
    """Returns the generalised forces of all that is passive [nv]: mjData's qfrc_passive.

    Where both springs and dampers are disabled, nothing passive acts.
    """
    if model.no_spring and model.no_damper:
        return [ZERO] * model.nv
    parts = [dampers(model, tendons, qvel)]
    if not model.no_spring:
        parts.append(springs(model, tendons, qpos))
    if not model.no_gravity:
        parts.append(gravity_compensation(model, k, com))
    parts.append(fluid(model, k, com, vel))
    return [total(column) for column in zip(*parts, strict=True)]


def springs(model: Model, tendons: list[Tendon], qpos: Sequence[Num]) -> list[Num]:
    """Returns -k (q - rest) of joints and tendons [nv]: mjData's qfrc_spring."""
    qfrc = [ZERO] * model.nv
    stiffness = nums(model.jnt_stiffness)
    for j, displacement in spring_displacements(model, qpos):
        for d, distance in zip(j.dofs, displacement, strict=True):
            qfrc[d] = qfrc[d] - stiffness[j.id] * distance
    for i, tendon in enumerate(tendons):
        tendon.add_qfrc(qfrc, _spring(model, i, tendon))
    return qfrc


def tendon_force(model: Model, number: int, tendon: Tendon, qvel: Sequence[Num]) -> Num:
    """Returns what a tendon's spring and damper do along it, newtons: below zero where they shorten it."""
    spring = ZERO if model.no_spring else _spring(model, number, tendon)
    return spring if model.no_damper else spring + _damper(model, number, tendon, qvel)


def _spring(model: Model, number: int, tendon: Tendon) -> Num:
    return nums(model.tendon_stiffness)[number] * way_to_rest(model, number, tendon.length)


def _damper(model: Model, number: int, tendon: Tendon, qvel: Sequence[Num]) -> Num:
    return -(nums(model.tendon_damping)[number] * tendon.velocity(qvel))


def way_to_rest(model: Model, tendon: int, length: Num) -> Num:
    """Returns how much longer a tendon would be at rest, metres or radians: 0 if its spring is slack.

    One above both ends of tendon_lengthspring is drawn to the upper, whichever that is, as MuJoCo looks at it first.
    """
    low, high = row(model.tendon_lengthspring, tendon)
    shorter = high - length
    return where(shorter < 0.0, shorter, maximum(low - length, ZERO))


def spring_displacements(model: Model, qpos: Sequence[Num]) -> Iterator[tuple[Joint, list[Num]]]:
    """Yields each joint with a spring, and how far it is from rest along each degree of freedom, metres or radians."""
    stiffness, rest = nums(model.jnt_stiffness), nums(model.qpos_spring)
    for j in joints(model):
        if stiffness[j.id].is_known(0.0):
            continue
        if j.type in (JointType.SLIDE, JointType.HINGE):
            yield j, [qpos[j.qposadr] - rest[j.qposadr]]
            continue
        first = j.qposadr + (3 if j.type == JointType.FREE else 0)
        translation = [qpos[i] - rest[i] for i in range(j.qposadr, first)]
        turn = sub_quat(quat(qpos[first : first + 4]).normalised(), quat(rest[first : first + 4]).normalised())
        yield j, [*translation, *turn]


def dampers(model: Model, tendons: list[Tendon], qvel: Sequence[Num]) -> list[Num]:
    """Returns -b v of joints and tendons [nv]: mjData's qfrc_damper."""
    if model.no_damper:
        return [ZERO] * model.nv
    qfrc = [-(b * v) for b, v in zip(nums(model.dof_damping), qvel, strict=True)]
    for i, tendon in enumerate(tendons):
        tendon.add_qfrc(qfrc, _damper(model, i, tendon, qvel))
    return qfrc


def gravity_compensation(model: Model, k: Kinematics, com: ComPos) -> list[Num]:
    """Returns forces that lift a share of each body's weight [nv]: mjData's qfrc_gravcomp.

    MuJoCo looks for shares above zero first: where there is none, those below zero do nothing either.
    """
    share, mass = nums(model.body_gravcomp), nums(model.body_mass)
    any_lifted = logical_any(x > 0.0 for x in share[1:])
    if any_lifted is False:
        return [ZERO] * model.nv
    up = vec(nums(model.gravity)) * -where(any_lifted, 1.0, 0.0)
    wrenches = {
        i: wrench_at_com(com, model, i, k.inertial[i].pos, up * (mass[i] * share[i]), ZERO3)
        for i in range(1, model.nbody)
        if not share[i].is_known(0.0)
    }
    return apply_wrenches(model, com, wrenches)


def fluid(model: Model, k: Kinematics, com: ComPos, vel: ComVel) -> list[Num]:
    """Returns drag and viscous resistance of boxes of the bodies' inertia [nv]: mjData's qfrc_fluid."""
    wrenches = {}
    for d in drags(model, k, com, vel):
        push = [-(a + b) * v for a, b, v in zip(d.linear, d.quadratic, d.velocity, strict=True)]
        torque, force = d.frame.mat @ vec(push[:3]), d.frame.mat @ vec(push[3:])
        wrenches[d.body] = wrench_at_com(com, model, d.body, d.frame.pos, force, torque)
    return apply_wrenches(model, com, wrenches)


@dataclass(frozen=True)
class Drag:
    """The resistance of a fluid to a body: -(`linear` + `quadratic`) times the velocity, in each of six directions.

    Attributes:
        body: the body.
        frame: its centre of mass, along its principal axes.
        velocity: angular about these axes, then linear along them, through the fluid [6].
        linear: coefficients of a viscous fluid, which do not change with the speed [6].
        quadratic: coefficients of a dense fluid, times the speed's size [6].
    """

    body: int
    frame: Frame
    velocity: list[Num]
    linear: list[Num]
    quadratic: list[Num]


def drags(model: Model, k: Kinematics, com: ComPos, vel: ComVel) -> list[Drag]:
    """Returns the resistance to every body with mass; none if there is no fluid, or nothing passive acts."""
    density, viscosity = Num(model.density), Num(model.viscosity)
    if (density.is_known(0.0) and viscosity.is_known(0.0)) or (model.no_spring and model.no_damper):
        return []
    mass = nums(model.body_mass)
    bodies = (i for i in range(1, model.nbody) if not mass[i].is_known(0.0))
    return [_drag(model, k, com, vel, i, density, viscosity) for i in bodies]


def _drag(model: Model, k: Kinematics, com: ComPos, vel: ComVel, i: int, density: Num, viscosity: Num) -> Drag:
    frame, mass, inertia = k.inertial[i], nums(model.body_mass)[i], row(model.body_inertia, i)
    # A mass that is a leaf may be zero: no resistance then, and nothing is divided by it.
    massless = mass < MINVAL
    mass = where(massless, 1.0, mass)
    density, viscosity = (where(massless, 0.0, x) for x in (density, viscosity))
    box = [sqrt(maximum(total(inertia) - 2.0 * inertia[a], MINVAL) / mass * 6.0) for a in range(3)]
    to_local = frame.mat.transpose()
    arm = frame.pos - com.subtree_com[int(model.body_rootid[i])]
    angular = to_local @ vel.cvel[i].rot
    linear = to_local @ (vel.cvel[i].lin + vel.cvel[i].rot.cross(arm) - vec(nums(model.wind)))
    diameter = total(box) * (1.0 / 3.0)
    viscous = [math.pi * diameter * diameter * diameter * viscosity] * 3 + [3.0 * math.pi * diameter * viscosity] * 3
    turning, sliding = [], []
    for a in range(3):
        b, c = box[(a + 1) % 3], box[(a + 2) % 3]
        fourth = b * b * b * b + c * c * c * c
        turning.append(density * box[a] * fourth * absolute(angular[a]) * (1.0 / 64.0))
        sliding.append(0.5 * density * b * c * absolute(linear[a]))
    return Drag(i, frame, [*angular, *linear], viscous, turning + sliding)
