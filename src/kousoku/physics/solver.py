"""The acceleration that constraints allow: Newton's method on a convex function, to convergence.

    minimise  1/2 (a - a0)^T M (a - a0) + sum_i s_i(J_i a - reference_i)

with a0 the smooth acceleration and s_i a half parabola (limits, contacts), a parabola (equalities), or Huber's function
(dry friction). The function is smooth and piecewise quadratic: once the pieces are known, one step is exact.

References:
    MuJoCo documentation, Computation, "Constraint solver: algorithms", Newton. Todorov (2014), Convex and analytically
    invertible dynamics with contacts and constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .constraint import Law, Row
from .dynamics import Matrix, multiplied
from .model import Model
from .scalar import ZERO, Num, both, negated, nums, sqrt, stacked, total, where
from .smooth import Smooth


@dataclass(frozen=True)
class Solution:
    """Acceleration [nv], forces of constraints [nv], and how many iterations it took."""

    acceleration: list[Num]
    force: list[Num]
    iterations: jax.Array


@dataclass(frozen=True)
class Problem:
    """The function that is minimised."""

    model: Model
    smooth: Smooth
    rows: list[Row]

    @property
    def scale(self) -> Num:
        """Makes costs comparable between mechanisms."""
        return Num(1.0) / (Num(self.model.meaninertia) * float(max(1, self.model.nv)))

    def residuals(self, x: Sequence[Num]) -> list[Num]:
        """J x - reference, of every row."""
        return [total(j * x[d] for d, j in r.jacobian.items()) - r.reference for r in self.rows]

    def gradient(self, x: Sequence[Num], forces: Sequence[Num]) -> list[Num]:
        """Of the function, by the forces of its rows."""
        pull = multiplied(self.model, self.smooth.tree.mass_matrix, x)
        found = [a - b for a, b in zip(pull, self.smooth.force, strict=True)]
        for r, force in zip(self.rows, forces, strict=True):
            for d, j in r.jacobian.items():
                found[d] = found[d] - j * force
        return found

    def cost(self, x: Sequence[Num]) -> Num:
        """The function, but for a constant."""
        away = [a - b for a, b in zip(x, self.smooth.acceleration, strict=True)]
        pull = multiplied(self.model, self.smooth.tree.mass_matrix, away)
        result = 0.5 * total(a * b for a, b in zip(away, pull, strict=True))
        return result + total(cost(r, v) for r, v in zip(self.rows, self.residuals(x), strict=True))


# ---- rows


def force_of(r: Row, v: Num) -> tuple[Num, Num]:
    """The force of a row whose residual is v, and how much it grows as v falls."""
    if r.law is Law.FRICTION:
        width = r.bound / r.stiffness
        inside = both(v < width, v > -width)
        push = where(inside, -(r.stiffness * v), where(v > ZERO, -r.bound, r.bound, v))
        return push, where(inside, r.stiffness, 0.0, v)
    if r.law is Law.EQUALITY:
        return -(r.stiffness * v), r.stiffness
    pushes = both(v < 0.0, r.active)
    return where(pushes, -(r.stiffness * v), 0.0), where(pushes, r.stiffness, 0.0, v)


def cost(r: Row, v: Num) -> Num:
    """s(v)."""
    parabola = 0.5 * r.stiffness * v * v
    if r.law is Law.EQUALITY:
        return parabola
    if r.law is Law.PUSH:
        return where(both(v < 0.0, r.active), parabola, 0.0)
    width = r.bound / r.stiffness
    size = where(v > ZERO, v, -v)
    return where(size < width, parabola, r.bound * (size - 0.5 * width))


# ---- the iteration


def solve(model: Model, s: Smooth, rows: list[Row], warmstart: Sequence[Num], dtype: Any) -> Solution:
    """The acceleration of the mechanism under its constraints."""
    problem = Problem(model, s, rows)
    if not rows:
        return Solution(s.acceleration, [ZERO] * model.nv, jnp.int32(0))
    smooth = stacked(s.acceleration, dtype)
    begin = smooth
    if not model.no_warmstart:
        better = problem.cost(warmstart) < problem.cost(s.acceleration)
        begin = jnp.where(jnp.asarray(better), stacked(warmstart, dtype), smooth)
    pattern = Pattern.of(model, rows)

    def going(carry: Any) -> jax.Array:
        _, iteration, done = carry
        return ~done & (iteration < model.iterations)

    def step(carry: Any) -> Any:
        x, iteration, _ = carry
        at = nums(x)
        values = problem.residuals(at)
        found = [force_of(r, v) for r, v in zip(rows, values, strict=True)]
        gradient = problem.gradient(at, [f for f, _ in found])
        hessian = pattern.hessian(s.tree.mass_matrix, rows, [slope for _, slope in found])
        search = [-g for g in pattern.solve(hessian, gradient)]
        slope = total(g * d for g, d in zip(gradient, search, strict=True))
        size = sqrt(total(g * g for g in gradient))
        length = _line(problem, at, search, gradient, values, dtype)
        moved = x + length * stacked(search, dtype)
        tolerance = Num(model.tolerance)
        small = both(negated(problem.scale * -0.5 * slope > tolerance), True)
        done = jnp.asarray(small) | jnp.asarray(problem.scale * size < tolerance)
        return moved, iteration + jnp.int32(1), done

    x, iterations, _ = lax.while_loop(going, step, (begin, jnp.int32(0), jnp.array(False)))
    at = nums(x)
    force = [ZERO] * model.nv
    for r, v in zip(rows, problem.residuals(at), strict=True):
        push, _ = force_of(r, v)
        for d, j in r.jacobian.items():
            force[d] = force[d] + j * push
    return Solution(at, force, iterations)


def _line(
    problem: Problem, at: list[Num], search: list[Num], gradient: list[Num], values: list[Num], dtype: Any
) -> jax.Array:
    """How far to go along `search`: where the derivative is zero, by Newton's method between bounds."""
    model, rows = problem.model, problem.rows
    pull = multiplied(model, problem.smooth.tree.mass_matrix, search)
    curve = total(a * b for a, b in zip(search, pull, strict=True))
    away = [
        a - b for a, b in zip(multiplied(model, problem.smooth.tree.mass_matrix, at), problem.smooth.force, strict=True)
    ]
    start = total(a * b for a, b in zip(away, search, strict=True))
    along = [total(j * search[d] for d, j in r.jacobian.items()) for r in rows]

    def derivatives(length: Num) -> tuple[Num, Num]:
        first, second = start + length * curve, curve
        for r, v, w in zip(rows, values, along, strict=True):
            push, slope = force_of(r, v + length * w)
            first, second = first - push * w, second + slope * w * w
        return first, second

    slope = total(g * d for g, d in zip(gradient, search, strict=True))
    enough = jnp.asarray((slope * Num(-1.0)).value, dtype) * jnp.asarray(float(model.ls_tolerance) * 1e-2, dtype)

    def going(carry: Any) -> jax.Array:
        _, _, _, count, done = carry
        return ~done & (count < model.ls_iterations)

    def step(carry: Any) -> Any:
        length, low, high, count, _ = carry
        first, second = (jnp.asarray(d.value, dtype) for d in derivatives(Num(length)))
        low, high = jnp.where(first < 0, length, low), jnp.where(first < 0, high, length)
        following = length - first / second
        inside = (following > low) & (following < high)
        middle = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2.0 * length)
        done = jnp.abs(first) <= enough
        return jnp.where(done, length, jnp.where(inside, following, middle)), low, high, count + jnp.int32(1), done

    one, none = jnp.ones((), dtype), jnp.zeros((), dtype)
    begin = one, none, jnp.asarray(np.inf, dtype), jnp.int32(0), jnp.array(False)
    return lax.while_loop(going, step, begin)[0]


# ---- the sparse Hessian


@dataclass(frozen=True)
class Pattern:
    """Which entries of M + J^T D J and of its factor may differ from zero.

    Attributes:
        size: nv.
        below: for each degree of freedom, the lower ones that its row of the factor reaches.
    """

    size: int
    below: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(model: Model, rows: Sequence[Row]) -> Pattern:
        """Of a mechanism and its constraints; factorising from the leaves to the root fills in little."""
        from .joints import ancestors

        entries = [set(ancestors(model, i)) - {i} for i in range(model.nv)]
        for r in rows:
            dofs = sorted(r.jacobian)
            for place, i in enumerate(dofs):
                entries[i].update(dofs[:place])
        for k in range(model.nv - 1, -1, -1):
            reached = sorted(entries[k])
            for place, i in enumerate(reached):
                entries[i].update(reached[:place])
        return Pattern(model.nv, tuple(tuple(sorted(e, reverse=True)) for e in entries))

    def hessian(self, mass: Matrix, rows: Sequence[Row], weights: Sequence[Num]) -> Matrix:
        """M + J^T diag(weights) J, below and on the diagonal."""
        found = {(i, j): ZERO for i in range(self.size) for j in (i, *self.below[i])}
        found.update(mass)
        for r, weight in zip(rows, weights, strict=True):
            dofs = sorted(r.jacobian)
            for place, i in enumerate(dofs):
                scaled = weight * r.jacobian[i]
                for j in dofs[: place + 1]:
                    found[i, j] = found[i, j] + scaled * r.jacobian[j]
        return found

    def solve(self, matrix: Matrix, right: Sequence[Num]) -> list[Num]:
        """x with H x = right, by L^T D L."""
        work, x = dict(matrix), list(right)
        inverse: list[Num] = [ZERO] * self.size
        for k in range(self.size - 1, -1, -1):
            inverse[k] = 1.0 / work[k, k]
            scaled = {i: work[k, i] * inverse[k] for i in self.below[k]}
            for place, i in enumerate(self.below[k]):
                for j in self.below[k][place:]:
                    work[i, j] = work[i, j] - scaled[i] * work[k, j]
                x[i] = x[i] - scaled[i] * x[k]
            for i in self.below[k]:
                work[k, i] = scaled[i]
        x = [a * d for a, d in zip(x, inverse, strict=True)]
        for i in range(self.size):
            x[i] = x[i] - total(work[i, j] * x[j] for j in self.below[i])
        return x
