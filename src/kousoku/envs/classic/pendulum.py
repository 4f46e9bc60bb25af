"""Pendulum: swing it up with a motor that is too weak, and hold it there."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box
from ...core.timestep import Timestep
from ..fields import Number, Scalar, action_bound, bound, limit, number, positive
from ..timesteps import first_timestep, never
from .common import uniform, wrapped
from .pendulum_picture import pendulum_scene

SPEED_COST, TORQUE_COST = 0.1, 0.001


class PendulumState(eqx.Module):
    """Angle of the pendulum, in radians, and its speed, in radians per second.

    Attributes:
        theta: angle, 0 upright, positive to the left; within pi and one step's turn of 0.
        theta_dot: angular speed.
        torque: of the last step, which nothing depends on; it is drawn.
    """

    theta: Scalar
    theta_dot: Scalar
    torque: Scalar


class Pendulum(Env):
    """Gymnasium's Pendulum-v1.

    Observation: (cos(theta), sin(theta), theta_dot), Box [3]. Action: the torque, Box [1] in [-2, 2]. Nothing
    terminates it. With u the torque, clipped, and theta in [-pi, pi]:

        reward     = -(theta^2 + 0.1 theta_dot^2 + 0.001 u^2)
        theta_dot  = clip(theta_dot + (3 g / (2 l) sin(theta) + 3 / (m l^2) u) dt, -max_speed, max_speed)
        theta      = theta + theta_dot dt

    The state keeps the angle near 0, where float32 is finest (Gymnasium's grows with every turn), so that one step
    differs from Gymnasium's, which is in float64, by at most 1e-6 (absolute plus relative) however long an episode is.

    Attributes:
        g: gravity g, in m/s^2.
        mass: mass m of the pole, in kg.
        length: length l of the pole, in m.
        dt: seconds that a step lasts.
        max_speed: largest speed, which larger ones are cut to.
        max_torque: largest torque, which larger ones are cut to, in N m.
        x_init: largest first angle: it is uniform within this of 0, in rad.
        y_init: largest first speed: it is uniform within this of 0, in rad/s.
        time_limit: steps until an episode is truncated.

    Examples:
        >>> import jax
        >>> env = Pendulum(g=9.81)
        >>> state = PendulumState(jnp.float32(math.pi / 2), jnp.float32(0.0), jnp.float32(0.0))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.array([5.0], jnp.float32))
        >>> round(float(timestep.obs[2]), 4), round(float(timestep.reward), 4)
        (1.0358, -2.4714)
    """

    g: Number = number("g", 10.0)
    mass: Number = positive("mass", 1.0)
    length: Number = positive("length", 1.0)
    dt: Number = positive("dt", 0.05)
    max_speed: Number = positive("max_speed", 8.0)
    max_torque: float = action_bound("max_torque", 2.0, low=0.0, open_low=True)
    x_init: Number = number("x_init", math.pi, low=0.0)
    y_init: Number = number("y_init", 1.0, low=0.0)
    time_limit: int | None = limit(200)

    @property
    def observation_space(self) -> Box:
        speed = bound(self.max_speed, math.inf)
        return Box((-1.0, -1.0, -speed), (1.0, 1.0, speed), (3,))

    @property
    def action_space(self) -> Box:
        """The space within `max_torque` of 0."""
        return Box(-self.max_torque, self.max_torque, (1,))

    def reset(self, key: PRNGKeyArray) -> tuple[PendulumState, Timestep]:
        """Draws angle and speed uniformly within `x_init` and `y_init` of 0."""
        theta, theta_dot = uniform(key, 2, -1.0, 1.0)
        state = PendulumState(theta * self.x_init, theta_dot * self.y_init, jnp.float32(0.0))
        return state, first_timestep(_observe(state))

    def step(
        self, key: PRNGKeyArray, state: PendulumState, action: Float[Array, "1"]
    ) -> tuple[PendulumState, Timestep]:
        """Turns for `dt` seconds."""
        u = jnp.clip(action.reshape(()), -self.max_torque, self.max_torque)
        theta = wrapped(state.theta)
        cost = theta * theta + SPEED_COST * state.theta_dot * state.theta_dot + TORQUE_COST * u * u
        fall = 1.5 * self.g / self.length * self.dt
        turn = 3.0 / (self.mass * self.length * self.length) * self.dt
        theta_dot = state.theta_dot + (fall * jnp.sin(theta) + turn * u)
        theta_dot = jnp.clip(theta_dot, -self.max_speed, self.max_speed)
        next_state = PendulumState(theta + theta_dot * self.dt, theta_dot, u)
        return next_state, Timestep(_observe(next_state), -cost, never(), never())

    def scene(self, state: PendulumState) -> Scene:
        """Draws the rod, and the torque as an arrow around its axle."""
        strength = float(state.torque) / self.max_torque
        return pendulum_scene(float(state.theta), strength)


def _observe(state: PendulumState) -> Float[Array, "3"]:
    return jnp.stack([jnp.cos(state.theta), jnp.sin(state.theta), state.theta_dot])
