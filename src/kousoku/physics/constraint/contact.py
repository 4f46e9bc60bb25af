"""Contacts: where shapes touch, and the rows that keep them apart and rub.

References:
    MuJoCo documentation, Computation, "Contact" and "Friction cones".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..algebra.scalar import ONE, SMALLEST, ZERO, Num, absolute, maximum, nums, sqrt, where
from ..algebra.vector import NOWHERE, Six, Vec
from ..collision.candidates import Candidate
from ..collision.narrow_phase import PAIRS, Geom, Shape, Touch
from ..control_flow.cond import only
from ..model import Model
from ..stages.dynamics import Tree
from ..stages.kinematics import geom_frame, row
from ..stages.smooth import Smooth
from .cost import Cone, Law, Push, Pyramid
from .impedance import Softness, softness
from .jacobian import Constraint, Dofs, Grip, Jacobian, by_dof, jacobian, moving, speeds, vanishes

ELLIPTIC = 1


@dataclass(frozen=True)
class Contact:
    """A point where two geoms touch, or may.

    Attributes:
        candidate: the geoms and their parameters.
        touch: the point, the direction and the distance.
        axes: normal, from the first geom to the second, and two tangents.
        used: which of the rows there are: pushes along the axes, then turns about them; those along which nothing can
            move are left out.
    """

    candidate: Candidate
    touch: Touch
    axes: tuple[Vec, Vec, Vec]
    used: tuple[int, ...]

    @property
    def away(self) -> Num:
        """How far apart the geoms are, beyond the margin: below zero the contact is there."""
        return self.touch.distance - self.candidate.margin


def contacts(model: Model, s: Smooth, pairs: Sequence[Candidate]) -> list[Constraint]:
    """Of all points where these pairs of geoms may touch."""
    geoms: dict[int, Geom] = {}
    found = []
    for c in pairs:
        for g in (c.first, c.second):
            if g not in geoms:
                geoms[g] = Geom(geom_frame(model, s.kinematics, g), row(model.geom_size, g))
        kinds = Shape(int(model.geom_type[c.first])), Shape(int(model.geom_type[c.second]))
        one, other = (replace(geoms[g], margin=c.margin) for g in (c.first, c.second))
        found += [_contact(model, s, c, touch) for touch in PAIRS[kinds](one, other)]
    return found


def _contact(model: Model, s: Smooth, c: Candidate, touch: Touch) -> Constraint:
    axes, bodies = frame(touch), (int(model.geom_bodyid[c.first]), int(model.geom_bodyid[c.second]))
    moved = [(body, side) for body, side in zip(bodies, (-1.0, 1.0), strict=True) if moving(model, body)]
    grips = _grips(model, s.tree, moved, touch.point, axes, range(c.condim))
    still = [all(vanishes(model, s.tree, g.wrenches[i], g.body) for g in grips) for i in range(c.condim)]
    used = tuple(i for i in range(c.condim) if i == 0 or not still[i])
    grips = _grips(model, s.tree, moved, touch.point, axes, used)
    contact = Contact(c, touch, axes, used)
    if len(moved) == 1 and not contact.away.known:
        return _seldom(model, s, contact, moved, grips)
    stiffness, wanted = _held(model, s, contact, grips)
    law, one_tree = _law(model, contact, stiffness), model.body_rootid[bodies[0]] == model.body_rootid[bodies[1]]
    return Constraint(law, wanted, jacobian(model, s.tree, grips, bool(one_tree)), grips, contact)


def _seldom(
    model: Model, s: Smooth, contact: Contact, moved: Sequence[tuple[int, float]], grips: list[Grip]
) -> Constraint:
    """A contact of one moving body, most of which is computed only where it is; its grips are left for who asks."""

    def make() -> tuple[list[Num], list[Num], list[Dofs]]:
        axes = frame(contact.touch)  # anew, so that what is computed for them stays in the branch
        own = _grips(model, s.tree, moved, contact.touch.point, axes, contact.used)
        return *_held(model, s, contact, own), by_dof(model, s.tree, own)

    stiffness, wanted, rows = only(contact.away < 0.0, make)
    return Constraint(_law(model, contact, stiffness), wanted, Jacobian(rows), grips, contact, stiffness[0])


def _held(model: Model, s: Smooth, contact: Contact, grips: Sequence[Grip]) -> tuple[list[Num], list[Num]]:
    """The stiffness of the law, and the accelerations that the rows want."""
    c, away = contact.candidate, contact.away
    soft = slip = softness(model, c.solref, c.solimp, away)
    if model.cone == ELLIPTIC and not all(x.is_known(0.0) for x in c.solreffriction):
        slip = softness(model, c.solreffriction, c.solimp, away)
    wanted = [
        slip.reference(speed, ZERO) if i else soft.reference(speed, away)
        for i, speed in zip(contact.used, speeds(s.motion, grips), strict=True)
    ]
    return _stiffness(model, contact, soft), wanted


def _grips(
    model: Model, t: Tree, moved: Sequence[tuple[int, float]], point: Vec, axes: Sequence[Vec], rows: Sequence[int]
) -> list[Grip]:
    return [_grip(model, t, body, side, point, axes, rows) for body, side in moved]


def _grip(model: Model, t: Tree, body: int, side: float, point: Vec, axes: Sequence[Vec], rows: Sequence[int]) -> Grip:
    root = int(model.body_rootid[body])
    found = wrenches(t, root, point, [axis * side for axis in axes])
    if max(rows) >= len(axes):
        return Grip(body, [found[i] for i in rows])
    return Grip(body, [found[i] for i in rows], point - t.subtree_com[root], [axes[i] * side for i in rows])


def inverse_inertia(model: Model, c: Candidate) -> Num:
    """How easily two geoms are pushed apart, when the mechanism is as its file has it."""
    one, other = (nums(model.body_invweight0[int(model.geom_bodyid[g])])[0] for g in (c.first, c.second))
    return one + other


def pyramid(model: Model, soft: Softness, inverse: Num, mu: Num) -> Num:
    """The stiffness of a pyramid's edges."""
    edge = soft.regularisation(inverse + mu * mu * inverse)
    return ONE / maximum(2.0 * mu * mu * edge / Num(model.impratio), SMALLEST)


def _stiffness(model: Model, contact: Contact, soft: Softness) -> list[Num]:
    """Of a cone's rows, or of a pyramid's edges; zero where the geoms are apart."""
    c, inverse = contact.candidate, inverse_inertia(model, contact.candidate)
    first = soft.regularisation(inverse)
    if c.condim == 1:
        found = [ONE / first]
    elif model.cone == ELLIPTIC:
        slip = first / maximum(Num(model.impratio), SMALLEST)
        scale = [c.friction[0] / c.friction[i - 1] for i in contact.used[1:]]
        found = [ONE / r for r in (first, *(slip * x * x for x in scale))]
    else:
        found = [pyramid(model, soft, inverse, c.friction[0])]
    return [where(contact.away < 0.0, x, 0.0, contact.away) for x in found]


def _law(model: Model, contact: Contact, stiffness: list[Num]) -> Law:
    c, used = contact.candidate, contact.used
    friction = [c.friction[i - 1] for i in used[1:]]
    if c.condim == 1:
        return Push(stiffness[0])
    if model.cone == ELLIPTIC:
        return Cone(stiffness, friction, c.friction[0] / sqrt(maximum(Num(model.impratio), SMALLEST)))
    return Pyramid(stiffness[0], friction, c.condim - len(used))


def frame(touch: Touch) -> tuple[Vec, Vec, Vec]:
    """The normal and two tangents, as MuJoCo chooses them, but for the sign of both tangents: see `tangent_sign`."""
    across = _across(touch)
    first = _only(across) or across.direction()[1]
    return touch.normal, first, touch.normal.cross(first)


def tangent_sign(touch: Touch) -> Num:
    """-1 where MuJoCo's tangents point the other way than those of `frame`, else 1."""
    across = _across(touch)
    axis = _only(across)
    if axis is None:
        return ONE
    size = across.dot(axis)
    return where(size < 0.0, -1.0, 1.0, size)


def _across(touch: Touch) -> Vec:
    """A vector along the first tangent."""
    normal, along = touch.normal, touch.along
    if all(part.is_known(0.0) for part in along):
        steep = absolute(normal.y) >= 0.5
        along = Vec(ZERO, where(steep, 0.0, 1.0, normal.y), where(steep, 1.0, 0.0, normal.y))
    return along - normal * normal.dot(along)


def _only(v: Vec) -> Vec | None:
    """The axis that a vector lies along whatever its numbers are, if there is one; its sign is left out."""
    parts = [not part.is_known(0.0) for part in v]
    if sum(parts) != 1 or any(part.known for part, there in zip(v, parts, strict=True) if there):
        return None
    return Vec(*(ONE if there else ZERO for there in parts))


def wrenches(t: Tree, root: int, point: Vec, axes: Sequence[Vec]) -> list[Six]:
    """What pushes at a point along the axes, and turns about them, do to the bodies of a tree."""
    arm = point - t.subtree_com[root]
    return [*(Six(arm.cross(axis), axis) for axis in axes), *(Six(axis, NOWHERE) for axis in axes)]
