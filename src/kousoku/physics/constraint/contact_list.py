"""Rows in a list as long as there are, and what the solver does with them.

Each row pushes on its own: the normal of a contact without friction, or an edge of a pyramid. Rows of contacts between
limbs couple what the tree keeps apart, and would fill the Hessian's factor. So they stay out of it: the system with
them is solved by one update of rank one for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..algebra.scalar import ZERO, Num, dot, maximum, minimum, nums, stacked
from ..algebra.sparse import Factor, Matrix
from ..algebra.vector import Six, vec
from ..collision.candidates import Candidate
from ..control_flow.empty import scratch
from ..control_flow.scan_prefix import over_first
from ..model import Model
from ..stages.smooth import Smooth
from .cost import Push, lower

STIFFEST = 1 / 32  # c J . H^-1 J in units of the reciprocal of the dtype's precision


class Places(NamedTuple):
    """Residuals of the rows where a line begins [most], and how they grow along it."""

    at: jax.Array
    along: jax.Array


class Row(NamedTuple):
    """A half parabola, as of `Push`; or many of them, arrays [most, ...].

    Attributes:
        jacobian: [nv].
        stiffness: of its force.
        reference: the acceleration that it wants.
        push: [10]: number of the pair of geoms, the point, and the force and torque there of a unit of force.
    """

    jacobian: jax.Array
    stiffness: jax.Array
    reference: jax.Array
    push: jax.Array

    @property
    def law(self) -> Push:
        """Which force it has."""
        return Push(Num(self.stiffness))

    def away(self, x: Sequence[Num]) -> Num:
        """J x - reference."""
        return dot(nums(self.jacobian), x) - Num(self.reference)

    def force(self, x: Sequence[Num]) -> Num:
        """At x."""
        return self.law.force([self.away(x)])[0]

    def curvature(self, x: Sequence[Num]) -> Num:
        """At x."""
        return self.law.curvature([self.away(x)])[0, 0]


@dataclass(frozen=True)
class Listed:
    """Rows of contacts that there are. Only the first `length` mean anything.

    Attributes:
        rows: [most, ...].
        length: how many rows there are.
        pairs: pairs of geoms in the list.
    """

    rows: Row
    length: jax.Array
    pairs: tuple[Candidate, ...]

    @property
    def dtype(self) -> Any:
        """Of its numbers."""
        return self.rows.jacobian.dtype

    def summed(self, add: Callable[..., Any], start: Any, *more: Any) -> Any:
        """`found = add(found, row)` for each row there is, from `start`.

        Args:
            add: what a row adds.
            start: what it is added to.
            more: arrays [most, ...]: with them it is `add(found, row, *of more)`.
        """
        rows = self.rows, *more
        return over_first(self.length, rows, start, lambda found, given: (add(found, *given), None))[0]

    def pulled(self, x: Sequence[Num]) -> list[Num]:
        """J^T f at x."""

        def add(found: jax.Array, row: Row) -> jax.Array:
            jacobian, force = nums(row.jacobian), row.force(x)
            return stacked([a + j * force for a, j in zip(nums(found), jacobian, strict=True)], found.dtype)

        return nums(self.summed(add, jnp.zeros_like(self.rows.jacobian[0])))

    def curved(self, entries: Matrix, x: Sequence[Num]) -> Matrix:
        """A matrix with J^T C J at x added, on and below its diagonal."""
        keys = [(i, j) for i in range(len(x)) for j in range(i + 1)]
        start = stacked([entries.get(key, ZERO) for key in keys], self.dtype)

        def add(found: jax.Array, row: Row) -> jax.Array:
            jacobian, curvature = nums(row.jacobian), row.curvature(x)
            bent = [curvature * j for j in jacobian]
            parts = zip(keys, nums(found), strict=True)
            return stacked([old + bent[i] * jacobian[j] for (i, j), old in parts], found.dtype)

        return dict(zip(keys, nums(self.summed(add, start)), strict=True))

    def solved(self, factor: Factor, right: Sequence[Num], x: Sequence[Num]) -> list[Num]:
        """(L^T D L + J^T C J)^-1 right with the curvatures C at x: one row after the other.

        With z = L^-T J, all rows change the diagonal matrix D, where a product with its inverse is cheap:

            A_i^-1 = A_i-1^-1 - s_i u_i u_i^T,    u_i = A_i-1^-1 z_i,    s_i = c_i / (1 + c_i z_i . u_i),    A_0 = D

        Times a vector b, the last product is u_i . b = z_i . (A_i-1^-1 b): written in the second way, each update mends
        what rounding left of those before. A row is not taken to be stiffer than rounding lets it be.

        References:
            Sherman and Morrison (1950), Adjustment of an inverse matrix corresponding to a change in one element of a
            given matrix, https://doi.org/10.1214/aoms/1177729893.
        """
        dtype = self.dtype
        stiffest = STIFFEST / float(jnp.finfo(dtype).eps)

        def turn(i: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            found, gathered, turned, shares = carry
            row = jax.tree.map(lambda values: values[i], self.rows)
            z = factor.gathered(nums(row.jacobian))

            def earlier(j: jax.Array, u: jax.Array) -> jax.Array:
                return _updated(nums(u), nums(gathered[j]), Num(shares[j]), nums(turned[j]), dtype)

            alone = factor.scaled(z)
            u = lax.fori_loop(jnp.int32(0), i, earlier, stacked(alone, dtype))
            curvature = minimum(row.curvature(x), stiffest / dot(z, alone))
            # z . u > 0, but for rounding where rows are nearly the same
            share = curvature / (1.0 + curvature * maximum(dot(z, nums(u)), 0.0))
            found = _updated(nums(found), z, share, nums(u), dtype)
            into = (
                gathered.at[i].set(stacked(z, dtype)),
                turned.at[i].set(u),
                shares.at[i].set(jnp.asarray(share.value)),
            )
            return found, *into

        blank = (scratch(array.shape, dtype) for array in (self.rows.jacobian, self.rows.jacobian, self.rows.stiffness))
        start = stacked(factor.scaled(factor.gathered(right)), dtype), *blank
        return factor.spread(nums(lax.fori_loop(jnp.int32(0), self.length, turn, start)[0]))

    def begun(self, x: Sequence[Num], search: Sequence[Num]) -> Places:
        """Residuals along a line."""

        def place(_: None, row: Row) -> tuple[None, Places]:
            at, along = row.away(x), dot(nums(row.jacobian), search)
            return None, Places(stacked([at], self.dtype), stacked([along], self.dtype))

        return over_first(self.length, self.rows, None, place)[1]

    def along(self, line: Places, length: Num) -> tuple[Num, Num]:
        """The first and second derivative of the cost along a line with respect to `length`."""

        def add(found: tuple[jax.Array, jax.Array], row: Row, place: Places) -> tuple[jax.Array, jax.Array]:
            one, other = row.law.along([Num(place.at)], [Num(place.along)], length)
            return found[0] + one.value, found[1] + other.value

        zero = jnp.zeros((), self.dtype)
        first, second = self.summed(add, (zero, zero), line)
        return Num(first), Num(second)

    def kept(self, line: Places, length: Num) -> Num:
        """Negative if a row lies on different parabolas where a line begins and farther along."""

        def add(found: jax.Array, row: Row, place: Places) -> jax.Array:
            begin = Num(place.at)
            end = begin + length * Num(place.along)
            return lower(Num(found), row.law.kept([begin], [end])).value

        return Num(self.summed(add, jnp.zeros((), self.dtype), line))

    def loads(self, model: Model, s: Smooth, x: Sequence[Num]) -> list[Six]:
        """Torque and force on each body at the acceleration x, about the centres of mass of their trees."""
        bodies = jnp.asarray(
            [[int(model.geom_bodyid[g]) for g in (c.first, c.second)] for c in self.pairs], dtype=jnp.int32
        )
        centres = jnp.stack([stacked(s.tree.subtree_com[int(r)], self.dtype) for r in model.body_rootid])

        def add(found: jax.Array, row: Row) -> jax.Array:
            force, push = row.force(x), row.push
            point, line, turn = (vec(nums(push[k : k + 3])) for k in (1, 4, 7))
            for place, side in ((0, -1.0), (1, 1.0)):
                body = bodies[push[0].astype(jnp.int32), place]
                arm = point - vec(nums(centres[body]))
                load = Six(turn + arm.cross(line), line) * (force * side)
                found = found.at[body].add(stacked([*load.rot, *load.lin], found.dtype))
            return found

        rows = self.summed(add, jnp.zeros((model.nbody, 6), self.dtype))
        return [Six(vec(nums(r[:3])), vec(nums(r[3:]))) for r in rows]


def _updated(x: Sequence[Num], jacobian: Sequence[Num], share: Num, u: Sequence[Num], dtype: Any) -> jax.Array:
    """x - share (jacobian . x) u."""
    size = share * dot(jacobian, x)
    return stacked([a - size * b for a, b in zip(x, u, strict=True)], dtype)
