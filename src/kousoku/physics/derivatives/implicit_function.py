"""The derivative of the solver's solution: of what it solves, not of how.

The solution x makes the gradient g(x, p) of the solver's function vanish, whatever the numbers p of the problem are, so

    dx = -H^-1 (dg / dp) dp,    H = dg / dx

with the constraints that act at the solution: one linear system, no iterations, forward and reverse. The function is
smooth but where a constraint begins or ceases to act, where it begins to slip, and where dry friction reaches its
bound. There the derivative is one-sided: that of the side on which the numbers are.

References:
    Implicit function theorem. MuJoCo documentation, Computation, "Derivatives".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from ..algebra.scalar import Num, nums, stacked
from ..algebra.sparse import Factor, Pattern, factor, multiplied
from ..constraint import Constraint
from ..constraint.contact_list import Listed, Row
from ..constraint.problem import Problem, Rows
from ..constraint.solver import Solution, solve
from ..control_flow.cond import replaced, unknown
from ..model import Model
from ..stages.smooth import Smooth
from .jvp import slope

Values = tuple[list[jax.Array], tuple[Row, jax.Array] | None]


def solution(
    model: Model, s: Smooth, constraints: list[Constraint], listed: Listed | None, warmstart: Sequence[Num], dtype: Any
) -> Solution:
    """What `solve` finds, with the derivative of what it solves."""
    if not constraints and listed is None:
        return solve(model, s, constraints, listed, warmstart, dtype)
    bare = [replace(c, grips=[], of=None) for c in constraints]
    parts = (s.tree.motion, s.tree.mass_matrix, s.force, s.acceleration, bare, list(warmstart))
    pose = Pose(model, s, dtype, parts, listed)

    @jax.custom_jvp
    def find(values: Values) -> tuple[jax.Array, jax.Array, jax.Array]:
        problem, begin = pose.problem(values)
        found = solve(model, problem.smooth, problem.constraints, problem.listed, begin, dtype)
        forces = [f for rows in found.forces for f in rows]
        return stacked(found.acceleration, dtype), stacked(forces, dtype), found.iterations

    @partial(find.defjvp, symbolic_zeros=True)
    def change(primals: Any, tangents: Any) -> Any:
        found = find(*primals)
        return found, (*pose.tangent(found[0], primals, tangents), np.zeros((), jax.dtypes.float0))

    x, forces, iterations = find(pose.values)
    split = iter(nums(forces))
    rows = [[next(split) for _ in c.reference] for c in constraints]
    standing = [row for c, row in zip(constraints, rows, strict=True) if c.there is None]
    problem = Problem(model, s, constraints, listed)
    return Solution(nums(x), problem.pulled(standing, nums(x)), rows, iterations)


@dataclass(frozen=True)
class Pose:
    """A problem as a function of its numbers.

    Attributes:
        model, smooth: the mechanism.
        dtype: of results.
        parts: all that the solver reads, with the numbers in their places, but for
        listed: contacts between moving bodies where these are many.
    """

    model: Model
    smooth: Smooth
    dtype: Any
    parts: tuple[Any, ...]
    listed: Listed | None

    @property
    def values(self) -> Values:
        """Each number that is not known, once; and the rows of the list and their number."""
        return list(unknown(self.parts).values()), (self.listed.rows, self.listed.length) if self.listed else None

    def problem(self, values: Values) -> tuple[Problem, list[Num]]:
        """The problem with other numbers, and where to begin."""
        numbers, there = values
        parts = replaced(self.parts, dict(zip(unknown(self.parts), numbers, strict=True)))
        motion, mass, force, acceleration, constraints, warmstart = parts
        t = replace(self.smooth.tree, motion=motion, mass_matrix=mass)
        s = replace(self.smooth, tree=t, force=force, acceleration=acceleration)
        listed = Listed(*there, self.listed.pairs) if self.listed and there else None
        return Problem(self.model, s, constraints, listed), warmstart

    def tangent(self, x: jax.Array, given: tuple[Values], slopes: Any) -> tuple[jax.Array, jax.Array]:
        """How the solution `x` and the constraints' forces change when the numbers do."""

        def posed(values: Values) -> Problem:
            problem = self.problem(values)[0]
            # Without branches: under `vmap` JAX stops gradients in those of a rule's own, and cannot go back.
            return replace(problem, constraints=[replace(c, there=None) for c in problem.constraints])

        def gradient(values: Values) -> jax.Array:
            problem, at = posed(values), nums(x)
            pull, push = multiplied(problem.smooth.tree.mass_matrix, at), problem.pulled(_forces(problem, at), at)
            parts = zip(pull, problem.smooth.force, push, strict=True)
            return stacked([a - b - c for a, b, c in parts], self.dtype)

        def forces(values: Values, at: jax.Array) -> jax.Array:
            return stacked([f for rows in _forces(posed(values), nums(at)) for f in rows], self.dtype)

        push = slope(gradient, given, slopes)
        dx = -stacked(_hessian(posed(*given), nums(x)).solve(nums(push)), self.dtype)
        return dx, slope(forces, (*given, x), (*slopes, dx))


def _forces(problem: Problem, x: Sequence[Num]) -> Rows:
    return problem.forces(problem.residuals(x))


def _hessian(problem: Problem, x: Sequence[Num]) -> Factor:
    entries, pattern = problem.hessian(problem.curvatures(problem.residuals(x))), problem.pattern
    if problem.listed:
        entries, pattern = problem.listed.curved(entries, x), Pattern.of(problem.model, [range(problem.model.nv)])
    return factor(pattern, entries)
