"""A list of contact rows as long as there are, and what the solver does with them.

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

from ..algebra.scalar import ZERO, Num, dot, maximum, minimum, nums, to_array
from ..algebra.sparse import Factor, SparseMatrix
from ..algebra.spatial import SpatialVec
from ..algebra.vector import vec
from ..collision.candidates import Candidate
from ..control_flow.empty import empty_unbatched
from ..control_flow.scan_prefix import scan_prefix
from ..model import Model
from ..stages.smooth import Smooth
from .cost import OneSided, lower

STIFFEST = 1 / 32
"""Largest c J . H^-1 J of a row, in units of the reciprocal of the dtype's precision."""


class ListResiduals(NamedTuple):
    """Residuals of listed rows on a line of accelerations.

    Attributes:
        jaref: J a - aref where the line begins [most].
        jv: J times the direction of the line [most].
    """

    jaref: jax.Array
    jv: jax.Array


class ContactRow(NamedTuple):
    """A row with a one-sided cost; or many of them, arrays [most, ...].

    Attributes:
        jacobian: J [nv].
        D: weight of the cost.
        aref: reference acceleration.
        wrench: [10]: number of the pair of geoms, the point, and the force and torque there of a unit of the row's
            force.
    """

    jacobian: jax.Array
    D: jax.Array
    aref: jax.Array
    wrench: jax.Array

    @property
    def cost(self) -> OneSided:
        """The function of the residual."""
        return OneSided(Num(self.D))

    def jaref(self, qacc: Sequence[Num]) -> Num:
        """Returns the residual J qacc - aref."""
        return dot(nums(self.jacobian), qacc) - Num(self.aref)

    def force(self, qacc: Sequence[Num]) -> Num:
        """Returns the force at the acceleration qacc [nv]."""
        return self.cost.force([self.jaref(qacc)])[0]

    def cost_hessian(self, qacc: Sequence[Num]) -> Num:
        """Returns the second derivative of the cost with respect to the residual, at the acceleration qacc [nv]."""
        return self.cost.hessian([self.jaref(qacc)])[0, 0]


@dataclass(frozen=True)
class ContactList:
    """Rows of active contacts. Only the first `length` mean anything.

    Attributes:
        rows: [most, ...].
        length: how many rows there are, int32.
        pairs: pairs of geoms in the list.
    """

    rows: ContactRow
    length: jax.Array
    pairs: tuple[Candidate, ...]

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return self.rows.jacobian.dtype

    def reduce(self, add: Callable[..., Any], init: Any, *more: Any) -> Any:
        """Returns the last of `found = add(found, row)` over the rows there are, from `init`.

        Args:
            add: what a row adds.
            init: what it is added to.
            more: arrays [most, ...]: with them it is `add(found, row, *of more)`.
        """
        rows = self.rows, *more
        return scan_prefix(self.length, rows, init, lambda found, given: (add(found, *given), None))[0]

    def qfrc(self, qacc: Sequence[Num]) -> list[Num]:
        """Returns J'f [nv] at the acceleration qacc [nv]."""

        def add(found: jax.Array, row: ContactRow) -> jax.Array:
            jacobian, force = nums(row.jacobian), row.force(qacc)
            return to_array([a + j * force for a, j in zip(nums(found), jacobian, strict=True)], found.dtype)

        return nums(self.reduce(add, jnp.zeros_like(self.rows.jacobian[0])))

    def add_hessian(self, entries: SparseMatrix, qacc: Sequence[Num]) -> SparseMatrix:
        """Returns a matrix with J'CJ at the acceleration qacc [nv] added, on and below its diagonal."""
        keys = [(i, j) for i in range(len(qacc)) for j in range(i + 1)]
        init = to_array([entries.get(key, ZERO) for key in keys], self.dtype)

        def add(found: jax.Array, row: ContactRow) -> jax.Array:
            jacobian, cost_hessian = nums(row.jacobian), row.cost_hessian(qacc)
            weighted = [cost_hessian * j for j in jacobian]
            parts = zip(keys, nums(found), strict=True)
            return to_array([old + weighted[i] * jacobian[j] for (i, j), old in parts], found.dtype)

        return dict(zip(keys, nums(self.reduce(add, init)), strict=True))

    def solve(self, factor: Factor, right: Sequence[Num], qacc: Sequence[Num]) -> list[Num]:
        """Returns (L^T D L + J'CJ)^-1 right [nv] with the costs' Hessians C at the acceleration qacc [nv].

        Row after row: with z = L^-T J, all rows change the diagonal matrix D, where a product with its inverse is
        cheap:

            A_i^-1 = A_i-1^-1 - s_i u_i u_i^T,    u_i = A_i-1^-1 z_i,    s_i = c_i / (1 + c_i z_i . u_i),    A_0 = D

        Times a vector b, the last product is u_i . b = z_i . (A_i-1^-1 b): written in the second way, each update mends
        what rounding left of those before. A row is not taken to be stiffer than rounding lets it be.

        References:
            Sherman and Morrison (1950), Adjustment of an inverse matrix corresponding to a change in one element of a
            given matrix, https://doi.org/10.1214/aoms/1177729893.
        """
        dtype = self.dtype
        stiffest = STIFFEST / float(jnp.finfo(dtype).eps)

        def update(i: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            found, all_z, all_u, all_s = carry
            row = jax.tree.map(lambda values: values[i], self.rows)
            z = factor.solve_lt(nums(row.jacobian))

            def earlier(j: jax.Array, u: jax.Array) -> jax.Array:
                return _rank_one_update(nums(u), nums(all_z[j]), Num(all_s[j]), nums(all_u[j]), dtype)

            alone = factor.solve_d(z)
            u = lax.fori_loop(jnp.int32(0), i, earlier, to_array(alone, dtype))
            c = minimum(row.cost_hessian(qacc), stiffest / dot(z, alone))
            # z . u > 0, but for rounding where rows are nearly the same
            s = c / (1.0 + c * maximum(dot(z, nums(u)), 0.0))
            found = _rank_one_update(nums(found), z, s, nums(u), dtype)
            into = (
                all_z.at[i].set(to_array(z, dtype)),
                all_u.at[i].set(u),
                all_s.at[i].set(jnp.asarray(s.value)),
            )
            return found, *into

        undefined = (
            empty_unbatched(array.shape, dtype) for array in (self.rows.jacobian, self.rows.jacobian, self.rows.D)
        )
        init = to_array(factor.solve_d(factor.solve_lt(right)), dtype), *undefined
        return factor.solve_l(nums(lax.fori_loop(jnp.int32(0), self.length, update, init)[0]))

    def on_line(self, qacc: Sequence[Num], search: Sequence[Num]) -> ListResiduals:
        """Returns the rows' residuals on the line qacc + alpha search."""

        def residuals(_: None, row: ContactRow) -> tuple[None, ListResiduals]:
            jaref, jv = row.jaref(qacc), dot(nums(row.jacobian), search)
            return None, ListResiduals(to_array([jaref], self.dtype), to_array([jv], self.dtype))

        return scan_prefix(self.length, self.rows, None, residuals)[1]

    def line_derivatives(self, line: ListResiduals, alpha: Num) -> tuple[Num, Num]:
        """Returns the first and second derivative of the rows' costs along a line with respect to alpha."""

        def add(
            found: tuple[jax.Array, jax.Array], row: ContactRow, residuals: ListResiduals
        ) -> tuple[jax.Array, jax.Array]:
            one, other = row.cost.line_derivatives([Num(residuals.jaref)], [Num(residuals.jv)], alpha)
            return found[0] + one.value, found[1] + other.value

        zero = jnp.zeros((), self.dtype)
        first, second = self.reduce(add, (zero, zero), line)
        return Num(first), Num(second)

    def same_piece(self, line: ListResiduals, alpha: Num) -> Num:
        """Returns a number that is negative if a row's cost is not one quadratic function up to alpha on a line."""

        def add(found: jax.Array, row: ContactRow, residuals: ListResiduals) -> jax.Array:
            begin = Num(residuals.jaref)
            end = begin + alpha * Num(residuals.jv)
            return lower(Num(found), row.cost.same_piece([begin], [end])).value

        return Num(self.reduce(add, jnp.zeros((), self.dtype), line))

    def cfrc_ext(self, model: Model, s: Smooth, qacc: Sequence[Num]) -> list[SpatialVec]:
        """Returns torque and force of the contacts on each body [nbody], about the centres of mass of their trees."""
        bodies = jnp.asarray(
            [[int(model.geom_bodyid[g]) for g in (c.geom1, c.geom2)] for c in self.pairs], dtype=jnp.int32
        )
        centres = jnp.stack([to_array(s.com_pos.subtree_com[int(r)], self.dtype) for r in model.body_rootid])

        def add(found: jax.Array, row: ContactRow) -> jax.Array:
            size, wrench = row.force(qacc), row.wrench
            point, force, torque = (vec(nums(wrench[k : k + 3])) for k in (1, 4, 7))
            for which, side in ((0, -1.0), (1, 1.0)):
                body = bodies[wrench[0].astype(jnp.int32), which]
                arm = point - vec(nums(centres[body]))
                load = SpatialVec(torque + arm.cross(force), force) * (size * side)
                found = found.at[body].add(to_array([*load.rot, *load.lin], found.dtype))
            return found

        rows = self.reduce(add, jnp.zeros((model.nbody, 6), self.dtype))
        return [SpatialVec(vec(nums(r[:3])), vec(nums(r[3:]))) for r in rows]


def _rank_one_update(x: Sequence[Num], z: Sequence[Num], s: Num, u: Sequence[Num], dtype: Any) -> jax.Array:
    """Returns x - s (z . x) u."""
    size = s * dot(z, x)
    return to_array([a - size * b for a, b in zip(x, u, strict=True)], dtype)
