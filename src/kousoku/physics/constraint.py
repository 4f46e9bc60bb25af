"""Constraints as rows: how each moves with the degrees of freedom, and how softly it is held.

A row of Jacobian J acts where it is active: with force f >= 0 for limits and contacts, bounded for dry friction, free
for equalities. It wants the acceleration J qacc to be the reference -b (J qvel) - k imp (position - margin), with a
regularisation R that grows with the inverse inertia seen along the row.

References:
    MuJoCo documentation, Computation, "Constraint model": equations for impedance, reference and regularisation;
    Modeling, "Solver parameters".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from .collision.candidates import Candidate, candidates
from .collision.shapes import PAIRS, Geom, Shape, Touch
from .dynamics import Tree
from .joints import Kind, ancestors, joints, last_dof
from .kinematics import geom_frame, row
from .model import Model
from .scalar import ONE, ZERO, Num, Truth, absolute, clipped, maximum, nums, power, sqrt, total, where
from .smooth import Smooth
from .vector import Vec

SMALLEST = 1e-15
LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999

Jacobian = dict[int, Num]


class Law(Enum):
    """What forces a row may bring about."""

    EQUALITY = 0
    FRICTION = 1
    PUSH = 2


@dataclass(frozen=True)
class Row:
    """One scalar constraint.

    Attributes:
        jacobian: by degree of freedom.
        law: which forces it may have.
        stiffness: D = 1 / R.
        reference: the acceleration that it wants.
        active: whether it is there at all.
        bound: the largest friction force; of dry friction.
    """

    jacobian: Jacobian
    law: Law
    stiffness: Num
    reference: Num
    active: Truth = True
    bound: Num = ZERO


def rows(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Row]:
    """All rows that the model can have, in MuJoCo's order: friction, limits, contacts."""
    if model.no_constraint:
        return []
    found: list[Row] = []
    if not model.no_frictionloss:
        found += friction_rows(model, s, qvel)
    if not model.no_limit:
        found += limit_rows(model, s, qpos, qvel)
    for candidate in candidates(model):
        found += contact_rows(model, s, qvel, candidate)
    return found


# ---- softness


@dataclass(frozen=True)
class Softness:
    """How a constraint is held: impedance, and stiffness and damping of its reference."""

    impedance: Num
    stiffness: Num
    damping: Num

    def reference(self, velocity: Num, away: Num) -> Num:
        """The acceleration that it wants."""
        return -(self.damping * velocity) - self.stiffness * self.impedance * away

    def regularisation(self, inverse_inertia: Num) -> Num:
        """R."""
        return maximum(inverse_inertia * (1.0 - self.impedance) / self.impedance, SMALLEST)


def softness(model: Model, solref: list[Num], solimp: list[Num], away: Num) -> Softness:
    """At a distance `away` from where it begins to act."""
    low, high = (clipped(d, LEAST_IMPEDANCE, MOST_IMPEDANCE) for d in solimp[:2])
    width, middle = maximum(solimp[2], 0.0), clipped(solimp[3], LEAST_IMPEDANCE, MOST_IMPEDANCE)
    impedance = _impedance(low, high, width, middle, maximum(solimp[4], 1.0), away)
    time, ratio = solref[0], solref[1]
    standard = time > 0.0
    if not isinstance(standard, bool):
        raise NotImplementedError("solref that differs from lane to lane")
    if not standard:
        return Softness(impedance, -time / maximum(high * high, SMALLEST), -ratio / maximum(high, SMALLEST))
    if not model.no_refsafe:
        time = maximum(time, 2.0 * Num(model.timestep))
    stiffness = ONE / maximum(high * high * time * time * ratio * ratio, SMALLEST)
    return Softness(impedance, stiffness, 2.0 / maximum(high * time, SMALLEST))


def _impedance(low: Num, high: Num, width: Num, middle: Num, exponent: Num, away: Num) -> Num:
    flat = low.known and high.known and low.value == high.value
    if flat or (width.known and width.value <= SMALLEST):
        return 0.5 * (low + high)
    x = absolute(away) / width
    curve = x
    if not exponent.is_known(1.0):
        rising = power(x, exponent) / power(middle, exponent - 1.0)
        falling = 1.0 - power(maximum(1.0 - x, 0.0), exponent) / power(1.0 - middle, exponent - 1.0)
        curve = where(x <= middle, rising, falling)
    return where(x >= 1.0, high, low + curve * (high - low))


def _row(
    model: Model, jacobian: Jacobian, qvel: Sequence[Num], away: Num, inverse: Num, solref: list[Num],
    solimp: list[Num], active: Truth,
) -> Row:  # fmt: skip
    soft = softness(model, solref, solimp, away)
    velocity = total(j * qvel[d] for d, j in jacobian.items())
    return Row(jacobian, Law.PUSH, ONE / soft.regularisation(inverse), soft.reference(velocity, away), active)


# ---- friction and limits


def friction_rows(model: Model, s: Smooth, qvel: Sequence[Num]) -> list[Row]:
    """Dry friction of degrees of freedom and tendons: held still, with a bounded force."""
    parts = [
        ({d: ONE}, loss, row(model.dof_solref, d), row(model.dof_solimp, d), nums(model.dof_invweight0)[d])
        for d, loss in enumerate(nums(model.dof_frictionloss))
    ]
    for i, loss in enumerate(nums(model.tendon_frictionloss)):
        weight = nums(model.tendon_invweight0)[i]
        softness_of = row(model.tendon_solref_fri, i), row(model.tendon_solimp_fri, i)
        parts.append((s.tendons[i].arms, loss, *softness_of, weight))
    found = []
    for jacobian, loss, solref, solimp, inverse in parts:
        if not (loss.known and loss.value <= 0.0):
            soft = softness(model, solref, solimp, ZERO)
            velocity = total(j * qvel[d] for d, j in jacobian.items())
            wanted = -(soft.damping * velocity)
            found.append(Row(jacobian, Law.FRICTION, ONE / soft.regularisation(inverse), wanted, True, loss))
    return found


def limit_rows(model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num]) -> list[Row]:
    """Ends of the ranges of joints and tendons."""
    found = []
    for j in joints(model):
        if not model.jnt_limited[j.id]:
            continue
        low, high = row(model.jnt_range, j.id)
        inverse = nums(model.dof_invweight0)[j.dof]
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            ends = [(qpos[j.qpos] - low, {j.dof: ONE}), (high - qpos[j.qpos], {j.dof: -ONE})]
        else:
            ends = [_ball_end(qpos[j.qpos : j.qpos + 4], j.dof, maximum(low, high))]
        for distance, jacobian in ends:
            away = distance - nums(model.jnt_margin)[j.id]
            soft = row(model.jnt_solref, j.id), row(model.jnt_solimp, j.id)
            found.append(_row(model, jacobian, qvel, away, inverse, *soft, away < 0.0))
    for i, tendon in enumerate(s.tendons):
        if model.tendon_limited[i]:
            low, high = row(model.tendon_range, i)
            inverse = nums(model.tendon_invweight0)[i]
            for distance, side in ((tendon.length - low, 1.0), (high - tendon.length, -1.0)):
                away = distance - nums(model.tendon_margin)[i]
                soft = row(model.tendon_solref_lim, i), row(model.tendon_solimp_lim, i)
                arms = {d: side * arm for d, arm in tendon.arms.items()}
                found.append(_row(model, arms, qvel, away, inverse, *soft, away < 0.0))
    return found


def _ball_end(turn: Sequence[Num], dof: int, most: Num) -> tuple[Num, Jacobian]:
    from .passive import turned
    from .vector import UNTURNED, quat

    angles = turned(quat(turn).normalised(), UNTURNED)
    square = angles.dot(angles)
    tiny = square < SMALLEST**2
    size = sqrt(where(tiny, 1.0, square))
    axis = [where(tiny, 0.0, a / size) for a in angles]
    return most - where(tiny, 0.0, size), {dof + i: -a for i, a in enumerate(axis)}


# ---- contacts


def contact_rows(model: Model, s: Smooth, qvel: Sequence[Num], c: Candidate) -> list[Row]:
    """Rows of all points where two geoms may touch, with a pyramid of friction."""
    geoms = [Geom(geom_frame(model, s.kinematics, g), row(model.geom_size, g)) for g in (c.first, c.second)]
    kinds = tuple(Shape(int(model.geom_type[g])) for g in (c.first, c.second))
    touches = PAIRS[kinds](*geoms)  # type: ignore[index]
    return [r for touch in touches for r in _pyramid(model, s.tree, qvel, c, touch)]


def _pyramid(model: Model, t: Tree, qvel: Sequence[Num], c: Candidate, touch: Touch) -> list[Row]:
    bodies = [int(model.geom_bodyid[g]) for g in (c.first, c.second)]
    axes = frame(touch)
    slides = _relative(model, t, bodies, touch.point, axes, rotation=False)
    turns = _relative(model, t, bodies, touch.point, axes, rotation=True) if c.condim > 3 else []
    weights = [nums(model.body_invweight0[b]) for b in bodies]
    slide, turn = (weights[0][i] + weights[1][i] for i in range(2))
    away = touch.distance - c.margin
    soft = softness(model, c.solref, c.solimp, away)
    active = away < 0.0

    def made(jacobian: Jacobian, regularisation: Num) -> Row:
        velocity = total(j * qvel[d] for d, j in jacobian.items())
        return Row(jacobian, Law.PUSH, ONE / regularisation, soft.reference(velocity, away), active)

    normal, *others = [*slides, *turns][: c.condim]
    if c.condim == 1:
        return [made(normal, soft.regularisation(slide))]
    mu = c.friction[0]
    first = soft.regularisation(slide + mu * mu * slide)
    shared = maximum(2.0 * mu * mu * first / Num(model.impratio), SMALLEST)
    found = []
    for friction, other in zip(c.friction, others, strict=False):
        for side in (1.0, -1.0):
            found.append(made(_summed(normal, other, side * friction), shared))
    assert turn is not None
    return found


def _summed(a: Jacobian, b: Jacobian, factor: Num) -> Jacobian:
    return {d: a.get(d, ZERO) + factor * b.get(d, ZERO) for d in {**a, **b}}


def frame(touch: Touch) -> tuple[Vec, Vec, Vec]:
    """The normal and two tangents, as MuJoCo chooses them."""
    normal = touch.normal
    along = touch.along
    if all(part.is_known(0.0) for part in along):
        steep = absolute(normal.y) >= 0.5
        along = Vec(ZERO, where(steep, 0.0, 1.0, normal.y), where(steep, 1.0, 0.0, normal.y))
    along = along - normal * normal.dot(along)
    size = along.norm()
    first = Vec(*(a / size for a in along))
    return normal, first, normal.cross(first)


def _relative(
    model: Model, t: Tree, bodies: list[int], point: Vec, axes: Iterable[Vec], rotation: bool
) -> list[Jacobian]:
    """How the second body moves against the first at a point, along each axis."""
    found: list[dict[int, Vec]] = []
    for body in bodies:
        arm = point - t.subtree_com[int(model.body_rootid[body])]
        found.append(
            {
                d: t.motion[d].rot if rotation else t.motion[d].lin + t.motion[d].rot.cross(arm)
                for d in ancestors(model, last_dof(model, body))
            }
        )
    near, far = found
    both: dict[int, Vec] = {}
    for d in sorted({*near, *far}):
        if d in near and d in far:
            both[d] = far[d] - near[d]
        else:
            both[d] = far[d] if d in far else -near[d]
    return [{d: axis.dot(v) for d, v in both.items()} for axis in axes]
