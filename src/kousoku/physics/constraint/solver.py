"""The acceleration that constraints allow: Newton's method on a convex function, to convergence.

Constraints without elliptic cones make the function piecewise quadratic: a step that stays on one piece is exact, and
the last.

References:
    MuJoCo documentation, Computation, "Constraint solver", algorithms, Newton. Todorov (2014), Convex and analytically
    invertible dynamics with contacts and constraints.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..algebra.scalar import ZERO, Num, both, dot, nums, sqrt, stacked, total
from ..algebra.sparse import factor, multiplied
from ..model import Model
from ..stages.smooth import Smooth
from . import Constraint
from .conditional import Place
from .contact_list import Listed, Places
from .cost import least, lower
from .problem import Problem, Rows

FLAT, FLATTER = 0.5, 0.01
EXACT = 1e-3


@dataclass(frozen=True)
class Solution:
    """What constraints bring about.

    Attributes:
        acceleration: of the degrees of freedom [nv].
        force: of all constraints on them [nv].
        forces: of each constraint's rows.
        iterations: how many it took.
    """

    acceleration: list[Num]
    force: list[Num]
    forces: Rows
    iterations: jax.Array


class Point(NamedTuple):
    """Where the search is.

    Attributes:
        x: the acceleration [nv].
        pull: M x [nv].
        residuals: of all rows.
        gradient: of the function [nv].
    """

    x: jax.Array
    pull: jax.Array
    residuals: jax.Array
    gradient: jax.Array


def solve(
    model: Model, s: Smooth, constraints: list[Constraint], listed: Listed | None, warmstart: Sequence[Num], dtype: Any
) -> Solution:
    """The acceleration of the mechanism under its constraints."""
    problem = Problem(model, s, constraints, listed)
    if not constraints and listed is None:
        return Solution(s.acceleration, [ZERO] * model.nv, [], jnp.int32(0))
    diagonal = (s.tree.mass_matrix[i, i] for i in range(model.nv))
    scale = 1.0 / total(diagonal)

    def going(carry: Any) -> jax.Array:
        _, iteration, done = carry
        return ~done & (iteration < model.iterations)

    def iterate(carry: Any) -> Any:
        before, iteration, _ = carry
        point, gain, kept = _newton(problem, before, scale, dtype)
        steep, steeper = (sqrt(dot(g, g)) for g in (nums(p.gradient) for p in (point, before)))
        ends = [gain < Num(model.tolerance), scale * steep < Num(model.tolerance)]
        exact = both(kept >= 0.0, steep < EXACT * steeper)
        done = functools.reduce(jnp.logical_or, map(_value, [*ends, exact]))
        return point, iteration + jnp.int32(1), done

    start = _start(problem, warmstart, dtype)
    point, iterations, _ = lax.while_loop(going, iterate, (start, jnp.int32(0), jnp.array(False)))
    residuals, x = _split(problem, point.residuals), nums(point.x)
    forces = problem.every_force(residuals, x)
    return Solution(x, problem.pulled(problem.forces(residuals), x), forces, iterations)


def _kept(problem: Problem, line: Line, length: Num, ended: Rows) -> Num:
    """Negative if the function, but for what is seldom there, is not one parabola between the ends of a step."""
    kept = least(c.law.kept(v, w) for c, v, w in zip(problem.standing, line.at, ended, strict=True))
    return lower(kept, problem.listed.kept(line.listed, length)) if problem.listed and line.listed else kept


def _start(problem: Problem, warmstart: Sequence[Num], dtype: Any) -> Point:
    """At the last acceleration, or, without a warm start, at the one without constraints."""
    x = stacked(problem.smooth.acceleration if problem.model.no_warmstart else warmstart, dtype)
    residuals = problem.residuals(nums(x))
    pull = multiplied(problem.smooth.tree.mass_matrix, nums(x))
    return _point(problem, x, pull, residuals, problem.pulled(problem.forces(residuals), nums(x)), dtype)


def _point(
    problem: Problem, x: jax.Array, pull: Sequence[Num], residuals: Rows, push: Sequence[Num], dtype: Any
) -> Point:
    flat = stacked([v for rows in residuals for v in rows], dtype)
    gradient = [a - b - c for a, b, c in zip(pull, problem.smooth.force, push, strict=True)]
    return Point(x, stacked(pull, dtype), flat, stacked(gradient, dtype))


def _newton(problem: Problem, point: Point, scale: Num, dtype: Any) -> tuple[Point, Num, Num]:
    """One step, and by how much it lowers the function if it is quadratic between, in units of `1 / scale`.

    Last, a number that is negative if the function is not one parabola between.
    """
    gradient, residuals = nums(point.gradient), _split(problem, point.residuals)
    hessian = problem.hessian(problem.curvatures(residuals), nums(point.x))
    factored = factor(problem.pattern, hessian)
    found = problem.listed.solved(factored, gradient, nums(point.x)) if problem.listed else factored.solve(gradient)
    search = [-d for d in found]
    slope = dot(gradient, search)
    pull, along = multiplied(problem.smooth.tree.mass_matrix, search), problem.products(search)
    line = Line(
        problem,
        residuals,
        along,
        problem.seldom.begun(nums(point.x), search),
        problem.listed.begun(nums(point.x), search) if problem.listed else None,
        dot([a - b for a, b in zip(nums(point.pull), problem.smooth.force, strict=True)], search),
        dot(pull, search),
    )
    length = Num(line.lowest(slope, _value(scale * slope * -0.5 < Num(problem.model.tolerance)), dtype))
    moved = [[v + length * w for v, w in zip(vs, ws, strict=True)] for vs, ws in zip(residuals, along, strict=True)]
    x = [a + length * d for a, d in zip(nums(point.x), search, strict=True)]
    pulls = [a + length * d for a, d in zip(nums(point.pull), pull, strict=True)]
    push, kept = problem.seldom.ended(line.places, length, problem.pulled_standing(problem.forces(moved), x))
    kept = lower(kept, _kept(problem, line, length, moved))
    return _point(problem, stacked(x, dtype), pulls, moved, push, dtype), -0.5 * scale * slope * length, kept


@dataclass(frozen=True)
class Line:
    """The function along a line.

    Attributes:
        problem: whose function.
        at, along: residuals where the line begins, and how they grow along it.
        places, listed: the same, of constraints that are seldom there, and of listed contacts.
        slope, curve: first derivative, where it begins, and second of the function without constraints.
    """

    problem: Problem
    at: Rows
    along: Rows
    places: list[Place]
    listed: Places | None
    slope: Num
    curve: Num

    def derivatives(self, length: Num) -> tuple[Num, Num]:
        """The first and the second."""
        first, second = self.slope + length * self.curve, self.curve
        for c, v, w in zip(self.problem.standing, self.at, self.along, strict=True):
            one, other = c.law.along(v, w, length)
            first, second = first + one, second + other
        first, second = self.problem.seldom.along(self.places, length, (first, second))
        if self.problem.listed and self.listed:
            one, other = self.problem.listed.along(self.listed, length)
            first, second = first + one, second + other
        return first, second

    def lowest(self, slope: Num, near: jax.Array, dtype: Any) -> jax.Array:
        """Where the first derivative is zero, by Newton's method between bounds, from a full step.

        It ends where the derivative is small beside that at the beginning; smaller than half is enough if two steps met
        the same curvature: then, most likely, they lay on one parabola, whose lowest point the second has reached.
        """
        flat, flatter = _value(slope * -FLAT), _value(slope * -FLATTER)

        def going(carry: Any) -> jax.Array:
            *_, count, done = carry
            return ~done & (count < self.problem.model.ls_iterations)

        def step(carry: Any) -> Any:
            length, low, high, before, count, _ = carry
            first, second = map(_value, self.derivatives(Num(length)))
            good = jnp.abs(first) <= flat
            done = near | (jnp.abs(first) <= flatter) | (good & (second == before))
            low, high = jnp.where(first < 0, length, low), jnp.where(first < 0, high, length)
            following = length - first / second
            middle = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2.0 * length)
            following = jnp.where((following > low) & (following < high), following, middle)
            last = jnp.where(good, length, 0.0)
            return jnp.where(done, last, following), low, high, second, count + jnp.int32(1), done

        one, none = jnp.ones((), dtype), jnp.zeros((), dtype)
        begin = one, none, jnp.asarray(np.inf, dtype), none, jnp.int32(0), jnp.array(False)
        return lax.while_loop(going, step, begin)[0]


def _split(problem: Problem, residuals: jax.Array) -> Rows:
    """The residuals of each constraint."""
    flat = iter(nums(residuals))
    return [[next(flat) for _ in c.reference] for c in problem.standing]


def _value(x: Any) -> Any:
    return jnp.asarray(x.value if isinstance(x, Num) else x)
