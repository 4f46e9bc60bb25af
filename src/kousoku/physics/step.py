"""One time step, on one screen.

References:
    MuJoCo documentation, Computation, "Numerical integration": semi-implicit Euler with implicit damping, and RK4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .actuation import next_activation
from .constraint import rows
from .dynamics import factor, with_diagonal
from .joints import Kind, joints
from .kinematics import about
from .model import Model, State
from .scalar import Num, cos, num, nums, sin, sqrt, stacked, where
from .smooth import Smooth, smooth
from .solver import Solution, solve
from .vector import Vec, quat

EULER, RK4 = 0, 1


class Forward(NamedTuple):
    """What a state and commands bring about."""

    smooth: Smooth
    solution: Solution


def forward(model: Model, state: State, ctrl: Float[Array, " nu"]) -> Forward:
    """Everything up to the acceleration."""
    qpos, qvel, act, given = map(nums, (state.qpos, state.qvel, state.act, ctrl))
    s = smooth(model, qpos, qvel, act, given)
    return Forward(s, solve(model, s, rows(model, s, qpos, qvel), nums(state.warmstart), state.qpos.dtype))


def step(model: Model, state: State, ctrl: Float[Array, " nu"]) -> State:
    """The state a time step later, for the commands `ctrl` [nu]."""
    return _rk4(model, state, ctrl) if model.integrator == RK4 else _euler(model, state, ctrl)


def _euler(model: Model, state: State, ctrl: Float[Array, " nu"]) -> State:
    f, dtype, dt = forward(model, state, ctrl), state.qpos.dtype, model.timestep
    acceleration = f.solution.acceleration
    damping = nums(model.dof_damping)
    if not (model.no_eulerdamp or model.no_damper) and not all(b.is_known(0.0) for b in damping):
        matrix = with_diagonal(f.smooth.tree.mass_matrix, [dt * b for b in damping])
        force = [a + b for a, b in zip(f.smooth.force, f.solution.force, strict=True)]
        acceleration = factor(model, matrix).solve(force)
    qvel = [v + dt * a for v, a in zip(nums(state.qvel), acceleration, strict=True)]
    return State(
        stacked(advanced(model, nums(state.qpos), qvel, num(dt)), dtype),
        stacked(qvel, dtype),
        stacked(_activations(model, state, f), dtype),
        stacked(f.solution.acceleration, dtype),
    )


def _activations(model: Model, state: State, f: Forward) -> list[Num]:
    act = nums(state.act)
    for i in range(model.nu):
        place = int(model.actuator_actadr[i])
        if place >= 0:
            place += int(model.actuator_actnum[i]) - 1
            act[place] = next_activation(model, i, act[place], f.smooth.actuation.act_dot[place])
    return act


def _rk4(model: Model, state: State, ctrl: Float[Array, " nu"]) -> State:
    """Runge and Kutta's classical method: a loop over its four stages, so that a stage is compiled once."""
    dt, dtype = model.timestep, state.qpos.dtype

    def stage(carry: Any, weights: Any) -> Any:
        at, moved, sums = carry
        ahead, share = weights
        f = forward(model, at, ctrl)
        acceleration, rate = stacked(f.solution.acceleration, dtype), stacked(f.smooth.actuation.act_dot, dtype)
        velocity = stacked(_corrected(model, nums(at.qvel), nums(moved)), dtype)
        rates = velocity, acceleration, rate
        following = _moved(model, state, rates, ahead * dt, state.warmstart)
        sums = tuple(x + share * y for x, y in zip(sums, rates, strict=True))
        return (following, ahead * dt * velocity, sums), acceleration

    sums = tuple(jnp.zeros_like(x) for x in (state.qvel, state.qvel, state.act))
    weights = jnp.array([0.5, 0.5, 1.0, 0.0], dtype), jnp.array([1.0, 2.0, 2.0, 1.0], dtype) / 6.0
    (_, _, sums), accelerations = lax.scan(stage, (state, sums[0], sums), weights)
    return _moved(model, state, sums, dt, accelerations[0])


def _moved(model: Model, state: State, rates: Any, dt: Any, warmstart: Array) -> State:
    """The state, moved for a time with given velocities, accelerations and rates of activations."""
    velocity, acceleration, rate = rates
    qpos = advanced(model, nums(state.qpos), nums(velocity), num(dt))
    return State(stacked(qpos, state.qpos.dtype), state.qvel + dt * acceleration, state.act + dt * rate, warmstart)


def _corrected(model: Model, qvel: Sequence[Num], moved: Sequence[Num]) -> list[Num]:
    """Velocities with those of orientations as rates of the turn since the step began, `moved`.

    Munthe-Kaas (1999), High order Runge-Kutta methods on manifolds: with u the turn and w the velocity in the body's
    axes, u' = w + u x w / 2 + u x (u x w) / 12 + ...
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


def advanced(model: Model, qpos: Sequence[Num], qvel: Sequence[Num], dt: Num) -> list[Num]:
    """Positions, moved for a time with given velocities."""
    moved = list(qpos)
    for j in joints(model):
        place, dof = j.qpos, j.dof
        if j.kind in (Kind.SLIDE, Kind.HINGE):
            moved[place] = qpos[place] + dt * qvel[dof]
            continue
        if j.kind == Kind.FREE:
            for i in range(3):
                moved[place + i] = qpos[place + i] + dt * qvel[dof + i]
            place, dof = place + 3, dof + 3
        moved[place : place + 4] = turned_by(qpos[place : place + 4], qvel[dof : dof + 3], dt)
    return moved


def turned_by(turn: Sequence[Num], spin: Sequence[Num], dt: Num) -> list[Num]:
    """A quaternion, turned for a time with a velocity in its own axes."""
    speed = Vec(*spin)
    square = speed.dot(speed)
    tiny = square < 1e-30
    size = sqrt(where(tiny, 1.0, square))
    axis = Vec(*(where(tiny, 0.0, s / size) for s in speed))
    return list((quat(turn) * about(axis, dt * size)).normalised())
