"""Runge and Kutta's classical method, of fourth order for orientations too.

References:
    MuJoCo documentation, Computation, "Numerical integration". Munthe-Kaas (1999), High order Runge-Kutta methods on
    manifolds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..algebra.scalar import Num, cos, num, nums, sin, sqrt, stacked, where
from ..algebra.vector import Vec
from ..forward import Forward, forward, measured
from ..model import Model, State
from ..stages.actuation import next_activations
from ..stages.joints import Kind, joints
from .integrate_pos import advanced, later

T = TypeVar("T")


def rk4(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """The state a time step later, and what is measured at the last of the four stages.

    A loop over the stages, so that a stage is compiled once. The solver begins where it ended in the stage before, but
    in the last: there on the straight line through the accelerations of the first stage and of the third, half a step
    later.
    """
    dt, dtype = model.timestep, state.qpos.dtype

    def stage(carry: Any, weights: Any) -> Any:
        at, moved, begun, sums = carry
        ahead, share, onward, first, final = weights
        f = forward(model, at, ctrl)
        acceleration, rate = stacked(f.solution.acceleration, dtype), stacked(f.smooth.actuation.act_dot, dtype)
        velocity = stacked(_corrected(model, nums(at.qvel), nums(moved)), dtype)
        rates = velocity, acceleration, rate
        begun = jnp.where(first, acceleration, begun)
        expected = acceleration + onward * (acceleration - begun)
        following = _moved(model, state, rates, ahead * dt, expected)
        sums = tuple(x + share * y for x, y in zip(sums, rates, strict=True))
        lengths = stacked(f.smooth.actuation.length, dtype)
        return (following, ahead * dt * velocity, begun, sums), (measured(f, measure, final), lengths)

    sums = tuple(jnp.zeros_like(x) for x in (state.qvel, state.qvel, state.act))
    weights = jnp.array([0.5, 0.5, 1.0, 0.0], dtype), jnp.array([1.0, 2.0, 2.0, 1.0], dtype) / 6.0
    stages = *weights, jnp.array([0.0, 0.0, 1.0, 0.0], dtype), np.arange(4) == 0, np.arange(4) == 3
    (ended, *_, sums), found = lax.scan(stage, (state, sums[0], sums[0], sums), stages)
    last, lengths = jax.tree.map(lambda x: x[-1], found)
    # Within their ranges, which the stages' may leave; servos go by the lengths of the last stage, as C's do.
    act = next_activations(model, nums(state.act), nums(sums[2]), nums(lengths))
    return replace(_moved(model, state, sums, dt, ended.warmstart), act=stacked(act, dtype)), last


def _moved(model: Model, state: State, rates: Any, dt: Any, warmstart: Array) -> State:
    """The state, moved for a time with given velocities, accelerations and rates of activations."""
    velocity, acceleration, rate = rates
    qpos = advanced(model, nums(state.qpos), nums(velocity), num(dt))
    qvel, act, time = state.qvel + dt * acceleration, state.act + dt * rate, later(state.time, num(dt))
    return State(stacked(qpos, state.qpos.dtype), qvel, act, warmstart, time)


def _corrected(model: Model, qvel: Sequence[Num], moved: Sequence[Num]) -> list[Num]:
    """Velocities with those of orientations as rates of the turn since the step began, `moved`.

    With u the turn and w the velocity in the body's axes, u' = w + u x w / 2 + u x (u x w) / 12 + ...
    """
    rates = list(qvel)
    for j in joints(model):
        if j.kind in (Kind.FREE, Kind.BALL):
            first = j.dof + (3 if j.kind == Kind.FREE else 0)
            turn, spin = Vec(*moved[first : first + 3]), Vec(*qvel[first : first + 3])
            across = turn.cross(spin)
            rates[first : first + 3] = spin + across * 0.5 + turn.cross(across) * _curvature(turn)
    return rates


def _curvature(turn: Vec) -> Num:
    """(1 - (t / 2) cot(t / 2)) / t^2 for a turn by t."""
    square = turn.dot(turn)
    tiny = square < 1e-4
    size = sqrt(where(tiny, 1.0, square))
    half = 0.5 * size
    exact = (1.0 - half * cos(half) / sin(half)) / (size * size)
    return where(tiny, 1.0 / 12.0 + square / 720.0, exact)
