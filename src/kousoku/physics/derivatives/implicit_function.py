"""The derivative of the solver's solution, by the implicit function theorem: of what it solves, not of how.

The solution a makes the gradient g(a, p) of the solver's function vanish, whatever the numbers p of the problem are, so

    da = -H^-1 (dg / dp) dp,    H = dg / da

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

from ..algebra.scalar import Num, nums, to_array
from ..algebra.sparse import Factor, factor, mul_sym_vec
from ..constraint.contact_list import ContactList, ContactRow
from ..constraint.jacobian import Constraint
from ..constraint.problem import PrimalProblem, Rows
from ..constraint.solver import Solution, solve
from ..control_flow.cond import traced_values, with_values
from ..model import Model
from ..stages.crb import mass_matrix_pattern
from ..stages.smooth import Smooth
from .jvp import jvp_symbolic_zeros

Values = tuple[list[jax.Array], tuple[ContactRow, jax.Array] | None]
"""Each traced number of a problem once; and the rows of its contact list and their number."""


def differentiable_solve(
    model: Model,
    s: Smooth,
    constraints: list[Constraint],
    contact_list: ContactList | None,
    warmstart: Sequence[Num],
    dtype: Any,
) -> Solution:
    """Returns what `solve` finds, with the derivative of what it solves; arguments as those of `solve`."""
    if not constraints and contact_list is None:
        return solve(model, s, constraints, contact_list, warmstart, dtype)
    bare = [replace(c, body_jacobians=[], source=None) for c in constraints]
    parts = (s.com_pos.cdof, s.qM, s.qfrc_smooth, s.qacc_smooth, bare, list(warmstart))
    inputs = SolverInputs(model, s, dtype, parts, contact_list)

    @jax.custom_jvp
    def find(values: Values) -> tuple[jax.Array, jax.Array, jax.Array]:
        problem, begin = inputs.problem(values)
        found = solve(model, problem.smooth, problem.constraints, problem.contact_list, begin, dtype)
        forces = [f for rows in found.efc_force for f in rows]
        return to_array(found.qacc, dtype), to_array(forces, dtype), found.iterations

    @partial(find.defjvp, symbolic_zeros=True)
    def rule(primals: Any, tangents: Any) -> Any:
        found = find(*primals)
        return found, (*inputs.tangent(found[0], primals, tangents), np.zeros((), jax.dtypes.float0))

    qacc, forces, iterations = find(inputs.values)
    split = iter(nums(forces))
    efc_force = [[next(split) for _ in c.aref] for c in constraints]
    unconditional = [row for c, row in zip(constraints, efc_force, strict=True) if c.active is None]
    problem = PrimalProblem(model, s, constraints, contact_list)
    return Solution(nums(qacc), problem.qfrc_constraint(unconditional, nums(qacc)), efc_force, iterations)


@dataclass(frozen=True)
class SolverInputs:
    """A problem as a function of its traced numbers.

    Attributes:
        model, smooth: the mechanism.
        dtype: the dtype of results.
        parts: all that the solver reads but for the contact list, with the numbers in their places.
        contact_list: contacts between moving bodies, where these are many.
    """

    model: Model
    smooth: Smooth
    dtype: Any
    parts: tuple[Any, ...]
    contact_list: ContactList | None

    @property
    def values(self) -> Values:
        """The numbers that the problem is a function of."""
        listed = (self.contact_list.rows, self.contact_list.length) if self.contact_list else None
        return list(traced_values(self.parts).values()), listed

    def problem(self, values: Values) -> tuple[PrimalProblem, list[Num]]:
        """Returns the problem with other numbers, and the acceleration where its search begins [nv]."""
        numbers, listed = values
        parts = with_values(self.parts, dict(zip(traced_values(self.parts), numbers, strict=True)))
        cdof, qM, qfrc_smooth, qacc_smooth, constraints, warmstart = parts
        com_pos = replace(self.smooth.com_pos, cdof=cdof)
        s = replace(self.smooth, com_pos=com_pos, qM=qM, qfrc_smooth=qfrc_smooth, qacc_smooth=qacc_smooth)
        contact_list = ContactList(*listed, self.contact_list.pairs) if self.contact_list and listed else None
        return PrimalProblem(self.model, s, constraints, contact_list), warmstart

    def tangent(self, qacc: jax.Array, primals: tuple[Values], tangents: Any) -> tuple[jax.Array, jax.Array]:
        """Returns tangents of the solution `qacc` [nv] and of the constraints' forces, for those of the numbers."""

        def without_branches(values: Values) -> PrimalProblem:
            problem = self.problem(values)[0]
            # Under `vmap` JAX stops gradients in branches of a rule's own, and cannot go back.
            return replace(problem, constraints=[replace(c, active=None) for c in problem.constraints])

        def gradient(values: Values) -> jax.Array:
            problem, at = without_branches(values), nums(qacc)
            Ma, qfrc = mul_sym_vec(problem.smooth.qM, at), problem.qfrc_constraint(_forces(problem, at), at)
            parts = zip(Ma, problem.smooth.qfrc_smooth, qfrc, strict=True)
            return to_array([a - b - c for a, b, c in parts], self.dtype)

        def forces(values: Values, at: jax.Array) -> jax.Array:
            return to_array([f for rows in _forces(without_branches(values), nums(at)) for f in rows], self.dtype)

        gradient_dot = jvp_symbolic_zeros(gradient, primals, tangents)
        hessian = _hessian(without_branches(*primals), nums(qacc))
        qacc_dot = -to_array(hessian.solve(nums(gradient_dot)), self.dtype)
        return qacc_dot, jvp_symbolic_zeros(forces, (*primals, qacc), (*tangents, qacc_dot))


def _forces(problem: PrimalProblem, qacc: Sequence[Num]) -> Rows:
    return problem.forces(problem.jaref(qacc))


def _hessian(problem: PrimalProblem, qacc: Sequence[Num]) -> Factor:
    entries, pattern = problem.hessian(problem.cost_hessians(problem.jaref(qacc))), problem.pattern
    if problem.contact_list:
        entries = problem.contact_list.add_hessian(entries, qacc)
        pattern = mass_matrix_pattern(problem.model, [range(problem.model.nv)])
    return factor(pattern, entries)
