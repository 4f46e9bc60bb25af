"""Contacts between many moving bodies: found at run time and put into a list.

A humanoid has more than a hundred pairs of limbs that could touch, and hardly ever do. Written out like other contacts
they would be most of the program. Here pairs of the same types of geoms share one loop that looks where they are;
those within their margin are put into a list of rows, and the solver goes over the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...compiler import any_lane
from ..algebra.scalar import (
    ONE,
    ZERO,
    Bool,
    Condition,
    Num,
    absolute,
    logical_and,
    maximum,
    nums,
    to_array,
    total,
    where,
)
from ..algebra.vector import ZERO3, Vec
from ..collision.candidates import Candidate, candidates, geom_types
from ..collision.geom import ContactPoint, GeomInfo, GeomType, bounding_radius
from ..collision.narrow_phase import COLLISION_FUNCTIONS
from ..control_flow.empty import empty_unbatched
from ..control_flow.scan_prefix import scan_prefix
from ..model import Model
from ..stages.joints import ancestors, last_dof, moving_ancestor
from ..stages.kinematics import geom_frame, pack_frame, unpack_frame
from ..stages.smooth import Smooth
from .contact import ELLIPTIC, axis_wrenches, contact_frame, contact_invweight, edge_weight, move_as_one
from .contact_list import ContactList, ContactRow
from .impedance import impedance

MOST_WRITTEN_OUT = 8
"""Up to so many pairs of moving bodies are written out."""
BITS = 32
"""Bits of a word of the set of points within their margin."""
SLACK = 1.001
"""How much more than bounding spheres reach is looked at, so that no rounding hides what touches."""
CANCELLATION = 1e-6
"""What a difference of squares may lose in float32, for each unit of these."""


def split_candidates(model: Model) -> tuple[list[Candidate], list[Candidate]]:
    """Returns the pairs of geoms that have constraints of their own, and those that are listed while they touch.

    Pairs of two bodies that move, not as one, are listed if there are many of them; not those with elliptic cones.
    """
    found = candidates(model)

    def can_be_listed(c: Candidate) -> bool:
        both_move = all(moving_ancestor(model, int(model.geom_bodyid[g])) for g in (c.geom1, c.geom2))
        return both_move and not move_as_one(model, c) and (c.condim == 1 or model.cone != ELLIPTIC)

    many = [c for c in found if can_be_listed(c)]
    return (found, []) if len(many) <= MOST_WRITTEN_OUT else ([c for c in found if not can_be_listed(c)], many)


def contact_list(model: Model, s: Smooth, pairs: Sequence[Candidate], qvel: Sequence[Num], dtype: Any) -> ContactList:
    """Returns the rows of all contacts of these pairs that are within their margin."""
    ordered = sorted(pairs, key=lambda c: geom_types(model, c))
    geoms = {g: geom_frame(model, s.kinematics, g) for c in ordered for g in (c.geom1, c.geom2)}
    index = {g: i for i, g in enumerate(sorted(geoms))}
    frames = jnp.stack([pack_frame(geoms[g], dtype) for g in sorted(geoms)])
    has_friction = any(c.condim > 1 for c in ordered)
    points, owners = [], []
    for types, group in groupby(ordered, key=lambda c: geom_types(model, c)):
        same = list(group)
        found = _points(model, same, types, frames, index, has_friction, dtype)
        points.append(found.reshape(-1, found.shape[-1]))
        owners += [c for c in same for _ in range(found.shape[1])]
    return PossibleContacts(model, s, owners, points, qvel, dtype).active_rows()


def _points(
    model: Model,
    pairs: Sequence[Candidate],
    types: tuple[GeomType, GeomType],
    frames: jax.Array,
    index: dict[int, int],
    has_friction: bool,
    dtype: Any,
) -> jax.Array:
    """Returns the points of pairs of the same types [pairs, points, 10]: efc_pos, position, normal and first tangent.

    Without the tangent, [pairs, points, 7], if no pair has friction. `frames` has the geoms of `index`, packed.
    """
    ends = np.array([[index[c.geom1], index[c.geom2]] for c in pairs], np.int32)
    sizes = to_array([x for c in pairs for g in (c.geom1, c.geom2) for x in nums(model.geom_size[g])], dtype)
    reaches = to_array([x for c in pairs for x in _squared_reaches(model, c)], dtype)
    margins = to_array([c.margin for c in pairs], dtype)

    def look(_: None, pair: Any) -> tuple[None, jax.Array]:
        ends, size, reach, margin = pair
        pair_frames = [unpack_frame(frames[end]) for end in ends]
        one, other = (GeomInfo(f, nums(x), Num(margin)) for f, x in zip(pair_frames, size, strict=True))

        def narrow_phase() -> jax.Array:
            touches = COLLISION_FUNCTIONS[types](one, other)
            return jnp.stack([_pack_point(point, Num(margin), has_friction, dtype) for point in touches])

        close = _may_touch(types, one, other, nums(reach))
        assert isinstance(close, Condition), "tables of pairs are traced"
        shape = jax.eval_shape(narrow_phase)
        # Elsewhere too the points are beyond the margin, and of those nothing is read but that they are.
        return None, lax.cond(any_lane(close.value), narrow_phase, lambda: jnp.ones(shape.shape, dtype))

    tables = jnp.asarray(ends), sizes.reshape(len(pairs), 2, -1), reaches.reshape(len(pairs), -1), margins
    return lax.scan(look, None, tables)[1]


def _squared_reaches(model: Model, c: Candidate) -> list[Num]:
    """Returns squares of distances within which two geoms may touch.

    Of their centres, then of the axis of each from the other's centre [m^2].
    """
    bounds = [bounding_radius(model, g) for g in (c.geom1, c.geom2)]
    radii = [nums(model.geom_size[g])[0] for g in (c.geom1, c.geom2)]
    found = [total([*bounds, c.margin]), radii[0] + bounds[1] + c.margin, radii[1] + bounds[0] + c.margin]
    squares = [reach * reach * (SLACK * SLACK) for reach in found]
    return [squares[0], *(square + squares[0] * CANCELLATION for square in squares[1:])]


def _may_touch(types: Sequence[GeomType], one: GeomInfo, other: GeomInfo, reach: Sequence[Num]) -> Bool:
    """Returns whether the bounding spheres touch, and each of them the other geom if that is a capsule."""
    between = other.frame.pos - one.frame.pos
    square = between.dot(between)
    found = square < reach[0]
    for geom_type, geom, far in zip(types, (one, other), reach[1:], strict=True):
        if geom_type == GeomType.CAPSULE:
            along = absolute(between.dot(geom.axis))
            beyond = maximum(along - geom.size[1], 0.0)
            found = logical_and(found, square - along * along + beyond * beyond < far)
    return found


def _pack_point(point: ContactPoint, margin: Num, has_friction: bool, dtype: Any) -> jax.Array:
    tangent = contact_frame(point)[1] if has_friction else ()
    return to_array([point.dist - margin, *point.pos, *point.normal, *tangent], dtype)


@dataclass(frozen=True)
class PossibleContacts:
    """All points where listed pairs may touch, and what belongs to each.

    Attributes:
        model, smooth: the mechanism and its position.
        owners: the pair that each point belongs to [points].
        points: [k, 10 or 7] of each two types of geoms, in the same order; see `_points`. They are not put together:
            few are within their margin, and read again.
        qvel: velocities [nv].
        dtype: the dtype of the rows.
    """

    model: Model
    smooth: Smooth
    owners: list[Candidate]
    points: list[jax.Array]
    qvel: Sequence[Num]
    dtype: Any

    def active_rows(self) -> ContactList:
        """Returns the rows of the points that are within their margin."""
        chosen, count = self._active_points()
        rows = scan_prefix(count, chosen, None, lambda _, point: (None, self._block(point)))[1]
        return ContactList(rows, count * jnp.int32(self.rows_per_point), self.pairs)

    def _block(self, point: jax.Array) -> ContactRow:
        """Returns the rows of a point, [rows_per_point, ...]."""
        pair, rows = self._of(point, self._pair_numbers), list(self._rows(point))
        wrenches = [[pair, *row.point, *row.force, *row.torque] for row in rows]
        jacobian, wrench = (
            jnp.stack([to_array(x, self.dtype) for x in part]) for part in ([r.jacobian for r in rows], wrenches)
        )
        D, aref = (to_array(x, self.dtype) for x in zip(*((r.D, r.aref) for r in rows), strict=True))
        return ContactRow(jacobian, D, aref, wrench)

    def _active_points(self) -> tuple[jax.Array, jax.Array]:
        """Returns the numbers of the points that are within their margin [points], and how many they are."""

        def any_left(carry: Any) -> jax.Array:
            return jnp.any(carry[0] != 0)

        def append(carry: Any) -> Any:
            words, count, chosen = carry
            words, point = _pop_first_bit(words)
            return words, count + jnp.int32(1), chosen.at[count].set(point)

        undefined = empty_unbatched((len(self.owners),), jnp.int32)
        _, count, chosen = lax.while_loop(any_left, append, (self._active_bits(), jnp.int32(0), undefined))
        return chosen, count

    @cached_property
    def pairs(self) -> tuple[Candidate, ...]:
        """The pairs without repetition."""
        return tuple({id(c): c for c in self.owners}.values())

    @cached_property
    def _pair_numbers(self) -> list[Num]:
        """The number of each point's pair."""
        index = {id(c): i for i, c in enumerate(self.pairs)}
        return [Num(float(index[id(c)])) for c in self.owners]

    @property
    def rows_per_point(self) -> int:
        """How many rows each point has: the edges of a pyramid, or one without friction."""
        condim = max(c.condim for c in self.owners)
        return 1 if condim == 1 else 2 * (condim - 1)

    def _active_bits(self) -> jax.Array:
        """Returns which points are within their margin, as a set of bits: uint32 words."""
        size = -(-len(self.owners) // BITS)
        within = jnp.concatenate([part[:, 0] < 0.0 for part in self.points])
        within = jnp.pad(within, (0, size * BITS - len(self.owners)))
        bits = within.reshape(size, BITS).astype(jnp.uint32) << jnp.arange(BITS, dtype=jnp.uint32)[None, :]
        return bits.sum(1, dtype=jnp.uint32)

    def _point(self, point: jax.Array) -> jax.Array:
        """Returns the row of `points` with a number."""
        found, first = self.points[0][jnp.minimum(point, len(self.points[0]) - 1)], len(self.points[0])
        for part in self.points[1:]:
            found = jnp.where(point < first, found, part[jnp.clip(point - first, 0, len(part) - 1)])
            first += len(part)
        return found

    def _dof_signs(self, c: Candidate) -> dict[int, float]:
        """Returns 1 for degrees of freedom that move the second geom of a pair alone, -1 for the first one's."""
        first, second = (
            set(ancestors(self.model, last_dof(self.model, int(self.model.geom_bodyid[g])))) for g in (c.geom1, c.geom2)
        )
        shared = first & second
        return dict.fromkeys(first - shared, -1.0) | dict.fromkeys(second - shared, 1.0)

    def _of(self, point: jax.Array, values: Sequence[Num]) -> Num:
        """Returns the number that belongs to a point, of those of all points."""
        if all(v.known and v.value == values[0].value for v in values):
            return values[0]
        return Num(to_array(values, self.dtype)[point])

    def _of_pair(self, point: jax.Array, numbers: Callable[[Candidate], Sequence[Num]]) -> list[Num]:
        """Returns numbers that belong to a point's pair."""
        return [self._of(point, column) for column in zip(*map(numbers, self.owners), strict=True)]

    def _rows(self, point: jax.Array) -> Iterator[PointRow]:
        """Yields the rows of a point."""
        efc_pos, *rest = nums(self._point(point))
        pos, normal = Vec(*rest[:3]), Vec(*rest[3:6])
        tangent = Vec(*rest[6:]) if self.rows_per_point > 1 else ZERO3
        frame = normal, tangent, normal.cross(tangent)
        basis = self._frame_jacobian(point, pos, frame)
        vels = [total(j * v for j, v in zip(row, self.qvel, strict=True)) for row in basis]
        solref, solimp = (self._of_pair(point, get) for get in (lambda c: c.solref, lambda c: c.solimp))
        imp = impedance(self.model, solref, solimp, efc_pos)
        invweight = self._of(point, [contact_invweight(self.model, c) for c in self.owners])
        aref, frictionless = imp.aref(vels[0], efc_pos), ONE / imp.regularisation(invweight)
        if self.rows_per_point == 1:
            yield PointRow(basis[0], frictionless, aref, pos, normal, ZERO3)
            return
        friction = self._of_pair(point, lambda c: c.friction)
        condim = self._of(point, [Num(float(c.condim)) for c in self.owners])
        edge = edge_weight(self.model, imp, efc_pos, invweight, friction[0])
        for i, (row, vel, mu) in enumerate(zip(basis[1:], vels[1:], friction, strict=False), 1):
            for side in (1.0, -1.0):
                slope = where(condim > 1.0, mu * side, 0.0)
                alone = frictionless if (i, side) == (1, 1.0) else ZERO
                D = where(condim > 1.0, where(condim > float(i), edge, 0.0), alone)
                jacobian = [n + slope * t for n, t in zip(basis[0], row, strict=True)]
                axis = frame[i] if i < 3 else frame[i - 3]
                force, torque = (normal + axis * slope, ZERO3) if i < 3 else (normal, axis * slope)
                yield PointRow(jacobian, D, aref - imp.b * slope * vel, pos, force, torque)

    def _frame_jacobian(self, point: jax.Array, pos: Vec, frame: tuple[Vec, Vec, Vec]) -> list[list[Num]]:
        """Returns the Jacobian [condim, nv] of the second geom's motion against the first.

        Along the axes of the contact's frame, then about them.
        """
        model, com = self.model, self.smooth.com_pos
        rows = max(c.condim for c in self.owners)
        roots = [int(model.body_rootid[int(model.dof_bodyid[d])]) for d in range(model.nv)]
        wrenches = {root: axis_wrenches(com, root, pos, frame)[:rows] for root in dict.fromkeys(roots)}
        signs = [self._dof_signs(c) for c in self.owners]
        sign = [self._of(point, [Num(of_pair.get(d, 0.0)) for of_pair in signs]) for d in range(model.nv)]
        return [[sign[d] * com.cdof[d].dot(wrenches[roots[d]][i]) for d in range(model.nv)] for i in range(rows)]


class PointRow(NamedTuple):
    """A row of a point, before it is an array.

    Attributes:
        jacobian: J [nv].
        D: weight of the cost.
        aref: reference acceleration.
        point: the point.
        force, torque: what a unit of the row's force is at the point.
    """

    jacobian: list[Num]
    D: Num
    aref: Num
    point: Vec
    force: Vec
    torque: Vec


def _pop_first_bit(words: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns a set of bits without its first one, and the number of that bit."""
    filled = words != 0
    word = jnp.argmax(filled).astype(jnp.int32)
    value = words[word]
    rest = value & (value - jnp.uint32(1))
    bit = lax.population_count(~value & (value - jnp.uint32(1))).astype(jnp.int32)
    return words.at[word].set(rest), jnp.int32(BITS) * word + bit
