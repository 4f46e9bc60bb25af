"""The acceleration that constraints allow: Newton's method on a convex function, to convergence (mj_solNewton).

Constraints without elliptic cones make the function piecewise quadratic: a step that stays on one piece is exact, and
the last.

References:
    MuJoCo documentation, Computation, "Constraint solver", algorithms, Newton. Todorov (2014), Convex and analytically
    invertible dynamics with contacts and constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..algebra.scalar import ZERO, Bool, Num, absolute, dot, logical_and, maximum, nums, sqrt, to_array, total
from ..algebra.sparse import factor, mul_sym_vec
from ..model import Model
from ..stages.smooth import Smooth
from .conditional import LineResiduals
from .contact_list import ContactList, ListResiduals
from .cost import Quadratic, lower, min_or_zero
from .jacobian import Constraint, sparse_rows
from .problem import PrimalProblem, Rows

SLOPE_ON_ONE_PIECE, SMALL_SLOPE = 0.5, 0.01
"""Shares of its first slope below which a line search ends, if its steps lay on one piece and if not."""
LEAST_LIMIT = 50
"""Least limit of iterations, and of a line search's. A file's own may only be larger: with less than it takes to
converge, a step would be neither the solution nor what MuJoCo, which searches by another path, has on its way there."""
ROUNDING = 4.0
"""Units of the last place, of the terms of a sum, that rounding takes the sum from what it is."""
SMALL_GRADIENT = 1e-3
"""Share of its gradient that a Newton step on one piece leaves at most, of rounding."""


@dataclass(frozen=True)
class Solution:
    """The accelerations and forces that constraints bring about.

    Attributes:
        qacc: acceleration of the degrees of freedom [nv].
        qfrc_constraint: generalised forces of all constraints [nv].
        efc_force: forces of each constraint's rows.
        iterations: how many steps of Newton's method it took, int32.
    """

    qacc: list[Num]
    qfrc_constraint: list[Num]
    efc_force: Rows
    iterations: jax.Array


class Iterate(NamedTuple):
    """The state of the search.

    Attributes:
        qacc: the acceleration [nv].
        Ma: M qacc [nv].
        jaref: residuals of all rows.
        grad: gradient of the function [nv].
    """

    qacc: jax.Array
    Ma: jax.Array
    jaref: jax.Array
    grad: jax.Array


def solve(
    model: Model,
    s: Smooth,
    constraints: list[Constraint],
    contact_list: ContactList | None,
    warmstart: Sequence[Num],
    dtype: Any,
) -> Solution:
    """Returns the acceleration of the mechanism under its constraints, and their forces.

    Args:
        model, s: the mechanism and its smooth dynamics.
        constraints: constraints that are written out.
        contact_list: contacts between moving bodies, where these are many.
        warmstart: the acceleration where the search begins [nv].
        dtype: the dtype of the results.
    """
    problem = PrimalProblem(model, s, constraints, contact_list)
    if not constraints and contact_list is None:
        return Solution(s.qacc_smooth, [ZERO] * model.nv, [], jnp.int32(0))
    diagonal = (s.qM[i, i] for i in range(model.nv))
    scale = 1.0 / total(diagonal)

    def unfinished(carry: Any) -> jax.Array:
        _, iteration, done = carry
        return ~done & (iteration < max(model.iterations, LEAST_LIMIT))

    def iterate(carry: Any) -> Any:
        before, iteration, _ = carry
        rounding = _rounding(problem, before, dtype)
        after, improvement, same_piece = _newton_step(problem, before, scale, rounding, dtype)
        gradient, gradient_before = (sqrt(dot(g, g)) for g in (nums(p.grad) for p in (after, before)))
        converged = [improvement < Num(model.tolerance), scale * gradient < Num(model.tolerance)]
        exact = logical_and(same_piece >= 0.0, gradient < SMALL_GRADIENT * gradient_before)
        if rounding:
            small = (absolute(g) <= r for g, r in zip(nums(before.grad), rounding, strict=True))
            converged.append(reduce(logical_and, small))
        done = reduce(jnp.logical_or, map(_value, [*converged, exact]))
        return after, iteration + jnp.int32(1), done

    start = _start(problem, warmstart, dtype)
    end, iterations, _ = lax.while_loop(unfinished, iterate, (start, jnp.int32(0), jnp.array(False)))
    jaref, qacc = _split(problem, end.jaref), nums(end.qacc)
    forces = problem.all_forces(jaref, qacc)
    return Solution(qacc, problem.qfrc_constraint(problem.forces(jaref), qacc), forces, iterations)


def _start(problem: PrimalProblem, warmstart: Sequence[Num], dtype: Any) -> Iterate:
    """Returns the last acceleration, or, without a warm start, the one without constraints."""
    qacc = to_array(problem.smooth.qacc_smooth if problem.model.no_warmstart else warmstart, dtype)
    jaref = problem.jaref(nums(qacc))
    Ma = mul_sym_vec(problem.smooth.qM, nums(qacc))
    return _iterate(problem, qacc, Ma, jaref, problem.qfrc_constraint(problem.forces(jaref), nums(qacc)), dtype)


def _iterate(
    problem: PrimalProblem, qacc: jax.Array, Ma: Sequence[Num], jaref: Rows, qfrc: Sequence[Num], dtype: Any
) -> Iterate:
    flat = to_array([v for rows in jaref for v in rows], dtype)
    grad = [a - b - c for a, b, c in zip(Ma, problem.smooth.qfrc_smooth, qfrc, strict=True)]
    return Iterate(qacc, to_array(Ma, dtype), flat, to_array(grad, dtype))


def _rounding(problem: PrimalProblem, at: Iterate, dtype: Any) -> list[Num]:
    """Returns how far rounding may take each part of the gradient from what it is [nv]; nothing without equalities.

    Those that cannot hold pull at a degree of freedom with forces far larger than their sum.
    """
    equalities = [isinstance(c.cost, Quadratic) for c in problem.unconditional]
    if not any(equalities):
        return []
    found = [absolute(Ma) + absolute(f) for Ma, f in zip(nums(at.Ma), problem.smooth.qfrc_smooth, strict=True)]
    for c, jaref, equality in zip(problem.unconditional, _split(problem, at.jaref), equalities, strict=True):
        if equality:
            one_body = c.jacobian.on_body
            rows = sparse_rows(problem.model, problem.smooth.com_pos, [one_body]) if one_body else c.jacobian.rows
            for row, force in zip(rows, c.cost.force(jaref), strict=True):
                for d, j in row.items():
                    found[d] = found[d] + absolute(j * force)
    return [ROUNDING * float(jnp.finfo(dtype).eps) * x for x in found]


def _newton_step(
    problem: PrimalProblem, before: Iterate, scale: Num, rounding: Sequence[Num], dtype: Any
) -> tuple[Iterate, Num, Num]:
    """Returns where a step leads, its improvement, and a number that is negative if it did not stay on one piece.

    The improvement is by how much a full step, or a longer one, lowers the function if that is quadratic between, in
    units of `1 / scale`. A step that has to be a short one says nothing of what is left.

    Args:
        problem: whose function.
        before: where the step begins.
        scale: of the improvement.
        rounding: how far each part of the gradient may be from what it is [nv], or nothing.
        dtype: the dtype of the results.
    """
    grad, jaref = nums(before.grad), _split(problem, before.jaref)
    hessian = problem.hessian(problem.cost_hessians(jaref), nums(before.qacc))
    factored, listed = factor(problem.pattern, hessian), problem.contact_list
    newton = listed.solve(factored, grad, nums(before.qacc)) if listed else factored.solve(grad)
    search = [-d for d in newton]
    slope = dot(grad, search)
    Mv, jv = mul_sym_vec(problem.smooth.qM, search), problem.jac_mul(search)
    line = LineSearch(
        problem,
        jaref,
        jv,
        problem.conditional.on_line(nums(before.qacc), search),
        listed.on_line(nums(before.qacc), search) if listed else None,
        dot([a - b for a, b in zip(nums(before.Ma), problem.smooth.qfrc_smooth, strict=True)], search),
        dot(Mv, search),
    )
    unsure = total(r * absolute(d) for r, d in zip(rounding, search, strict=True)) if rounding else ZERO
    alpha = Num(line.minimise(slope, unsure, _value(scale * slope * -0.5 < Num(problem.model.tolerance)), dtype))
    end = [[v + alpha * w for v, w in zip(vs, ws, strict=True)] for vs, ws in zip(jaref, jv, strict=True)]
    qacc = [a + alpha * d for a, d in zip(nums(before.qacc), search, strict=True)]
    Ma = [a + alpha * d for a, d in zip(nums(before.Ma), Mv, strict=True)]
    qfrc = problem.qfrc_unconditional(problem.forces(end), qacc)
    qfrc, piece = problem.conditional.add_qfrc_after_step(line.conditional, alpha, qfrc)
    piece = lower(piece, line.same_piece(alpha, end))
    after = _iterate(problem, to_array(qacc, dtype), Ma, end, qfrc, dtype)
    return after, -0.5 * scale * slope * maximum(alpha, 1.0), piece


@dataclass(frozen=True)
class LineSearch:
    """The function along a line qacc + alpha search.

    Attributes:
        problem: whose function.
        jaref, jv: residuals where the line begins, and J times its direction.
        conditional, listed: the same of conditional constraints and of listed contacts.
        gauss_slope, gauss_curvature: first derivative, where the line begins, and second of the function without
            constraints (MuJoCo's quadGauss).
    """

    problem: PrimalProblem
    jaref: Rows
    jv: Rows
    conditional: list[LineResiduals]
    listed: ListResiduals | None
    gauss_slope: Num
    gauss_curvature: Num

    def derivatives(self, alpha: Num) -> tuple[Num, Num]:
        """Returns the first and second derivative with respect to alpha."""
        first, second = self.gauss_slope + alpha * self.gauss_curvature, self.gauss_curvature
        for c, v, w in zip(self.problem.unconditional, self.jaref, self.jv, strict=True):
            one, other = c.cost.line_derivatives(v, w, alpha)
            first, second = first + one, second + other
        first, second = self.problem.conditional.add_line_derivatives(self.conditional, alpha, (first, second))
        if self.problem.contact_list and self.listed:
            one, other = self.problem.contact_list.line_derivatives(self.listed, alpha)
            first, second = first + one, second + other
        return first, second

    def same_piece(self, alpha: Num, end: Rows) -> Num:
        """Returns a number that is negative if the function, without conditional constraints, changes its piece.

        `end` has the residuals at alpha.
        """
        parts = zip(self.problem.unconditional, self.jaref, end, strict=True)
        piece = min_or_zero(c.cost.same_piece(v, w) for c, v, w in parts)
        if self.problem.contact_list and self.listed:
            return lower(piece, self.problem.contact_list.same_piece(self.listed, alpha))
        return piece

    def minimise(self, slope: Num, unsure: Num, full_step: jax.Array, dtype: Any) -> jax.Array:
        """Returns alpha where the first derivative is zero, by Newton's method between bounds, from a full step.

        It ends where the derivative is small beside that at the beginning; smaller than half is enough if two steps met
        the same curvature: then, most likely, they lay on one piece, whose lowest point the second has reached. Where
        the derivative is lost in rounding error, going on would take bodies along that are in balance.

        Args:
            slope: first derivative where the line begins.
            unsure: how far rounding may take a derivative from what it is.
            full_step: whether a full step is to be taken as it is.
            dtype: the dtype of the result.
        """
        shares = (SLOPE_ON_ONE_PIECE, SMALL_SLOPE)
        enough_on_one_piece, enough = (_value(maximum(slope * -share, unsure)) for share in shares)

        def unfinished(carry: Any) -> jax.Array:
            *_, count, done = carry
            return ~done & (count < max(self.problem.model.ls_iterations, LEAST_LIMIT))

        def step(carry: Any) -> Any:
            alpha, low, high, before, count, _ = carry
            first, second = map(_value, self.derivatives(Num(alpha)))
            good = jnp.abs(first) <= enough_on_one_piece
            done = full_step | (jnp.abs(first) <= enough) | (good & (second == before))
            low, high = jnp.where(first < 0, alpha, low), jnp.where(first < 0, high, alpha)
            following = alpha - first / second
            middle = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2.0 * alpha)
            following = jnp.where((following > low) & (following < high), following, middle)
            last = jnp.where(good, alpha, 0.0)
            return jnp.where(done, last, following), low, high, second, count + jnp.int32(1), done

        one, none = jnp.ones((), dtype), jnp.zeros((), dtype)
        begin = one, none, jnp.asarray(np.inf, dtype), none, jnp.int32(0), jnp.array(False)
        return lax.while_loop(unfinished, step, begin)[0]


def _split(problem: PrimalProblem, jaref: jax.Array) -> Rows:
    """Returns the residuals of each constraint."""
    flat = iter(nums(jaref))
    return [[next(flat) for _ in c.aref] for c in problem.unconditional]


def _value(x: Num | Bool) -> jax.Array:
    return jnp.asarray(x if isinstance(x, bool) else x.value)
