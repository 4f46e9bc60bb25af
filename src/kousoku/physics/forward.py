"""Forward dynamics (mj_forward): from a state and commands to accelerations, all stages but the integration.

References:
    MuJoCo documentation, Computation, "Simulation pipeline", forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .algebra.scalar import ZERO, Num, nums, row
from .algebra.spatial import ZERO6, SpatialVec
from .algebra.vector import ZERO3
from .constraint import Constraint, constraints
from .constraint.contact_list import ContactList
from .constraint.self_contacts import contact_list, split_candidates
from .constraint.solver import Solution
from .derivatives.implicit_function import differentiable_solve
from .model import Model, State, check_state, check_vector
from .stages.actuation import actuators_of
from .stages.apply_ft import wrench_at_com
from .stages.joints import moving_ancestor
from .stages.passive import tendon_force
from .stages.smooth import Smooth, smooth

T = TypeVar("T")


@dataclass(frozen=True)
class Forward:
    """The accelerations that a state and commands bring about, and what they were computed from.

    Attributes:
        model, state: the mechanism and its state.
        smooth: everything but constraints.
        constraints: all that there can be but for the contact list, each with its force in `solution.efc_force`.
        contact_list: contacts between moving bodies, where these are many.
        solution: accelerations and forces of constraints.
    """

    model: Model
    state: State
    smooth: Smooth
    constraints: list[Constraint]
    contact_list: ContactList | None
    solution: Solution

    @cached_property
    def cfrc_ext_moving(self) -> list[SpatialVec]:
        """Torque and force of contacts, connects, welds and spatial tendons on each body that can move [nbody].

        About its tree's centre of mass: MuJoCo's cfrc_ext, but zero for bodies that cannot move.
        """
        cfrc_ext = [ZERO6] * self.model.nbody
        if self.contact_list:
            cfrc_ext = self.contact_list.cfrc_ext(self.model, self.smooth, self.solution.qacc)
        for c, forces in zip(self.constraints, self.solution.efc_force, strict=True):
            for jac in c.body_jacobians:
                for wrench, force in zip(jac.wrenches, forces, strict=True):
                    cfrc_ext[jac.body] = cfrc_ext[jac.body] + wrench * force
        for body, wrench in self.tendon_wrenches():
            if moving_ancestor(self.model, body):
                cfrc_ext[body] = cfrc_ext[body] + wrench
        return cfrc_ext

    def tendon_wrenches(self) -> Iterator[tuple[int, SpatialVec]]:
        """Yields the bodies that spatial tendons pull at, and the torque and force, about its tree's centre of mass."""
        com = self.smooth.com_pos
        for i, tendon in enumerate(self.smooth.tendons):
            force = self._tendon_force(i) if tendon.pulls else ZERO
            for pull in tendon.pulls:
                if pull.body:
                    yield pull.body, wrench_at_com(com, self.model, pull.body, pull.pos, pull.along * force, ZERO3)

    def _tendon_force(self, number: int) -> Num:
        """Returns all that acts along a tendon, newtons: its spring and damper, actuators and constraints."""
        model, qvel = self.model, nums(self.state.qvel)
        force = tendon_force(model, number, self.smooth.tendons[number], qvel)
        if not model.no_actuation:
            for i in actuators_of(model, number):
                force = force + row(model.actuator_gear, i)[0] * self.smooth.actuation.force[i]
        for c, forces in zip(self.constraints, self.solution.efc_force, strict=True):
            if number in c.tendons:
                force = force + c.tendons[number] * forces[0]
        return force


def forward(model: Model, state: State, ctrl: Float[Array, " nu"]) -> Forward:
    """Computes everything up to the acceleration, for the commands `ctrl` [nu].

    Raises:
        ConfigError: for a state or commands of other shapes than the model's.
    """
    check_state(model, state)
    check_vector("ctrl", ctrl, model.nu)
    qpos, qvel, act, commands = map(nums, (state.qpos, state.qvel, state.act, ctrl))
    s, dtype = smooth(model, qpos, qvel, act, commands), state.qpos.dtype
    written, listed = make_constraints(model, s, qpos, qvel, dtype)
    solution = differentiable_solve(model, s, written, listed, nums(state.warmstart), dtype)
    return Forward(model, state, s, written, listed, solution)


def make_constraints(
    model: Model, s: Smooth, qpos: Sequence[Num], qvel: Sequence[Num], dtype: Any
) -> tuple[list[Constraint], ContactList | None]:
    """Returns constraints that are written out, and contacts of moving bodies in a list where these are many."""
    pairs, many = split_candidates(model)
    listed = contact_list(model, s, many, qvel, dtype) if many else None
    return constraints(model, s, qpos, qvel, pairs), listed


def measure_where(f: Forward, measure: Callable[[Forward], T], condition: Any) -> T:
    """Returns measure(f) where the condition holds; zeros elsewhere, at no cost."""

    def taken() -> T:
        return measure(replace(f))  # one of its own, so that what it caches stays in the branch

    shapes = jax.eval_shape(taken)
    if not jax.tree.leaves(shapes):
        return shapes
    nothing: T = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return lax.cond(condition, taken, lambda: nothing)
