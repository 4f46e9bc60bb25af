"""CartPole: balance a pole on a cart by pushing the cart left or right."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import Number, Scalar, bound, check_order, choice, flag, limit, number, positive
from ..timesteps import first_timestep, never
from .cart_and_pole import accelerations
from .cartpole_picture import cartpole_scene
from .common import rounded_down, uniform

EULER, SEMI_IMPLICIT = "euler", "semi-implicit euler"


class CartPoleState(eqx.Module):
    """Places of the cart and the pole, in metres and radians, and their speeds, per second.

    Attributes:
        x: of the cart, positive to the right.
        x_dot: its speed.
        theta: of the pole, 0 upright, positive to the right.
        theta_dot: its angular speed.
    """

    x: Scalar
    x_dot: Scalar
    theta: Scalar
    theta_dot: Scalar


class CartPole(Env):
    """Gymnasium's CartPole-v0 (time limit 200) and CartPole-v1 (500).

    Observation: (x, x_dot, theta, theta_dot), Box [4]. Action: Discrete(2): push left, push right. Every step gives 1;
    the episode terminates where the cart leaves the track or the pole falls. With F the push, m and M the masses of
    the pole and in all, and l half the pole's length:

        temp        = (F + m l theta_dot^2 sin(theta)) / M
        theta_acc   = (g sin(theta) - cos(theta) temp) / (l (4/3 - m cos(theta)^2 / M))
        x_acc       = temp - m l theta_acc cos(theta) / M

    One step differs from Gymnasium's, which is in float64, by at most 1e-6 (absolute plus relative). Where Gymnasium
    gives 0 for steps beyond a terminal state, of which it says that they are undefined, this gives 1.

    Attributes:
        gravity: gravity g, in m/s^2.
        masscart: mass of the cart, in kg.
        masspole: mass m of the pole, in kg.
        length: half of the pole's length, l, in m.
        force_mag: size of the push, in N.
        tau: seconds that a step lasts.
        theta_threshold_radians: angle beyond which the pole has fallen, in rad.
        x_threshold: distance from the middle at which the track ends.
        reset_low: smallest value of each number of a first state.
        reset_high: largest value of each number of a first state.
        sutton_barto_reward: whether to reward with 0, and -1 for the step that terminates.
        kinematics_integrator: how positions are integrated: "euler", or "semi-implicit euler": speeds first, places
            from the new speeds.
        time_limit: steps until an episode is truncated.

    References:
        Barto, Sutton and Anderson, Neuronlike adaptive elements that can solve difficult learning control problems,
        IEEE Transactions on Systems, Man, and Cybernetics 13 (1983). Florian, Correct equations for the dynamics of
        the cart-pole system (2005), equations 23 and 24 without friction.

    Examples:
        >>> import jax
        >>> env = CartPole(gravity=1.6)
        >>> state = CartPoleState(*jnp.zeros((4,), jnp.float32))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.int32(1))
        >>> [round(float(x), 4) for x in timestep.obs], float(timestep.reward)
        ([0.0, 0.1951, 0.0, -0.2927], 1.0)
    """

    gravity: Number = number("gravity", 9.8)
    masscart: Number = positive("masscart", 1.0)
    masspole: Number = positive("masspole", 0.1)
    length: Number = positive("length", 0.5)
    force_mag: Number = number("force_mag", 10.0)
    tau: Number = positive("tau", 0.02)
    theta_threshold_radians: Number = positive("theta_threshold_radians", 12.0 * 2.0 * math.pi / 360.0)
    x_threshold: Number = positive("x_threshold", 2.4)
    reset_low: Number = number("reset_low", -0.05)
    reset_high: Number = number("reset_high", 0.05)
    sutton_barto_reward: bool = flag("sutton_barto_reward", False)
    kinematics_integrator: str = choice("kinematics_integrator", EULER, (EULER, SEMI_IMPLICIT))
    time_limit: int | None = limit(500)

    def __check_init__(self) -> None:
        check_order("reset_low", self.reset_low, "reset_high", self.reset_high)

    @property
    def observation_space(self) -> Box:
        """Twice the thresholds, so that a terminal observation lies inside; speeds are unbounded."""
        x, theta = (2.0 * bound(end, math.inf) for end in (self.x_threshold, self.theta_threshold_radians))
        return Box((-x, -math.inf, -theta, -math.inf), (x, math.inf, theta, math.inf), (4,))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> tuple[CartPoleState, Timestep]:
        """Draws every number uniformly between `reset_low` and `reset_high`."""
        state = CartPoleState(*uniform(key, 4, self.reset_low, self.reset_high))
        return state, first_timestep(_observe(state))

    def step(self, key: PRNGKeyArray, state: CartPoleState, action: Int[Array, ""]) -> tuple[CartPoleState, Timestep]:
        """Pushes for `tau` seconds: to the right for action 1, else to the left."""
        x_acc, theta_acc = self._accelerations(state, jnp.where(action == 1, self.force_mag, -self.force_mag))
        x_dot = state.x_dot + self.tau * x_acc
        theta_dot = state.theta_dot + self.tau * theta_acc
        old = self.kinematics_integrator == EULER
        x = state.x + self.tau * (state.x_dot if old else x_dot)
        theta = state.theta + self.tau * (state.theta_dot if old else theta_dot)
        left = jnp.abs(x) > rounded_down(self.x_threshold)
        fell = left | (jnp.abs(theta) > rounded_down(self.theta_threshold_radians))
        reward = -fell.astype(jnp.float32) if self.sutton_barto_reward else jnp.float32(1.0)
        next_state = CartPoleState(x, x_dot, theta, theta_dot)
        return next_state, Timestep(_observe(next_state), reward, fell, never())

    @property
    def dt(self) -> Number:
        """The seconds that a step lasts."""
        return self.tau

    def scene(self, state: CartPoleState) -> Scene:
        """Draws the cart on its track."""
        x, theta, length, end = (float(n) for n in (state.x, state.theta, self.length, self.x_threshold))
        return cartpole_scene(x, theta, length, end, may_hang=float(self.theta_threshold_radians) > 0.5 * math.pi)

    def _accelerations(self, state: CartPoleState, force: Scalar) -> tuple[Scalar, Scalar]:
        numbers = self.gravity, self.masscart, self.masspole, self.length
        return accelerations(state.theta, state.theta_dot, force, *numbers)


def _observe(state: CartPoleState) -> Float[Array, "4"]:
    return jnp.stack([state.x, state.x_dot, state.theta, state.theta_dot])
