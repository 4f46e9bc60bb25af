"""Constraints of contacts: where geoms touch, and the rows that keep them apart and rub (mj_instantiateContact).

References:
    MuJoCo documentation, Computation, "Contact" and "Friction cones".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ..algebra.scalar import MINVAL, ONE, ZERO, Num, absolute, logical_and, maximum, nums, row, sqrt, where
from ..algebra.spatial import SpatialVec
from ..algebra.vector import ZERO3, Vec
from ..collision.candidates import Candidate, geom_types
from ..collision.geom import ContactPoint, GeomInfo
from ..collision.narrow_phase import COLLISION_FUNCTIONS
from ..control_flow.cond import cond_or_zeros
from ..model import Model
from ..stages.com_pos import ComPos
from ..stages.joints import moving_ancestor
from ..stages.kinematics import geom_frame
from ..stages.smooth import Smooth
from .cost import ConstraintCost, EllipticCone, OneSided, PyramidalCone
from .impedance import Impedance, impedance
from .jacobian import (
    BodyJacobian,
    Constraint,
    Jacobian,
    SparseRow,
    cannot_move_along,
    efc_vel,
    jacobian,
    sparse_rows,
)

ELLIPTIC = 1
"""MuJoCo's mjCONE_ELLIPTIC."""
LEAST_FRICTION = 30.0
"""The friction below which the edges of a pyramid grow no stiffer, in units of the root of a dtype's smallest step."""


@dataclass(frozen=True)
class Contact:
    """A point where two geoms touch, or may: MuJoCo's mjContact.

    Attributes:
        candidate: the geoms and their parameters.
        point: position, normal and distance.
        frame: the normal, from the first geom to the second, and two tangents.
        used: which of the rows there are: pushes along the frame's axes, then turns about them; those along which
            nothing can move are left out.
    """

    candidate: Candidate
    point: ContactPoint
    frame: tuple[Vec, Vec, Vec]
    used: tuple[int, ...]

    @property
    def efc_pos(self) -> Num:
        """The distance of the geoms, less the margin: below zero the contact is active."""
        return self.point.dist - self.candidate.margin


def contacts(model: Model, s: Smooth, candidates: Sequence[Candidate]) -> list[Constraint]:
    """Returns a constraint for each point where candidate pairs of geoms may touch that can move against each other."""
    moving = [c for c in candidates if not move_as_one(model, c)]
    return [_constraint(model, s, c, point) for c, point in _points(model, s, moving)]


def contacts_at_rest(model: Model, s: Smooth, candidates: Sequence[Candidate]) -> list[Contact]:
    """Returns the points where candidate pairs of geoms may touch that move as one: they have no rows."""
    at_rest = [c for c in candidates if move_as_one(model, c)]
    return [Contact(c, point, contact_frame(point), ()) for c, point in _points(model, s, at_rest)]


def move_as_one(model: Model, candidate: Candidate) -> bool:
    """Returns whether two geoms cannot move against each other.

    They are of one body, of bodies welded together, or both fixed to the world.
    """
    one, other = bodies(model, candidate)
    return bool(model.body_weldid[one] == model.body_weldid[other])


def bodies(model: Model, candidate: Candidate) -> tuple[int, int]:
    """Returns the bodies of two geoms."""
    return int(model.geom_bodyid[candidate.geom1]), int(model.geom_bodyid[candidate.geom2])


def _points(model: Model, s: Smooth, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, ContactPoint]]:
    """Yields each point where geoms may touch."""
    geoms: dict[int, GeomInfo] = {}
    for c in candidates:
        for g in (c.geom1, c.geom2):
            if g not in geoms:
                geoms[g] = GeomInfo(geom_frame(model, s.kinematics, g), row(model.geom_size, g))
        one, other = (replace(geoms[g], margin=c.margin) for g in (c.geom1, c.geom2))
        yield from ((c, point) for point in COLLISION_FUNCTIONS[geom_types(model, c)](one, other))


def _constraint(model: Model, s: Smooth, c: Candidate, point: ContactPoint) -> Constraint:
    frame, ends = contact_frame(point), bodies(model, c)
    sides = [(body, side) for body, side in zip(ends, (-1.0, 1.0), strict=True) if moving_ancestor(model, body)]
    jacs = _body_jacobians(model, s.com_pos, sides, point.pos, frame, range(c.condim))
    fixed = [
        all(cannot_move_along(model, s.com_pos, jac.wrenches[i], jac.body) for jac in jacs) for i in range(c.condim)
    ]
    used = tuple(i for i in range(c.condim) if i == 0 or not fixed[i])
    jacs = _body_jacobians(model, s.com_pos, sides, point.pos, frame, used)
    contact = Contact(c, point, frame, used)
    if len(sides) == 1 and not contact.efc_pos.known:
        return _conditional(model, s, contact, sides, jacs)
    D, aref = _weights_and_aref(model, s, contact, jacs)
    cost, one_tree = _cost(model, contact, D), model.body_rootid[ends[0]] == model.body_rootid[ends[1]]
    return Constraint(cost, aref, jacobian(model, s.com_pos, jacs, bool(one_tree)), jacs, contact)


def _conditional(
    model: Model, s: Smooth, contact: Contact, sides: Sequence[tuple[int, float]], jacs: list[BodyJacobian]
) -> Constraint:
    """Returns a contact of one moving body, most of which is computed only where it is active.

    Its rows on the body, `jacs`, are outside the branch, for those who ask.
    """

    def make() -> tuple[list[Num], list[Num], list[SparseRow]]:
        frame = contact_frame(contact.point)  # anew, so that what is computed for it stays in the branch
        own = _body_jacobians(model, s.com_pos, sides, contact.point.pos, frame, contact.used)
        return *_weights_and_aref(model, s, contact, own), sparse_rows(model, s.com_pos, own)

    D, aref, rows = cond_or_zeros(contact.efc_pos < 0.0, make)
    return Constraint(_cost(model, contact, D), aref, Jacobian(rows), jacs, contact, D[0])


def _weights_and_aref(
    model: Model, s: Smooth, contact: Contact, jacs: Sequence[BodyJacobian]
) -> tuple[list[Num], list[Num]]:
    """Returns D of the cost, and the reference accelerations of the rows."""
    c, pos = contact.candidate, contact.efc_pos
    normal = tangent = impedance(model, c.solref, c.solimp, pos)
    not_given = reduce(logical_and, (absolute(x) <= 0.0 for x in c.solreffriction), True)
    if model.cone == ELLIPTIC and not_given is not True:
        own = impedance(model, c.solreffriction, c.solimp, pos)
        tangent = replace(normal, k=where(not_given, normal.k, own.k), b=where(not_given, normal.b, own.b))
    aref = [
        tangent.aref(vel, ZERO) if i else normal.aref(vel, pos)
        for i, vel in zip(contact.used, efc_vel(s.com_vel, jacs), strict=True)
    ]
    return _weights(model, contact, normal), aref


def _body_jacobians(
    model: Model, com: ComPos, sides: Sequence[tuple[int, float]], point: Vec, frame: Sequence[Vec], used: Sequence[int]
) -> list[BodyJacobian]:
    return [_body_jacobian(model, com, body, side, point, frame, used) for body, side in sides]


def _body_jacobian(
    model: Model, com: ComPos, body: int, side: float, point: Vec, frame: Sequence[Vec], used: Sequence[int]
) -> BodyJacobian:
    """Returns the used rows of a contact on one of its bodies: side 1 is the second geom's, -1 the first one's."""
    root = int(model.body_rootid[body])
    found = axis_wrenches(com, root, point, [axis * side for axis in frame])
    if max(used) >= len(frame):
        return BodyJacobian(body, [found[i] for i in used])
    return BodyJacobian(body, [found[i] for i in used], point - com.subtree_com[root], [frame[i] * side for i in used])


def contact_invweight(model: Model, c: Candidate) -> Num:
    """Returns the approximate inverse inertia of two geoms along the normal, in the position of the file [1/kg]."""
    one, other = (nums(model.body_invweight0[int(model.geom_bodyid[g])])[0] for g in (c.geom1, c.geom2))
    return one + other


def edge_weight(model: Model, imp: Impedance, pos: Num, invweight: Num, mu: Num) -> Num:
    """Returns D of the edges of a friction pyramid, where `mu` is the coefficient of the first tangent.

    D grows with 1 / mu^2, until the normal forces that hold a body are lost in rounding error. So edges are never
    stiffer than those of `LEAST_FRICTION`, in the dtype of the violation `pos`; the friction itself stays as it is.
    """
    edge = imp.regularisation(invweight + mu * mu * invweight)
    dtype = np.float64 if pos.known else pos.value.dtype
    mu = maximum(mu, LEAST_FRICTION * float(np.sqrt(np.finfo(dtype).eps)))
    return ONE / maximum(2.0 * mu * mu * edge / maximum(Num(model.impratio), MINVAL), MINVAL)


def _weights(model: Model, contact: Contact, imp: Impedance) -> list[Num]:
    """Returns D of a cone's rows, or of a pyramid's edges; zero where the geoms are apart."""
    c, invweight = contact.candidate, contact_invweight(model, contact.candidate)
    R = imp.regularisation(invweight)
    if c.condim == 1:
        found = [ONE / R]
    elif model.cone == ELLIPTIC:
        R_tangent = R / maximum(Num(model.impratio), MINVAL)
        scale = [c.friction[0] / c.friction[i - 1] for i in contact.used[1:]]
        found = [ONE / r for r in (R, *(R_tangent * x * x for x in scale))]
    else:
        found = [edge_weight(model, imp, contact.efc_pos, invweight, c.friction[0])]
    return [where(contact.efc_pos < 0.0, x, 0.0) for x in found]


def _cost(model: Model, contact: Contact, D: list[Num]) -> ConstraintCost:
    c, used = contact.candidate, contact.used
    friction = [c.friction[i - 1] for i in used[1:]]
    if c.condim == 1:
        return OneSided(D[0])
    if model.cone == ELLIPTIC:
        return EllipticCone(D, friction, c.friction[0] / sqrt(maximum(Num(model.impratio), MINVAL)))
    return PyramidalCone(D[0], friction, c.condim - len(used))


def contact_frame(point: ContactPoint) -> tuple[Vec, Vec, Vec]:
    """Returns the normal and two tangents, as MuJoCo chooses them (mju_makeFrame), but for the tangents' sign.

    See `tangent_sign`.
    """
    tangent = _tangent(point)
    first = _known_axis(tangent) or tangent.norm_and_unit()[1]
    return point.normal, first, point.normal.cross(first)


def tangent_sign(point: ContactPoint) -> Num:
    """Returns -1 where MuJoCo's tangents point the other way than those of `contact_frame`, else 1."""
    tangent = _tangent(point)
    axis = _known_axis(tangent)
    if axis is None:
        return ONE
    size = tangent.dot(axis)
    return where(size < 0.0, -1.0, 1.0)


def _tangent(point: ContactPoint) -> Vec:
    """Returns a vector along the first tangent; known to be zero if it is known to lie along the normal."""
    normal, tangent = point.normal, point.tangent
    axis = _known_axis(tangent)
    if axis and all(n.known and (n.value != 0.0) == a.is_known(1.0) for n, a in zip(normal, axis, strict=True)):
        return ZERO3
    if all(part.is_known(0.0) for part in tangent):
        steep = absolute(normal.y) >= 0.5
        tangent = Vec(ZERO, where(steep, 0.0, 1.0), where(steep, 1.0, 0.0))
    return tangent - normal * normal.dot(tangent)


def _known_axis(v: Vec) -> Vec | None:
    """Returns the axis that a vector lies along whatever its traced numbers are, without its sign; None if none."""
    parts = [not part.is_known(0.0) for part in v]
    if sum(parts) != 1 or any(part.known for part, nonzero in zip(v, parts, strict=True) if nonzero):
        return None
    return Vec(*(ONE if nonzero else ZERO for nonzero in parts))


def axis_wrenches(com: ComPos, root: int, point: Vec, axes: Sequence[Vec]) -> list[SpatialVec]:
    """Returns wrenches about a tree's centre of mass: unit forces at a point along the axes, then unit torques."""
    arm = point - com.subtree_com[root]
    return [*(SpatialVec(arm.cross(axis), axis) for axis in axes), *(SpatialVec(axis, ZERO3) for axis in axes)]
