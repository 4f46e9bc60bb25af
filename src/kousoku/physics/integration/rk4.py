"""Runge and Kutta's classical method (mj_RungeKutta), of fourth order for orientations too.

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

from ..algebra.scalar import Num, cos, num, nums, sin, sqrt, to_array, where
from ..algebra.vector import Vec
from ..forward import Forward, forward, measure_where
from ..model import Model, State
from ..stages.actuation import next_activations
from ..stages.joints import JointType, joints
from .integrate_pos import advance_time, integrate_pos

T = TypeVar("T")


def rk4(model: Model, state: State, ctrl: Float[Array, " nu"], measure: Callable[[Forward], T]) -> tuple[State, T]:
    """Returns the state a time step later, and what is measured at the last of the four stages.

    A loop over the stages, so that a stage is compiled once. The solver begins where it ended in the stage before, but
    in the last: there on the straight line through the accelerations of the first stage and of the third, half a step
    later.
    """
    dt, dtype = model.timestep, state.qpos.dtype

    def stage(carry: Any, weights: Any) -> Any:
        at, turned, first_qacc, sums = carry
        ahead, share, extrapolate, first, final = weights
        f = forward(model, at, ctrl)
        qacc, act_dot = to_array(f.solution.qacc, dtype), to_array(f.smooth.actuation.act_dot, dtype)
        velocity = to_array(_turn_rates(model, nums(at.qvel), nums(turned)), dtype)
        rates = velocity, qacc, act_dot
        first_qacc = jnp.where(first, qacc, first_qacc)
        expected = qacc + extrapolate * (qacc - first_qacc)
        following = _advance(model, state, rates, ahead * dt, expected)
        sums = tuple(x + share * y for x, y in zip(sums, rates, strict=True))
        lengths = to_array(f.smooth.actuation.length, dtype)
        return (following, ahead * dt * velocity, first_qacc, sums), (measure_where(f, measure, final), lengths)

    sums = tuple(jnp.zeros_like(x) for x in (state.qvel, state.qvel, state.act))
    weights = jnp.array([0.5, 0.5, 1.0, 0.0], dtype), jnp.array([1.0, 2.0, 2.0, 1.0], dtype) / 6.0
    stages = *weights, jnp.array([0.0, 0.0, 1.0, 0.0], dtype), np.arange(4) == 0, np.arange(4) == 3
    (ended, *_, sums), found = lax.scan(stage, (state, sums[0], sums[0], sums), stages)
    last, lengths = jax.tree.map(lambda x: x[-1], found)
    # Within their ranges, which the stages' may leave; servos go by the lengths of the last stage, as MuJoCo's do.
    act = next_activations(model, nums(state.act), nums(sums[2]), nums(lengths))
    return replace(_advance(model, state, sums, dt, ended.warmstart), act=to_array(act, dtype)), last


def _advance(model: Model, state: State, rates: Any, dt: Any, warmstart: Array) -> State:
    """Returns the state after a time with given velocities, accelerations and rates of activations."""
    velocity, qacc, act_dot = rates
    qpos = integrate_pos(model, nums(state.qpos), nums(velocity), num(dt))
    qvel, act, time = state.qvel + dt * qacc, state.act + dt * act_dot, advance_time(state.time, num(dt))
    return State(to_array(qpos, state.qpos.dtype), qvel, act, warmstart, time)


def _turn_rates(model: Model, qvel: Sequence[Num], turned: Sequence[Num]) -> list[Num]:
    """Returns velocities [nv] with those of orientations as rates of the rotation since the step began, `turned` [nv].

    With u the rotation and w the velocity in the body's axes, u' = w + u x w / 2 + u x (u x w) / 12 + ...
    """
    rates = list(qvel)
    for j in joints(model):
        if j.type in (JointType.FREE, JointType.BALL):
            first = j.dofadr + (3 if j.type == JointType.FREE else 0)
            u, w = Vec(*turned[first : first + 3]), Vec(*qvel[first : first + 3])
            across = u.cross(w)
            rates[first : first + 3] = w + across * 0.5 + u.cross(across) * _second_coefficient(u)
    return rates


def _second_coefficient(u: Vec) -> Num:
    """Returns (1 - (t / 2) cot(t / 2)) / t^2 for a rotation by t."""
    square = u.dot(u)
    tiny = square < 1e-4
    size = sqrt(where(tiny, 1.0, square))
    half = 0.5 * size
    exact = (1.0 - half * cos(half) / sin(half)) / (size * size)
    return where(tiny, 1.0 / 12.0 + square / 720.0, exact)
