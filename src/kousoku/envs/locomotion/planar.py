"""Parts that the tasks of robots in a plane share: they run along x."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ...physics import Model, State
from ..timesteps import never
from .options import Number, Span
from .robot import Move, StepOutcome

Scalar = Float[Array, ""]
Flag = Bool[Array, ""]

FASTEST = 10.0  # velocities are cut here in what hopper and walker observe


class WalkInfo(eqx.Module):
    """Parts of a step's reward, of a robot that should walk upright, and where it is.

    Attributes:
        x_position: of its first joint, in m.
        z_distance_from_origin: its height above that of the model, in m.
        x_velocity: over the step, in m/s.
        reward_forward, reward_ctrl, reward_survive: the reward's terms.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    z_distance_from_origin: Scalar
    x_velocity: Scalar
    reward_forward: Scalar
    reward_ctrl: Scalar
    reward_survive: Scalar
    diverged: Flag = eqx.field(default_factory=never)


def joints_but(physics: State, left_out: int, fastest: float | None = None) -> Float[Array, " n"]:
    """Returns positions but for the first `left_out`, and velocities, cut at `fastest`."""
    qvel = physics.qvel if fastest is None else jnp.clip(physics.qvel, -fastest, fastest)
    return jnp.concatenate([physics.qpos[left_out:], qvel])


def x_velocity(move: Move, dt: Number) -> Scalar:
    """Returns how fast the first joint moved over the step."""
    return (move.after.qpos[0] - move.before.qpos[0]) / dt


def control_cost(move: Move, weight: Number) -> Scalar:
    """Computes weight |action|^2."""
    return weight * jnp.sum(move.action * move.action)


def inside(x: Float[Array, "*n"], interval: Span) -> Bool[Array, "*n"]:
    """Returns whether low < x < high."""
    return (interval[0] < x) & (x < interval[1])


@runtime_checkable
class Walker(Protocol):
    """A robot in a plane that should walk upright."""

    model: Model
    forward_reward_weight: Number
    ctrl_cost_weight: Number
    healthy_reward: Number
    terminate_when_unhealthy: bool

    @property
    def dt(self) -> Any: ...


def walked(env: Walker, move: Move, healthy: Flag) -> StepOutcome:
    """Rewards going forward, upright, at little effort."""
    speed = x_velocity(move, env.dt)
    forward, cost = env.forward_reward_weight * speed, control_cost(move, env.ctrl_cost_weight)
    alive = jnp.where(healthy, env.healthy_reward, 0.0)
    terminated = ~healthy if env.terminate_when_unhealthy else never()
    rise = move.after.qpos[1] - env.model.constants["qpos0"][1].item()
    info = WalkInfo(move.after.qpos[0], rise, speed, forward, -cost, alive)
    return StepOutcome(forward + alive - cost, terminated, info)
