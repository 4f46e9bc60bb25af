"""From a state and commands to accelerations: all stages but the integration.

References:
    MuJoCo documentation, Computation, "Simulation pipeline", forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .algebra.scalar import Num, nums
from .algebra.vector import STILL, Six
from .constraint import Constraint, constraints
from .constraint.contact_list import Listed
from .constraint.self_contacts import divided, listed
from .constraint.solver import Solution
from .derivatives.implicit_function import solution
from .model import Model, State
from .stages.smooth import Smooth, smooth
from .validate import check_state, check_vector

T = TypeVar("T")


@dataclass(frozen=True)
class Forward:
    """What a state and commands bring about.

    Attributes:
        model, state: of what, and when.
        smooth: everything but constraints.
        constraints: all that there can be, each with its force in `solution.forces`, but for
        listed: contacts between moving bodies where these are many.
        solution: accelerations and forces.
    """

    model: Model
    state: State
    smooth: Smooth
    constraints: list[Constraint]
    listed: Listed | None
    solution: Solution

    @cached_property
    def external(self) -> list[Six]:
        """Torque and force of contacts and of equalities between bodies on each body, about its tree's centre of mass.

        MuJoCo's cfrc_ext, but for bodies that cannot move, where it is zero here.
        """
        loads = [STILL] * self.model.nbody
        if self.listed:
            loads = self.listed.loads(self.model, self.smooth, self.solution.acceleration)
        for c, forces in zip(self.constraints, self.solution.forces, strict=True):
            for grip in c.grips:
                for wrench, force in zip(grip.wrenches, forces, strict=True):
                    loads[grip.body] = loads[grip.body] + wrench * force
        return loads


def measured(f: Forward, measure: Callable[[Forward], T], wanted: Any) -> T:
    """What is measured, where it is wanted; zeros elsewhere, at no cost."""

    def taken() -> T:
        return measure(replace(f))  # one of its own, so that what it caches stays in the branch

    shapes = jax.eval_shape(taken)
    if not jax.tree.leaves(shapes):
        return shapes
    nothing: T = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return lax.cond(wanted, taken, lambda: nothing)


def forward(model: Model, state: State, ctrl: Float[Array, " nu"]) -> Forward:
    """Everything up to the acceleration, for the commands `ctrl` [nu].

    Raises:
        ConfigError: for a state or commands of other shapes than the model's.
    """
    check_state(model, state)
    check_vector("ctrl", ctrl, model.nu)
    qpos, qvel, act, given = map(nums, (state.qpos, state.qvel, state.act, ctrl))
    s, dtype = smooth(model, qpos, qvel, act, given), state.qpos.dtype
    held, touching = constrained(model, s, qpos, qvel, dtype)
    return Forward(model, state, s, held, touching, solution(model, s, held, touching, nums(state.warmstart), dtype))


def constrained(
    model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num], dtype: Any
) -> tuple[list[Constraint], Listed | None]:
    """What holds the mechanism: constraints that are written out, and contacts that are listed where these are many."""
    pairs, crowd = divided(model)
    touching = listed(model, s, crowd, qvel, dtype) if crowd else None
    return constraints(model, s, qpos, qvel, pairs), touching
