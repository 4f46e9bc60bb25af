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
from jax.custom_derivatives import SymbolicZero

from .branch import replaced, unknown
from .constraint import Constraint
from .constraint.listed import Listed
from .constraint.problem import Problem, Rows
from .model import Model
from .scalar import Num, nums, stacked
from .smooth import Smooth
from .solver import Solution, solve
from .sparse import Factor, factor, multiplied


def solution(
    model: Model, s: Smooth, constraints: list[Constraint], listed: Listed | None, warmstart: Sequence[Num], dtype: Any
) -> Solution:
    """What `solve` finds, with the derivative of what it solves; where contacts are listed, of its last iteration."""
    if not constraints or listed is not None:
        return solve(model, s, constraints, listed, warmstart, dtype)
    bare = [replace(c, grips=[], of=None) for c in constraints]
    pose = Pose(model, s, dtype, (s.tree.motion, s.tree.mass_matrix, s.force, s.acceleration, bare, list(warmstart)))

    @jax.custom_jvp
    def find(values: list[jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        problem, begin = pose.problem(values)
        found = solve(model, problem.smooth, problem.constraints, None, begin, dtype)
        forces = [f for rows in found.forces for f in rows]
        return stacked(found.acceleration, dtype), stacked(forces, dtype), found.iterations

    @partial(find.defjvp, symbolic_zeros=True)
    def change(primals: Any, tangents: Any) -> Any:
        found = find(*primals)
        return found, (*pose.tangent(found[0], primals[0], tangents[0]), np.zeros((), jax.dtypes.float0))

    x, forces, iterations = find(pose.values)
    split = iter(nums(forces))
    rows = [[next(split) for _ in c.reference] for c in constraints]
    standing = [row for c, row in zip(constraints, rows, strict=True) if c.there is None]
    return Solution(nums(x), Problem(model, s, constraints).pulled(standing, nums(x)), rows, iterations)


@dataclass(frozen=True)
class Pose:
    """A problem as a function of its numbers.

    Attributes:
        model, smooth: the mechanism.
        dtype: of results.
        parts: all that the solver reads, with the numbers in their places.
    """

    model: Model
    smooth: Smooth
    dtype: Any
    parts: tuple[Any, ...]

    @property
    def values(self) -> list[jax.Array]:
        """Each number that is not known, once."""
        return list(unknown(self.parts).values())

    def problem(self, values: Sequence[jax.Array]) -> tuple[Problem, list[Num]]:
        """The problem with other numbers, and where to begin."""
        parts = replaced(self.parts, dict(zip(unknown(self.parts), values, strict=True)))
        motion, mass, force, acceleration, constraints, warmstart = parts
        t = replace(self.smooth.tree, motion=motion, mass_matrix=mass)
        s = replace(self.smooth, tree=t, force=force, acceleration=acceleration)
        return Problem(self.model, s, constraints), warmstart

    def tangent(self, x: jax.Array, values: list[jax.Array], tangents: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
        """How the solution `x` and the constraints' forces change when the numbers do."""
        moving = [not isinstance(t, SymbolicZero) for t in tangents]
        chosen = [[v for v, m in zip(of, moving, strict=True) if m] for of in (values, tangents)]

        def posed(moved: list[jax.Array]) -> Problem:
            some = iter(moved)
            problem = self.problem([next(some) if m else v for v, m in zip(values, moving, strict=True)])[0]
            # Without branches: under `vmap` JAX stops gradients in those of a rule's own, and cannot go back.
            return replace(problem, constraints=[replace(c, there=None) for c in problem.constraints])

        def gradient(moved: list[jax.Array]) -> jax.Array:
            problem, at = posed(moved), nums(x)
            pull, push = multiplied(problem.smooth.tree.mass_matrix, at), problem.pulled(_forces(problem, at), at)
            parts = zip(pull, problem.smooth.force, push, strict=True)
            return stacked([a - b - c for a, b, c in parts], self.dtype)

        def forces(moved: list[jax.Array], at: jax.Array) -> jax.Array:
            return stacked([f for rows in _forces(posed(moved), nums(at)) for f in rows], self.dtype)

        push = jax.jvp(gradient, chosen[:1], chosen[1:])[1]
        dx = -stacked(_hessian(posed(chosen[0]), nums(x)).solve(nums(push)), self.dtype)
        return dx, jax.jvp(forces, (chosen[0], x), (chosen[1], dx))[1]


def _forces(problem: Problem, x: Sequence[Num]) -> Rows:
    return problem.forces(problem.residuals(x))


def _hessian(problem: Problem, x: Sequence[Num]) -> Factor:
    return factor(problem.pattern, problem.hessian(problem.curvatures(problem.residuals(x))))
