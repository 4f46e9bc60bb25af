"""Contacts between moving bodies, found and put into a list.

A humanoid has more than a hundred pairs of limbs that could touch, and hardly ever do. Written out like other contacts
they would be most of the program. Here pairs of the same kinds of shapes share one loop that looks where they are;
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

from ...compiler.somewhere import somewhere
from ..algebra.scalar import ONE, ZERO, Num, Truth, absolute, both, maximum, nums, stacked, total, where
from ..algebra.vector import NOWHERE, UNTURNED, Mat, Vec
from ..collision.candidates import Candidate, candidates, shapes
from ..collision.geom import Geom, Shape, Touch
from ..collision.narrow_phase import PAIRS
from ..control_flow.empty import scratch
from ..control_flow.scan_prefix import over_first
from ..model import Model
from ..stages.joints import ancestors, last_dof
from ..stages.kinematics import Frame, geom_frame
from ..stages.smooth import Smooth
from .contact import ELLIPTIC, frame, inverse_inertia, pyramid, wrenches
from .contact_list import Listed, Row
from .impedance import softness
from .jacobian import moving

MANY = 8
WORD = 32
ROOM = 1.001
"""How much more than shapes reach is looked at, so that no rounding hides what touches."""
LOST = 1e-6
"""What a difference of squares may lose in float32, for each unit of these."""


def divided(model: Model) -> tuple[list[Candidate], list[Candidate]]:
    """The pairs of geoms that have rows of their own, and those that are listed where they touch.

    Pairs of two bodies that move are listed if there are many of them; not those with elliptic cones.
    """
    found = candidates(model)

    def fits(c: Candidate) -> bool:
        both_move = all(moving(model, int(model.geom_bodyid[g])) for g in (c.first, c.second))
        return both_move and (c.condim == 1 or model.cone != ELLIPTIC)

    crowd = [c for c in found if fits(c)]
    return (found, []) if len(crowd) <= MANY else ([c for c in found if not fits(c)], crowd)


def listed(model: Model, s: Smooth, found: Sequence[Candidate], qvel: Sequence[Num], dtype: Any) -> Listed:
    """The rows of all contacts of these pairs that are within their margin."""
    ordered = sorted(found, key=lambda c: shapes(model, c))
    geoms = {g: geom_frame(model, s.kinematics, g) for c in ordered for g in (c.first, c.second)}
    places = {g: i for i, g in enumerate(sorted(geoms))}
    where_ = jnp.stack([_packed(geoms[g], dtype) for g in sorted(geoms)])
    rubs = any(c.condim > 1 for c in ordered)
    points, owners = [], []
    for kinds, group in groupby(ordered, key=lambda c: shapes(model, c)):
        pairs = list(group)
        touched = _touches(model, pairs, kinds, where_, places, rubs, dtype)
        points.append(touched.reshape(-1, touched.shape[-1]))
        owners += [c for c in pairs for _ in range(touched.shape[1])]
    return Table(model, s, owners, points, qvel, dtype).listed()


def _packed(frame_: Frame, dtype: Any) -> jax.Array:
    return stacked([*frame_.pos, *(x for r in frame_.mat for x in r)], dtype)


def _unpacked(values: jax.Array) -> Frame:
    v = nums(values)
    return Frame(Vec(*v[:3]), UNTURNED, Mat(Vec(*v[3:6]), Vec(*v[6:9]), Vec(*v[9:12])))


def _touches(
    model: Model,
    pairs: Sequence[Candidate],
    kinds: Any,
    where_: jax.Array,
    places: dict[int, int],
    rubs: bool,
    dtype: Any,
) -> jax.Array:
    """Of pairs of the same kinds [pairs, points, 10]: how far within the margin, the point, the normal, the tangent.

    Without the tangent, [pairs, points, 7], if nothing rubs.
    """
    ends = np.array([[places[c.first], places[c.second]] for c in pairs], np.int32)
    sizes = stacked([x for c in pairs for g in (c.first, c.second) for x in nums(model.geom_size[g])], dtype)
    reaches = stacked([x for c in pairs for x in _reaches(model, c)], dtype)
    margins = stacked([c.margin for c in pairs], dtype)

    def look(_: None, pair: Any) -> tuple[None, jax.Array]:
        places, size, reach, margin = pair
        frames = [_unpacked(where_[place]) for place in places]
        one, other = (Geom(f, nums(x), Num(margin)) for f, x in zip(frames, size, strict=True))

        def near() -> jax.Array:
            return jnp.stack([_point(touch, Num(margin), rubs, dtype) for touch in PAIRS[kinds](one, other)])

        close = jnp.asarray(_may_touch(kinds, one, other, nums(reach)))
        shape = jax.eval_shape(near)
        # Elsewhere too the points are beyond the margin, and of those nothing is read but that they are.
        return None, lax.cond(somewhere(close), near, lambda: jnp.ones(shape.shape, dtype))

    tables = jnp.asarray(ends), sizes.reshape(len(pairs), 2, -1), reaches.reshape(len(pairs), -1), margins
    return lax.scan(look, None, tables)[1]


def _reaches(model: Model, c: Candidate) -> list[Num]:
    """Squares of distances within which they may touch: of the centres, of each one's axis from the other's centre."""
    balls = [nums(model.geom_rbound)[g] for g in (c.first, c.second)]
    radii = [nums(model.geom_size[g])[0] for g in (c.first, c.second)]
    found = [total([*balls, c.margin]), radii[0] + balls[1] + c.margin, radii[1] + balls[0] + c.margin]
    squares = [reach * reach * (ROOM * ROOM) for reach in found]
    return [squares[0], *(square + squares[0] * LOST for square in squares[1:])]


def _may_touch(kinds: Sequence[Shape], one: Geom, other: Geom, reach: Sequence[Num]) -> Truth:
    """Whether balls about the shapes touch, and each of these the other shape if that is a capsule."""
    between = other.frame.pos - one.frame.pos
    square = between.dot(between)
    found = square < reach[0]
    for kind, geom, far in zip(kinds, (one, other), reach[1:], strict=True):
        if kind == Shape.CAPSULE:
            along = absolute(between.dot(geom.axis))
            beyond = maximum(along - geom.size[1], 0.0)
            found = both(found, square - along * along + beyond * beyond < far)
    return found


def _point(touch: Touch, margin: Num, rubs: bool, dtype: Any) -> jax.Array:
    tangent = frame(touch)[1] if rubs else ()
    return stacked([touch.distance - margin, *touch.point, *touch.normal, *tangent], dtype)


@dataclass(frozen=True)
class Table:
    """All points where listed pairs may touch, and what belongs to each.

    Attributes:
        model, smooth: the mechanism and where it is.
        owners: the pair that each point belongs to.
        points: [k, 10 or 7] of each kind of pairs, in the same order; see `_touches`. They are not put together: few
            are within their margin, and read again.
        qvel: velocities.
        dtype: of the rows.
    """

    model: Model
    smooth: Smooth
    owners: list[Candidate]
    points: list[jax.Array]
    qvel: Sequence[Num]
    dtype: Any

    def listed(self) -> Listed:
        """The rows of the points that are within their margin."""
        chosen, count = self._within()
        rows = over_first(count, chosen, None, lambda _, which: (None, self._block(which)))[1]
        return Listed(rows, count * jnp.int32(self.edges), self.pairs)

    def _block(self, which: jax.Array) -> Row:
        """The rows of a point, [edges, ...]."""
        pair, rows = self._of(which, self._numbers), list(self._rows(which))
        pushes = [[pair, *row.point, *row.force, *row.torque] for row in rows]
        jacobian, push = (
            jnp.stack([stacked(x, self.dtype) for x in part]) for part in ([r.jacobian for r in rows], pushes)
        )
        stiffness, reference = (
            stacked(x, self.dtype) for x in zip(*((r.stiffness, r.reference) for r in rows), strict=True)
        )
        return Row(jacobian, stiffness, reference, push)

    def _within(self) -> tuple[jax.Array, jax.Array]:
        """The numbers of the points that are within their margin [points], and how many they are."""

        def going(carry: Any) -> jax.Array:
            return jnp.any(carry[0] != 0)

        def append(carry: Any) -> Any:
            words, count, chosen = carry
            words, which = _taken(words)
            return words, count + jnp.int32(1), chosen.at[count].set(which)

        blank = scratch((len(self.owners),), jnp.int32)
        _, count, chosen = lax.while_loop(going, append, (self._words(), jnp.int32(0), blank))
        return chosen, count

    @cached_property
    def pairs(self) -> tuple[Candidate, ...]:
        """Without repetition."""
        return tuple({id(c): c for c in self.owners}.values())

    @cached_property
    def _numbers(self) -> list[Num]:
        """Of each point's pair."""
        places = {id(c): i for i, c in enumerate(self.pairs)}
        return [Num(float(places[id(c)])) for c in self.owners]

    @property
    def edges(self) -> int:
        """Rows of a point."""
        condim = max(c.condim for c in self.owners)
        return 1 if condim == 1 else 2 * (condim - 1)

    def _words(self) -> jax.Array:
        """Which points are within their margin: 32 to a word."""
        size = -(-len(self.owners) // WORD)
        within = jnp.concatenate([part[:, 0] < 0.0 for part in self.points])
        within = jnp.pad(within, (0, size * WORD - len(self.owners)))
        bits = within.reshape(size, WORD).astype(jnp.uint32) << jnp.arange(WORD, dtype=jnp.uint32)[None, :]
        return bits.sum(1, dtype=jnp.uint32)

    def _point(self, which: jax.Array) -> jax.Array:
        """Its row of `points`."""
        found, first = self.points[0][jnp.minimum(which, len(self.points[0]) - 1)], len(self.points[0])
        for part in self.points[1:]:
            found = jnp.where(which < first, found, part[jnp.clip(which - first, 0, len(part) - 1)])
            first += len(part)
        return found

    def _sides(self, c: Candidate) -> dict[int, float]:
        """Which degrees of freedom move the second geom against the first, and in which sense."""
        first, second = (
            set(ancestors(self.model, last_dof(self.model, int(self.model.geom_bodyid[g]))))
            for g in (c.first, c.second)
        )
        shared = first & second
        return dict.fromkeys(first - shared, -1.0) | dict.fromkeys(second - shared, 1.0)

    def _of(self, which: jax.Array, values: Sequence[Num]) -> Num:
        """The number that belongs to a point, of those of all points."""
        if all(v.known and v.value == values[0].value for v in values):
            return values[0]
        return Num(stacked(values, self.dtype)[which])

    def _each(self, which: jax.Array, numbers: Callable[[Candidate], Sequence[Num]]) -> list[Num]:
        """Numbers that belong to a point's pair."""
        return [self._of(which, column) for column in zip(*map(numbers, self.owners), strict=True)]

    def _rows(self, which: jax.Array) -> Iterator[Made]:
        """The rows of a point."""
        away, *rest = nums(self._point(which))
        point, normal = Vec(*rest[:3]), Vec(*rest[3:6])
        tangent = Vec(*rest[6:]) if self.edges > 1 else NOWHERE
        axes = normal, tangent, normal.cross(tangent)
        basis = self._basis(which, point, axes)
        speeds = [total(j * v for j, v in zip(row, self.qvel, strict=True)) for row in basis]
        solref, solimp = (self._each(which, get) for get in (lambda c: c.solref, lambda c: c.solimp))
        soft = softness(self.model, solref, solimp, away)
        inverse = self._of(which, [inverse_inertia(self.model, c) for c in self.owners])
        wanted, frictionless = soft.reference(speeds[0], away), ONE / soft.regularisation(inverse)
        if self.edges == 1:
            yield Made(basis[0], frictionless, wanted, point, normal, NOWHERE)
            return
        friction = self._each(which, lambda c: c.friction)
        condim = self._of(which, [Num(float(c.condim)) for c in self.owners])
        edge = pyramid(self.model, soft, inverse, friction[0])
        for i, (row, speed, mu) in enumerate(zip(basis[1:], speeds[1:], friction, strict=False), 1):
            for side in (1.0, -1.0):
                slope = where(condim > 1.0, mu * side, 0.0, away)
                alone = frictionless if (i, side) == (1, 1.0) else ZERO
                stiffness = where(condim > 1.0, where(condim > float(i), edge, 0.0, away), alone, away)
                jacobian = [n + slope * t for n, t in zip(basis[0], row, strict=True)]
                along = axes[i] if i < 3 else axes[i - 3]
                force, torque = (normal + along * slope, NOWHERE) if i < 3 else (normal, along * slope)
                yield Made(jacobian, stiffness, wanted - soft.damping * slope * speed, point, force, torque)

    def _basis(self, which: jax.Array, point: Vec, axes: tuple[Vec, Vec, Vec]) -> list[list[Num]]:
        """How the degrees of freedom move the second geom against the first: along the axes, then about them."""
        model, t = self.model, self.smooth.tree
        rows = max(c.condim for c in self.owners)
        roots = [int(model.body_rootid[int(model.dof_bodyid[d])]) for d in range(model.nv)]
        pushes = {root: wrenches(t, root, point, axes)[:rows] for root in dict.fromkeys(roots)}
        sides = [self._sides(c) for c in self.owners]
        senses = [self._of(which, [Num(side.get(d, 0.0)) for side in sides]) for d in range(model.nv)]
        return [[senses[d] * t.motion[d].dot(pushes[roots[d]][i]) for d in range(model.nv)] for i in range(rows)]


class Made(NamedTuple):
    """A row: of a unit of its force, what it is at the point where it acts."""

    jacobian: list[Num]
    stiffness: Num
    reference: Num
    point: Vec
    force: Vec
    torque: Vec


def _taken(words: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The words without their first bit, and its number."""
    filled = words != 0
    word = jnp.argmax(filled).astype(jnp.int32)
    value = words[word]
    rest = value & (value - jnp.uint32(1))
    place = lax.population_count(~value & (value - jnp.uint32(1))).astype(jnp.int32)
    return words.at[word].set(rest), jnp.int32(WORD) * word + place
