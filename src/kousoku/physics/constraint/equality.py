"""Equalities: points and frames that stay together, and joints and tendons that follow one another.

References:
    MuJoCo documentation, Computation, "Constraint model", equality; XML reference, equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..algebra.scalar import ONE, SMALLEST, ZERO, Num, added, nums, sqrt, total, where
from ..algebra.vector import NOWHERE, STILL, UNTURNED, Six, Vec, quat, vec
from ..model import Model
from ..stages.dynamics import UNITS
from ..stages.joints import ancestors, joint, last_dof
from ..stages.kinematics import Frame, attached, row, site_frame
from ..stages.smooth import Smooth
from .cost import Hold
from .impedance import softness
from .jacobian import Constraint, Dofs, Grip, Jacobian, jacobian, moving, speeds

BODY = 1


class Kind(IntEnum):
    """MuJoCo's mjtEq, as far as it is done."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3


def equalities(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Constraint]:
    """All that the model begins with."""
    found = []
    for i in range(model.neq):
        if not model.eq_active0[i]:
            continue
        if model.eq_type[i] in (Kind.CONNECT, Kind.WELD):
            found += _tied(model, s, qvel, i)
        else:
            found.append(_coupled(model, s, qpos, qvel, i))
    return found


# ---- points and frames


@dataclass(frozen=True)
class End:
    """A frame that is tied to another, and how it moves.

    Attributes:
        body: that it is fixed in.
        frame: where it is.
        arm: its place, from its tree's centre of mass.
        spin, turning: velocity of its rotation, and its acceleration if no joint accelerates.
        pull: acceleration of its place if no joint accelerates.
    """

    body: int
    frame: Frame
    arm: Vec
    spin: Vec
    turning: Vec
    pull: Vec


def _tied(model: Model, s: Smooth, qvel: Sequence[Num], i: int) -> list[Constraint]:
    """Three rows for a point, three more for a rotation."""
    one, other = (_end(model, s, qvel, body, frame) for body, frame in _frames(model, s, i))
    places = model.body_invweight0[one.body], model.body_invweight0[other.body]
    weights = added(*map(nums, places))
    apart, drift = list(one.frame.pos - other.frame.pos), list(one.pull - other.pull)
    pairs = [(Six(one.arm.cross(axis), axis), Six(other.arm.cross(axis), axis)) for axis in UNITS]
    inverse = [weights[0]] * 3
    if model.eq_type[i] == Kind.WELD:
        turned, drifting, torques = _turned(one, other, row(model.eq_data, i)[10])
        apart, drift, inverse = apart + turned, drift + drifting, inverse + [weights[1]] * 3
        pairs += [(Six(torque, NOWHERE), Six(torque, NOWHERE)) for torque in torques]
    grips = [
        Grip(end.body, [pair[side] * (1.0 - 2.0 * side) for pair in pairs])
        for side, end in enumerate((one, other))
        if moving(model, end.body)
    ]
    if not grips:
        return []
    soft = softness(model, row(model.eq_solref, i), row(model.eq_solimp, i), _length(apart))
    law = Hold([ONE / soft.regularisation(x) for x in inverse])
    rows = zip(speeds(s.motion, grips), apart, drift, strict=True)
    wanted = [soft.reference(speed, away) - more for speed, away, more in rows]
    # Forces on the two bodies act at two points, so what moves both counts.
    return [Constraint(law, wanted, jacobian(model, s.tree, grips), grips, "equality")]


def _frames(model: Model, s: Smooth, i: int) -> list[tuple[int, Frame]]:
    """The two frames that are to be one, and their bodies."""
    ids, k = (int(model.eq_obj1id[i]), int(model.eq_obj2id[i])), s.kinematics
    if model.eq_objtype[i] != BODY:
        return [(int(model.site_bodyid[site]), site_frame(model, k, site)) for site in ids]
    data = row(model.eq_data, i)
    places, turn = (data[0:3], data[3:6]), UNTURNED
    if model.eq_type[i] == Kind.WELD:
        places, turn = (data[3:6], data[0:3]), quat(data[6:10])
    turns = turn, UNTURNED
    return [(b, attached(k.bodies[b], vec(p), q)) for b, p, q in zip(ids, places, turns, strict=True)]


def _end(model: Model, s: Smooth, qvel: Sequence[Num], body: int, frame: Frame) -> End:
    motion, drift = s.motion.body[body], STILL
    for d in ancestors(model, last_dof(model, body)):
        drift = drift + s.motion.dof[d] * qvel[d]
    arm = frame.pos - s.tree.subtree_com[int(model.body_rootid[body])]
    speed = motion.lin + motion.rot.cross(arm)
    pull = drift.lin + drift.rot.cross(arm) + motion.rot.cross(speed)
    return End(body, frame, arm, motion.rot, drift.rot, pull)


def _turned(one: End, other: End, scale: Num) -> tuple[list[Num], list[Num], list[Vec]]:
    """How far one end is turned, how that accelerates by itself, and the torques that belong to it.

    The turn is the vector part e of the quaternion q = (c, e) from the other end to the one, in the other's axes, times
    `scale`. With u and w the ends' velocities, q' = conj(q_other) (u - w) q_one / 2, and so once more for q''.
    """
    away = other.frame.quat.inverse() * one.frame.quat
    axis, spin = vec(away[1:]), one.spin - other.spin
    torques = [other.frame.mat @ (unit * away.w + axis.cross(unit)) * (0.5 * scale) for unit in UNITS]
    swing = one.turning - other.turning + one.spin.cross(other.spin)
    inward = 0.25 * scale * spin.dot(spin)
    drift = [torque.dot(swing) - inward * part for torque, part in zip(torques, axis, strict=True)]
    return [scale * part for part in axis], drift, torques


def _length(parts: Sequence[Num]) -> Num:
    """Of a vector; its derivative is zero where it vanishes."""
    square = total(x * x for x in parts)
    tiny = square < SMALLEST**2
    return where(tiny, 0.0, sqrt(where(tiny, 1.0, square)))


# ---- joints and tendons


def _coupled(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num], i: int) -> Constraint:
    """A joint or tendon that is a polynomial of another, or constant."""
    data = row(model.eq_data, i)
    away, arms, inverse = _scalar(model, s, qpos, i, int(model.eq_obj1id[i]))
    away = away - data[0]
    if (second := int(model.eq_obj2id[i])) >= 0:
        x, more, weight = _scalar(model, s, qpos, i, second)
        value = x * (data[1] + x * (data[2] + x * (data[3] + x * data[4])))
        slope = data[1] + x * (2.0 * data[2] + x * (3.0 * data[3] + x * (4.0 * data[4])))
        away, inverse = away - value, inverse + weight
        for d, arm in more.items():
            arms[d] = arms.get(d, ZERO) - slope * arm
    soft = softness(model, row(model.eq_solref, i), row(model.eq_solimp, i), away)
    speed = total(arm * qvel[d] for d, arm in arms.items())
    law = Hold([ONE / soft.regularisation(inverse)])
    return Constraint(law, [soft.reference(speed, away)], Jacobian([dict(sorted(arms.items()))]), of="equality")


def _scalar(model: Model, s: Smooth, qpos: Sequence[Num], i: int, number: int) -> tuple[Num, Dofs, Num]:
    """How far a joint or tendon is from where the file has it, its arms, and its inverse inertia."""
    if model.eq_type[i] == Kind.TENDON:
        tendon = s.tendons[number]
        away = tendon.length - nums(model.tendon_length0)[number]
        return away, dict(tendon.arms), nums(model.tendon_invweight0)[number]
    j = joint(model, number)
    return qpos[j.qpos] - nums(model.qpos0)[j.qpos], {j.dof: ONE}, nums(model.dof_invweight0)[j.dof]
