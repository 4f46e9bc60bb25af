"""Acrobot: two links that hang from a bar, with a motor in the joint between them only."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import Number, Scalar, bound, check_order, choice, limit, number, positive
from ..timesteps import first_timestep, never
from .acrobot_picture import acrobot_scene
from .common import push, uniform, wrapped

BOOK, NIPS = "book", "nips"

Pair = tuple[Scalar, Scalar]  # of the first and of the second joint


class AcrobotState(eqx.Module):
    """The two joints, in radians and per second.

    Attributes:
        theta1: angle of the first link, 0 hanging down, in [-pi, pi].
        theta2: angle of the second link against the first, in [-pi, pi].
        theta1_dot: angular speed of the first joint.
        theta2_dot: angular speed of the second joint.
    """

    theta1: Scalar
    theta2: Scalar
    theta1_dot: Scalar
    theta2_dot: Scalar


class Acrobot(Env):
    """Gymnasium's Acrobot-v1.

    Observation: (cos(theta1), sin(theta1), cos(theta2), sin(theta2), theta1_dot, theta2_dot), Box [6]. Action:
    Discrete(3): torque -1, 0, 1 on the joint between the links. A step costs 1; the episode terminates, without cost,
    where the tip is higher than one link above the axle: -cos(theta1) - cos(theta1 + theta2) > 1. One step of
    Runge-Kutta of order four integrates the equations of motion for `dt` seconds.

    One step differs from Gymnasium's, which is in float64, by at most 1e-6 (absolute plus relative) in any posture at
    up to 2 and 4 rad/s, and in play at any speed seen. Within 0.2 seconds faster links make more of a rounding error,
    in Gymnasium's step too: near both speed limits half a unit in the last place of a float32 state may move the next
    one by 1e-3, and the difference is of that size.

    Attributes:
        gravity: gravity, in m/s^2.
        dt: seconds that a step lasts.
        link_length_1: length of the first link, in m.
        link_length_2: length of the second link, in m; only drawn.
        link_mass_1: mass of the first link, in kg.
        link_mass_2: mass of the second link, in kg.
        link_com_pos_1: distance of the first link's centre of mass from its joint, in m.
        link_com_pos_2: distance of the second link's centre of mass from its joint, in m.
        link_moi: moment of inertia of either link, in kg m^2.
        max_vel_1: largest angular speed of the first joint, which larger ones are cut to.
        max_vel_2: largest angular speed of the second joint, which larger ones are cut to.
        torque: torque of actions 0 and 2, in N m.
        torque_noise_max: uniform noise within this of 0 is added to the torque.
        reset_low: smallest value of each number of a first state.
        reset_high: largest value of each number of a first state.
        book_or_nips: equations of motion: Sutton and Barto's, or those of the paper, which lack a term.
        time_limit: steps until an episode is truncated.

    References:
        Sutton, Generalization in reinforcement learning: successful examples using sparse coarse coding, NIPS (1995).
        Sutton and Barto (1st ed.), section 11.3.

    Examples:
        >>> env = Acrobot()
        >>> state, timestep = env.step(jax.random.key(0), AcrobotState(*jnp.zeros((4,), jnp.float32)), jnp.int32(2))
        >>> [round(float(x), 3) for x in timestep.obs], float(timestep.reward)
        ([1.0, -0.013, 0.999, 0.034, -0.129, 0.335], -1.0)
    """

    gravity: Number = number("gravity", 9.8)
    dt: Number = positive("dt", 0.2)
    link_length_1: Number = positive("link_length_1", 1.0)
    link_length_2: Number = positive("link_length_2", 1.0)
    link_mass_1: Number = positive("link_mass_1", 1.0)
    link_mass_2: Number = positive("link_mass_2", 1.0)
    link_com_pos_1: Number = positive("link_com_pos_1", 0.5)
    link_com_pos_2: Number = positive("link_com_pos_2", 0.5)
    link_moi: Number = positive("link_moi", 1.0)
    max_vel_1: Number = positive("max_vel_1", 4.0 * math.pi)
    max_vel_2: Number = positive("max_vel_2", 9.0 * math.pi)
    torque: Number = number("torque", 1.0)
    torque_noise_max: Number = number("torque_noise_max", 0.0, low=0.0)
    reset_low: Number = number("reset_low", -0.1)
    reset_high: Number = number("reset_high", 0.1)
    book_or_nips: str = choice("book_or_nips", BOOK, (BOOK, NIPS))
    time_limit: int | None = limit(500)

    def __check_init__(self) -> None:
        check_order("reset_low", self.reset_low, "reset_high", self.reset_high)

    @property
    def observation_space(self) -> Box:
        speeds = bound(self.max_vel_1, math.inf), bound(self.max_vel_2, math.inf)
        high = (1.0, 1.0, 1.0, 1.0, *speeds)
        return Box(tuple(-x for x in high), high, (6,))

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def reset(self, key: PRNGKeyArray) -> tuple[AcrobotState, Timestep]:
        """Draws every number uniformly between `reset_low` and `reset_high`."""
        state = AcrobotState(*uniform(key, 4, self.reset_low, self.reset_high))
        return state, first_timestep(_observe(state))

    def step(self, key: PRNGKeyArray, state: AcrobotState, action: Int[Array, ""]) -> tuple[AcrobotState, Timestep]:
        """Swings for `dt` seconds; an action beyond 0, 1 and 2 counts as the nearest of them."""
        torque = push(action) * self.torque
        if not isinstance(self.torque_noise_max, float) or self.torque_noise_max > 0:
            torque += jax.random.uniform(key, (), jnp.float32, -1.0, 1.0) * self.torque_noise_max
        angles, speeds = (state.theta1, state.theta2), (state.theta1_dot, state.theta2_dot)
        angles, speeds = self._integrate(angles, speeds, torque)
        next_state = AcrobotState(
            wrapped(angles[0]),
            wrapped(angles[1]),
            jnp.clip(speeds[0], -self.max_vel_1, self.max_vel_1),
            jnp.clip(speeds[1], -self.max_vel_2, self.max_vel_2),
        )
        height = -jnp.cos(next_state.theta1) - jnp.cos(next_state.theta1 + next_state.theta2)
        arrived = height > 1.0
        reward = jnp.where(arrived, jnp.float32(0.0), jnp.float32(-1.0))
        return next_state, Timestep(_observe(next_state), reward, arrived, never())

    def scene(self, state: AcrobotState) -> Scene:
        """Draws the two links below, or above, the bar."""
        lengths = float(self.link_length_1), float(self.link_length_2)
        return acrobot_scene(float(state.theta1), float(state.theta2), lengths)

    def _integrate(self, angles: Pair, speeds: Pair, torque: Scalar) -> tuple[Pair, Pair]:
        """Returns angles and speeds after `dt`, by the classical Runge-Kutta method.

        Its stages' speeds are v, v + dt/2 a1, v + dt/2 a2 and v + dt a3, so that their weighted mean is
        v + dt/6 (a1 + a2 + a3).
        """
        dt, half, sixth = self.dt, 0.5 * self.dt, self.dt / 6.0
        a1 = self._accelerations(angles, speeds, torque)
        v2 = _along(speeds, half, a1)
        a2 = self._accelerations(_along(angles, half, speeds), v2, torque)
        v3 = _along(speeds, half, a2)
        a3 = self._accelerations(_along(angles, half, v2), v3, torque)
        v4 = _along(speeds, dt, a3)
        a4 = self._accelerations(_along(angles, dt, v3), v4, torque)
        inner = _add(a2, a3)
        mean_speeds = _along(speeds, sixth, _add(a1, inner))
        return _along(angles, dt, mean_speeds), _along(speeds, sixth, _add(_add(a1, a4), _add(inner, inner)))

    def _accelerations(self, angles: Pair, speeds: Pair, torque: Scalar) -> Pair:
        """Solves the equations of motion for the accelerations.

        With s2, c2 the sine and cosine of theta2 and A, B, C made of masses, lengths and moments of inertia:

            d1 = A + 2 B c2,  d2 = C + B c2,  phi2 = m2 lc2 g sin(theta1 + theta2)
            phi1 = (m1 lc1 + m2 l1) g sin(theta1) + phi2 - B s2 theta2_dot (theta2_dot + 2 theta1_dot)
            pull = torque - phi2 - B s2 theta1_dot^2                          (the paper lacks the last term)
            d1 theta1_acc + d2 theta2_acc = -phi1,  d2 theta1_acc + C theta2_acc = pull

        whose determinant, C d1 - d2^2, is C (A - C) - (B c2)^2.
        """
        (theta1, theta2), (speed1, speed2) = angles, speeds
        lever1, lever2 = self.link_mass_2 * self.link_length_1, self.link_mass_2 * self.link_com_pos_2
        b = lever2 * self.link_length_1
        c = lever2 * self.link_com_pos_2 + self.link_moi
        rest = (
            self.link_mass_1 * self.link_com_pos_1 * self.link_com_pos_1 + lever1 * self.link_length_1 + self.link_moi
        )
        sin2, cos2 = b * jnp.sin(theta2), b * jnp.cos(theta2)
        d1, d2 = (rest + c) + 2.0 * cos2, c + cos2
        phi2 = lever2 * self.gravity * jnp.sin(theta1 + theta2)
        hang = (self.link_mass_1 * self.link_com_pos_1 + lever1) * self.gravity * jnp.sin(theta1)
        phi1 = hang + phi2 - sin2 * speed2 * (speed2 + 2.0 * speed1)
        pull = torque - phi2
        if self.book_or_nips == BOOK:
            pull = pull - sin2 * speed1 * speed1
        inverse = 1.0 / (c * rest - cos2 * cos2)
        return -(c * phi1 + d2 * pull) * inverse, (d1 * pull + d2 * phi1) * inverse


def _along(start: Pair, seconds: Number, speed: Pair) -> Pair:
    return start[0] + seconds * speed[0], start[1] + seconds * speed[1]


def _add(one: Pair, other: Pair) -> Pair:
    return one[0] + other[0], one[1] + other[1]


def _observe(state: AcrobotState) -> Float[Array, "6"]:
    angles = (jnp.cos(state.theta1), jnp.sin(state.theta1), jnp.cos(state.theta2), jnp.sin(state.theta2))
    return jnp.stack([*angles, state.theta1_dot, state.theta2_dot])
