"""Rows of joints and tendons: dry friction, and the ends of their ranges.

References:
    MuJoCo documentation, Computation, "Constraint model", friction loss and limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.scalar import ONE, ZERO, Num, maximum, nums, total, where
from ..algebra.vector import UNTURNED, quat
from ..model import Model
from ..stages.joints import Kind, joints
from ..stages.kinematics import row
from ..stages.passive import turned
from ..stages.smooth import Smooth
from .cost import Push, Rub
from .impedance import softness
from .jacobian import Constraint, Dofs, Jacobian


@dataclass(frozen=True)
class Limit:
    """An end of a range.

    Attributes:
        kind: of what: "joint" or "tendon".
        number: of that.
        away: how far from the end, beyond the margin: below zero it holds.
        speed: at which that grows.
    """

    kind: str
    number: int
    away: Num
    speed: Num


def friction(model: Model, s: Smooth, qvel: Sequence[Num]) -> list[Constraint]:
    """Dry friction of degrees of freedom and tendons: held still, with a bounded force."""
    parts = [
        ({d: ONE}, loss, row(model.dof_solref, d), row(model.dof_solimp, d), nums(model.dof_invweight0)[d])
        for d, loss in enumerate(nums(model.dof_frictionloss))
    ]
    for i, loss in enumerate(nums(model.tendon_frictionloss)):
        weight = nums(model.tendon_invweight0)[i]
        soft = row(model.tendon_solref_fri, i), row(model.tendon_solimp_fri, i)
        parts.append((s.tendons[i].arms, loss, *soft, weight))
    found = []
    for jacobian, loss, solref, solimp, inverse in parts:
        if not (loss.known and loss.value <= 0.0):
            soft_ = softness(model, solref, solimp, ZERO)
            speed = total(j * qvel[d] for d, j in jacobian.items())
            law = Rub(ONE / soft_.regularisation(inverse), loss)
            found.append(Constraint(law, [soft_.reference(speed, ZERO)], Jacobian([jacobian]), of="friction"))
    return found


def limits(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Constraint]:
    """Ends of the ranges of joints and tendons."""
    found = []
    for kind, number, away, jacobian, solref, solimp, inverse in (*_joint_ends(model, qpos), *_tendon_ends(model, s)):
        soft = softness(model, solref, solimp, away)
        speed = total(j * qvel[d] for d, j in jacobian.items())
        law = Push(where(away < 0.0, ONE / soft.regularisation(inverse), 0.0, like=away))
        end = Limit(kind, number, away, speed)
        found.append(Constraint(law, [soft.reference(speed, away)], Jacobian([jacobian]), of=end))
    return found


End = tuple[str, int, Num, Dofs, list[Num], list[Num], Num]


def _joint_ends(model: Model, qpos: Sequence[Num]) -> Iterator[End]:
    for j in joints(model):
        if not model.jnt_limited[j.id]:
            continue
        low, high = row(model.jnt_range, j.id)
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            ends = [(qpos[j.qpos] - low, {j.dof: ONE}), (high - qpos[j.qpos], {j.dof: -ONE})]
        else:
            ends = [_ball_end(qpos[j.qpos : j.qpos + 4], j.dof, maximum(low, high))]
        soft = row(model.jnt_solref, j.id), row(model.jnt_solimp, j.id), nums(model.dof_invweight0)[j.dof]
        for distance, jacobian in ends:
            yield "joint", j.id, distance - nums(model.jnt_margin)[j.id], jacobian, *soft


def _ball_end(turn: Sequence[Num], dof: int, most: Num) -> tuple[Num, Dofs]:
    angles = turned(quat(turn).normalised(), UNTURNED)
    size, axis = angles.direction()
    return most - size, {dof + i: -a for i, a in enumerate(axis)}


def _tendon_ends(model: Model, s: Smooth) -> Iterator[End]:
    for i, tendon in enumerate(s.tendons):
        if model.tendon_limited[i]:
            low, high = row(model.tendon_range, i)
            soft = row(model.tendon_solref_lim, i), row(model.tendon_solimp_lim, i), nums(model.tendon_invweight0)[i]
            for distance, side in ((tendon.length - low, 1.0), (high - tendon.length, -1.0)):
                arms = {d: side * arm for d, arm in tendon.arms.items()}
                yield "tendon", i, distance - nums(model.tendon_margin)[i], arms, *soft
