"""Equality constraints (mj_instantiateEquality): points and frames that stay together, joints and tendons that follow.

References:
    MuJoCo documentation, Computation, "Constraint model", equality; XML reference, equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..algebra.scalar import MINVAL, ONE, ZERO, Num, elementwise_add, nums, row, sqrt, total, where
from ..algebra.spatial import ZERO6, SpatialVec
from ..algebra.vector import IDENTITY, UNIT_VECTORS, ZERO3, Vec, quat, vec
from ..model import Model
from ..stages.joints import ancestors, joint, last_dof, moving_ancestor
from ..stages.kinematics import Frame, child_frame, site_frame
from ..stages.smooth import Smooth
from .cost import Quadratic
from .impedance import impedance
from .jacobian import BodyJacobian, Constraint, Jacobian, SparseRow, efc_vel, jacobian

BODY = 1
"""MuJoCo's mjOBJ_BODY."""


class EqualityType(IntEnum):
    """MuJoCo's mjtEq, as far as it is supported."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3


def equalities(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Constraint]:
    """Returns all equality constraints that are active from the start."""
    found = []
    for i in range(model.neq):
        if not model.eq_active0[i]:
            continue
        if model.eq_type[i] in (EqualityType.CONNECT, EqualityType.WELD):
            found += _connect_or_weld(model, s, qvel, i)
        else:
            found.append(_joint_or_tendon(model, s, qpos, qvel, i))
    return found


# ---- points and frames


@dataclass(frozen=True)
class EqualityFrame:
    """One of two frames that are to coincide, and how it moves. Vectors are in the world's axes.

    Attributes:
        body: the body that it is fixed in.
        frame: its position and orientation.
        arm: its position from its tree's centre of mass.
        angvel: its angular velocity.
        angacc, linacc: angular and linear acceleration of it if no joint accelerates.
    """

    body: int
    frame: Frame
    arm: Vec
    angvel: Vec
    angacc: Vec
    linacc: Vec


def _connect_or_weld(model: Model, s: Smooth, qvel: Sequence[Num], i: int) -> list[Constraint]:
    """Returns three rows for a point, and three more for an orientation; nothing if neither body moves."""
    one, other = (_equality_frame(model, s, qvel, body, frame) for body, frame in _frames(model, s, i))
    invweights = model.body_invweight0[one.body], model.body_invweight0[other.body]
    invweight = elementwise_add(*map(nums, invweights))
    pos, drift = list(one.frame.pos - other.frame.pos), list(one.linacc - other.linacc)
    pairs = [(SpatialVec(one.arm.cross(axis), axis), SpatialVec(other.arm.cross(axis), axis)) for axis in UNIT_VECTORS]
    invweights = [invweight[0]] * 3
    if model.eq_type[i] == EqualityType.WELD:
        turn, turn_drift, torques = _orientation_rows(one, other, row(model.eq_data, i)[10])
        pos, drift, invweights = pos + turn, drift + turn_drift, invweights + [invweight[1]] * 3
        pairs += [(SpatialVec(torque, ZERO3), SpatialVec(torque, ZERO3)) for torque in torques]
    jacs = [
        BodyJacobian(end.body, [pair[side] * (1.0 - 2.0 * side) for pair in pairs])
        for side, end in enumerate((one, other))
        if moving_ancestor(model, end.body)
    ]
    if not jacs:
        return []
    imp = impedance(model, row(model.eq_solref, i), row(model.eq_solimp, i), _norm(pos))
    cost = Quadratic([ONE / imp.regularisation(x) for x in invweights])
    rows = zip(efc_vel(s.com_vel, jacs), pos, drift, strict=True)
    aref = [imp.aref(v, x) - a for v, x, a in rows]
    # Forces on the two bodies act at two points, so what moves both counts.
    return [Constraint(cost, aref, jacobian(model, s.com_pos, jacs), jacs, "equality")]


def _frames(model: Model, s: Smooth, i: int) -> list[tuple[int, Frame]]:
    """Returns the two frames that are to coincide, each with its body."""
    ids, k = (int(model.eq_obj1id[i]), int(model.eq_obj2id[i])), s.kinematics
    if model.eq_objtype[i] != BODY:
        return [(int(model.site_bodyid[site]), site_frame(model, k, site)) for site in ids]
    data = row(model.eq_data, i)
    anchors, turn = (data[0:3], data[3:6]), IDENTITY
    if model.eq_type[i] == EqualityType.WELD:
        anchors, turn = (data[3:6], data[0:3]), quat(data[6:10])
    turns = turn, IDENTITY
    return [(b, child_frame(k.bodies[b], vec(p), q)) for b, p, q in zip(ids, anchors, turns, strict=True)]


def _equality_frame(model: Model, s: Smooth, qvel: Sequence[Num], body: int, frame: Frame) -> EqualityFrame:
    cvel, cacc = s.com_vel.cvel[body], ZERO6
    for d in ancestors(model, last_dof(model, body)):
        cacc = cacc + s.com_vel.cdof_dot[d] * qvel[d]
    arm = frame.pos - s.com_pos.subtree_com[int(model.body_rootid[body])]
    linvel = cvel.lin + cvel.rot.cross(arm)
    linacc = cacc.lin + cacc.rot.cross(arm) + cvel.rot.cross(linvel)
    return EqualityFrame(body, frame, arm, cvel.rot, cacc.rot, linacc)


def _orientation_rows(one: EqualityFrame, other: EqualityFrame, scale: Num) -> tuple[list[Num], list[Num], list[Vec]]:
    """Returns the rotation between two frames, its acceleration if no joint accelerates, and its rows' torques.

    The rotation is the vector part e of the quaternion q = (c, e) from the other frame to the one, in the other's axes,
    times `scale`. With u and w the frames' angular velocities, q' = conj(q_other) (u - w) q_one / 2, and so once more
    for q''.
    """
    difference = other.frame.quat.inverse() * one.frame.quat
    axis, spin = vec(difference[1:]), one.angvel - other.angvel
    torques = [other.frame.mat @ (unit * difference.w + axis.cross(unit)) * (0.5 * scale) for unit in UNIT_VECTORS]
    relative = one.angacc - other.angacc + one.angvel.cross(other.angvel)
    inward = 0.25 * scale * spin.dot(spin)
    drift = [torque.dot(relative) - inward * part for torque, part in zip(torques, axis, strict=True)]
    return [scale * part for part in axis], drift, torques


def _norm(parts: Sequence[Num]) -> Num:
    """Returns the length of a vector; its derivative is zero where it vanishes."""
    square = total(x * x for x in parts)
    tiny = square < MINVAL**2
    return where(tiny, 0.0, sqrt(where(tiny, 1.0, square)))


# ---- joints and tendons


def _joint_or_tendon(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num], i: int) -> Constraint:
    """Returns the row of a joint or tendon that is a polynomial of another, or constant."""
    data = row(model.eq_data, i)
    first = int(model.eq_obj1id[i])
    pos, jac, invweight = _position(model, s, qpos, i, first)
    pos, slopes = pos - data[0], {first: ONE}
    if (second := int(model.eq_obj2id[i])) >= 0:
        x, more, more_invweight = _position(model, s, qpos, i, second)
        value = x * (data[1] + x * (data[2] + x * (data[3] + x * data[4])))
        slope = data[1] + x * (2.0 * data[2] + x * (3.0 * data[3] + x * (4.0 * data[4])))
        pos, invweight = pos - value, invweight + more_invweight
        slopes[second] = slopes.get(second, ZERO) - slope
        for d, arm in more.items():
            jac[d] = jac.get(d, ZERO) - slope * arm
    imp = impedance(model, row(model.eq_solref, i), row(model.eq_solimp, i), pos)
    vel = total(arm * qvel[d] for d, arm in jac.items())
    cost = Quadratic([ONE / imp.regularisation(invweight)])
    rows, of_tendons = [dict(sorted(jac.items()))], slopes if model.eq_type[i] == EqualityType.TENDON else {}
    return Constraint(cost, [imp.aref(vel, pos)], Jacobian(rows), source="equality", tendons=of_tendons)


def _position(model: Model, s: Smooth, qpos: Sequence[Num], i: int, number: int) -> tuple[Num, SparseRow, Num]:
    """Returns how far a joint or tendon is from where the file has it, its Jacobian, and its inverse inertia."""
    if model.eq_type[i] == EqualityType.TENDON:
        tendon = s.tendons[number]
        pos = tendon.length - nums(model.tendon_length0)[number]
        return pos, dict(tendon.jac), nums(model.tendon_invweight0)[number]
    j = joint(model, number)
    return qpos[j.qposadr] - nums(model.qpos0)[j.qposadr], {j.dofadr: ONE}, nums(model.dof_invweight0)[j.dofadr]
