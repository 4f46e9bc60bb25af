"""Constraints of joints and tendons: dry friction, and the limits of their ranges (mj_instantiateFriction, -Limit).

References:
    MuJoCo documentation, Computation, "Constraint model", friction loss and limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import ONE, ZERO, Num, maximum, nums, row, total, where
from ..algebra.vector import IDENTITY, quat, sub_quat
from ..model import Model
from ..stages.joints import JointType, joints
from ..stages.smooth import Smooth
from .cost import Huber, OneSided
from .impedance import impedance
from .jacobian import Constraint, Jacobian, SparseRow


@dataclass(frozen=True)
class Limit:
    """An end of a range.

    Attributes:
        kind: whose: "joint" or "tendon".
        id: its number.
        efc_pos: how far it is from the end, less the margin, metres or radians: below zero the limit is active.
        efc_vel: the rate at which that grows.
    """

    kind: str
    id: int
    efc_pos: Num
    efc_vel: Num


def frictionloss(model: Model, s: Smooth, qvel: Sequence[Num]) -> list[Constraint]:
    """Returns dry friction of degrees of freedom and tendons: held still, with a bounded force."""
    parts = [
        ({d: ONE}, loss, row(model.dof_solref, d), row(model.dof_solimp, d), nums(model.dof_invweight0)[d], {})
        for d, loss in enumerate(nums(model.dof_frictionloss))
    ]
    for i, loss in enumerate(nums(model.tendon_frictionloss)):
        invweight = nums(model.tendon_invweight0)[i]
        params = row(model.tendon_solref_fri, i), row(model.tendon_solimp_fri, i)
        parts.append((s.tendons[i].jac, loss, *params, invweight, {i: ONE}))
    found = []
    for jac, loss, solref, solimp, invweight, of_tendons in parts:
        if not (loss.known and loss.value <= 0.0):
            imp = impedance(model, solref, solimp, ZERO)
            vel = total(j * qvel[d] for d, j in jac.items())
            cost = Huber(ONE / imp.regularisation(invweight), loss)
            found.append(
                Constraint(cost, [imp.aref(vel, ZERO)], Jacobian([jac]), source="friction", tendons=of_tendons)
            )
    return found


def limits(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Constraint]:
    """Returns the ends of the ranges of joints and tendons."""
    found, rows = [], (*_joint_limits(model, qpos), *_tendon_limits(model, s))
    for kind, number, pos, jac, solref, solimp, invweight, of_tendons in rows:
        imp = impedance(model, solref, solimp, pos)
        vel = total(j * qvel[d] for d, j in jac.items())
        cost = OneSided(where(pos < 0.0, ONE / imp.regularisation(invweight), 0.0))
        limit = Limit(kind, number, pos, vel)
        found.append(Constraint(cost, [imp.aref(vel, pos)], Jacobian([jac]), source=limit, tendons=of_tendons))
    return found


_LimitRow = tuple[str, int, Num, SparseRow, list[Num], list[Num], Num, dict[int, Num]]
"""Kind and number of what is limited, efc_pos, Jacobian, solref, solimp, invweight, derivative by tendons' lengths."""


def _joint_limits(model: Model, qpos: Sequence[Num]) -> Iterator[_LimitRow]:
    for j in joints(model):
        if not model.jnt_limited[j.id] or j.type == JointType.FREE:
            continue
        low, high = row(model.jnt_range, j.id)
        if j.type in (JointType.SLIDE, JointType.HINGE):
            ends = [(qpos[j.qposadr] - low, {j.dofadr: ONE}), (high - qpos[j.qposadr], {j.dofadr: -ONE})]
        else:
            ends = [_ball_limit(qpos[j.qposadr : j.qposadr + 4], j.dofadr, maximum(low, high))]
        params = row(model.jnt_solref, j.id), row(model.jnt_solimp, j.id), nums(model.dof_invweight0)[j.dofadr]
        for dist, jac in ends:
            yield "joint", j.id, dist - nums(model.jnt_margin)[j.id], jac, *params, {}


def _ball_limit(turn: Sequence[Num], dofadr: int, largest: Num) -> tuple[Num, SparseRow]:
    """Returns how far a ball joint's angle is below its largest, and the derivative by degree of freedom."""
    angles = sub_quat(quat(turn).normalised(), IDENTITY)
    size, axis = angles.norm_and_unit()
    return largest - size, {dofadr + i: -a for i, a in enumerate(axis)}


def _tendon_limits(model: Model, s: Smooth) -> Iterator[_LimitRow]:
    for i, tendon in enumerate(s.tendons):
        if model.tendon_limited[i]:
            low, high = row(model.tendon_range, i)
            params = row(model.tendon_solref_lim, i), row(model.tendon_solimp_lim, i), nums(model.tendon_invweight0)[i]
            for dist, side in ((tendon.length - low, ONE), (high - tendon.length, -ONE)):
                jac = {d: side * arm for d, arm in tendon.jac.items()}
                yield "tendon", i, dist - nums(model.tendon_margin)[i], jac, *params, {i: side}
