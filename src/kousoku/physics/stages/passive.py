"""Forces that need no command: springs, dampers, gravity compensation, a fluid.

References:
    MuJoCo documentation, Computation, "Passive forces"; Fluid forces, "Inertia model".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import ZERO, Num, absolute, atan2, maximum, minimum, nums, sqrt, total, where
from ..algebra.vector import NOWHERE, Quat, Vec, quat, vec
from ..model import Model
from .dynamics import Motion, Tree, along_dofs, point_force
from .joints import Joint, Kind, joints
from .kinematics import Frame, Kinematics, row
from .tendon import Tendon

SMALLEST = 1e-15


def passive(
    model: Model, k: Kinematics, t: Tree, m: Motion, tendons: list[Tendon], qpos: Sequence[Num], qvel: Sequence[Num]
) -> list[Num]:
    """Generalised forces [nv]."""
    parts = [dampers(model, tendons, qvel)]
    if not model.no_spring:
        parts.append(springs(model, tendons, qpos))
    if not model.no_gravity:
        parts.append(gravity_compensation(model, k, t))
    parts.append(fluid(model, k, t, m))
    return [total(column) for column in zip(*parts, strict=True)]


def springs(model: Model, tendons: list[Tendon], qpos: Sequence[Num]) -> list[Num]:
    """Of joints and tendons: -k (q - spring position)."""
    force = [ZERO] * model.nv
    stiffness = nums(model.jnt_stiffness)
    for j, away in stretched(model, qpos):
        for d, distance in zip(j.dofs, away, strict=True):
            force[d] = force[d] - stiffness[j.id] * distance
    for i, tendon in enumerate(tendons):
        low, high = row(model.tendon_lengthspring, i)
        pull = minimum(high - tendon.length, ZERO) + maximum(low - tendon.length, ZERO)
        tendon.add(force, nums(model.tendon_stiffness)[i] * pull)
    return force


def stretched(model: Model, qpos: Sequence[Num]) -> Iterator[tuple[Joint, list[Num]]]:
    """How far joints with springs are from their rest, along each degree of freedom."""
    stiffness, rest = nums(model.jnt_stiffness), nums(model.qpos_spring)
    for j in joints(model):
        if stiffness[j.id].is_known(0.0):
            continue
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            yield j, [qpos[j.qpos] - rest[j.qpos]]
            continue
        first = j.qpos + (3 if j.kind == Kind.FREE else 0)
        away = [qpos[i] - rest[i] for i in range(j.qpos, first)]
        turn = turned(quat(qpos[first : first + 4]).normalised(), quat(rest[first : first + 4]).normalised())
        yield j, [*away, *turn]


def dampers(model: Model, tendons: list[Tendon], qvel: Sequence[Num]) -> list[Num]:
    """Of joints and tendons: -b v."""
    if model.no_damper:
        return [ZERO] * model.nv
    force = [-(b * v) for b, v in zip(nums(model.dof_damping), qvel, strict=True)]
    for i, tendon in enumerate(tendons):
        tendon.add(force, -(nums(model.tendon_damping)[i] * tendon.velocity(qvel)))
    return force


def turned(a: Quat, b: Quat) -> Vec:
    """The turn from b to a, as an axis times an angle in [-pi, pi], in b's axes."""
    away = b.inverse() * a
    axis = vec(away[1:])
    square = axis.dot(axis)
    tiny = square < SMALLEST**2
    size = sqrt(where(tiny, 1.0, square))
    angle = 2.0 * atan2(size, away.w)
    angle = where(angle > math.pi, angle - 2.0 * math.pi, angle)
    return axis * where(tiny, 2.0, angle / size)


def gravity_compensation(model: Model, k: Kinematics, t: Tree) -> list[Num]:
    """Lifts a share of each body's weight."""
    gravity, share, mass = vec(nums(model.gravity)), nums(model.body_gravcomp), nums(model.body_mass)
    forces = {
        i: point_force(t, model, i, k.inertial[i].pos, gravity * -(mass[i] * share[i]), NOWHERE)
        for i in range(1, model.nbody)
        if not share[i].is_known(0.0)
    }
    return along_dofs(model, t, forces)


def fluid(model: Model, k: Kinematics, t: Tree, m: Motion) -> list[Num]:
    """Drag and viscous resistance on boxes of the bodies' inertia."""
    forces = {}
    for d in drags(model, k, t, m):
        push = [-(a + b) * v for a, b, v in zip(d.even, d.growing, d.speed, strict=True)]
        torque, force = d.frame.mat @ vec(push[:3]), d.frame.mat @ vec(push[3:])
        forces[d.body] = point_force(t, model, d.body, d.frame.pos, force, torque)
    return along_dofs(model, t, forces)


@dataclass(frozen=True)
class Drag:
    """How a fluid resists a body: by `even` + `growing`, times the speed, in each of six directions.

    Attributes:
        body: the body.
        frame: its centre of mass, along its principal axes.
        speed: its rotation about these, then its translation along them, in the fluid.
        even: what does not change with the speed, of a viscous fluid.
        growing: what is proportional to its size, of a heavy one.
    """

    body: int
    frame: Frame
    speed: list[Num]
    even: list[Num]
    growing: list[Num]


def drags(model: Model, k: Kinematics, t: Tree, m: Motion) -> list[Drag]:
    """Of every body in the fluid, if there is one."""
    density, viscosity = Num(model.density), Num(model.viscosity)
    if density.is_known(0.0) and viscosity.is_known(0.0):
        return []
    mass = nums(model.body_mass)
    bodies = (i for i in range(1, model.nbody) if not mass[i].is_known(0.0))
    return [_drag(model, k, t, m, i, density, viscosity) for i in bodies]


def _drag(model: Model, k: Kinematics, t: Tree, m: Motion, i: int, density: Num, viscosity: Num) -> Drag:
    frame, mass, inertia = k.inertial[i], nums(model.body_mass)[i], row(model.body_inertia, i)
    box = [sqrt(maximum((total(inertia) - 2.0 * inertia[a]) / mass * 6.0, SMALLEST)) for a in range(3)]
    back = frame.mat.transposed()
    arm = frame.pos - t.subtree_com[int(model.body_rootid[i])]
    spin = back @ m.body[i].rot
    slide = back @ (m.body[i].lin + m.body[i].rot.cross(arm) - vec(nums(model.wind)))
    width = total(box) * (1.0 / 3.0)
    even = [math.pi * width * width * width * viscosity] * 3 + [3.0 * math.pi * width * viscosity] * 3
    turning, sliding = [], []
    for a in range(3):
        b, c = box[(a + 1) % 3], box[(a + 2) % 3]
        fourth = b * b * b * b + c * c * c * c
        turning.append(density * box[a] * fourth * absolute(spin[a]) * (1.0 / 64.0))
        sliding.append(0.5 * density * b * c * absolute(slide[a]))
    return Drag(i, frame, [*spin, *slide], even, turning + sliding)
