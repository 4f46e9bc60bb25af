"""MountainCarContinuous: the car on the hill, with a motor that can be throttled."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box
from ...core.timestep import Timestep
from ..fields import Number, action_bound, check_order, limit, number, positive
from ..timesteps import first_timestep, never
from .common import uniform
from .hill import Hill, MountainCarState, hill_scene, hill_space, observe, roll

ACTION_COST, GOAL_REWARD = 0.1, 100.0


class MountainCarContinuous(Env):
    """Gymnasium's MountainCarContinuous-v0.

    Observation: (position, velocity), Box [2]. Action: the throttle, Box [1] in [-1, 1]. A step costs 0.1 action^2, of
    the action as it was given; reaching the goal gives 100 and terminates the episode.

        velocity  = clip(velocity + clip(action, -1, 1) power - gravity cos(3 position), -max_speed, max_speed)
        position  = clip(position + velocity, min_position, max_position); the wall on the left stops the car

    One step differs from Gymnasium's by at most 1e-6 (absolute plus relative), unless the car comes to within two ulps
    of the left wall, where one may be stopped and the other not.

    Attributes:
        goal_velocity: smallest velocity with which the goal counts.
        goal_position: position where the goal begins.
        min_position: position of the left wall.
        max_position: position of the right end.
        max_speed: largest speed, which larger ones are cut to.
        min_action: smallest throttle: a smaller one is cut to it.
        max_action: largest throttle: a larger one is cut to it.
        power: velocity that a full throttle adds.
        gravity: velocity that the steepest slope adds.
        reset_low: smallest first position.
        reset_high: largest first position.
        time_limit: steps until an episode is truncated.

    References:
        Moore, Efficient memory-based learning for robot control (1990), chapter 4.

    Examples:
        >>> import jax
        >>> env = MountainCarContinuous()
        >>> state = MountainCarState(jnp.float32(0.44), jnp.float32(0.05))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.array([0.5], jnp.float32))
        >>> round(float(timestep.reward), 4), bool(timestep.terminated)
        (99.975, True)
    """

    goal_velocity: Number = number("goal_velocity", 0.0)
    goal_position: Number = number("goal_position", 0.45)
    min_position: Number = number("min_position", -1.2)
    max_position: Number = number("max_position", 0.6)
    max_speed: Number = positive("max_speed", 0.07)
    min_action: float = action_bound("min_action", -1.0)
    max_action: float = action_bound("max_action", 1.0)
    power: Number = number("power", 0.0015)
    gravity: Number = number("gravity", 0.0025)
    reset_low: Number = number("reset_low", -0.6)
    reset_high: Number = number("reset_high", -0.4)
    time_limit: int | None = limit(999)

    def __check_init__(self) -> None:
        check_order("min_position", self.min_position, "max_position", self.max_position)
        check_order("min_action", self.min_action, "max_action", self.max_action)
        check_order("reset_low", self.reset_low, "reset_high", self.reset_high)

    @property
    def hill(self) -> Hill:
        """The ground and what drives on it, without the motor."""
        ends = self.min_position, self.max_position
        return Hill(*ends, self.max_speed, self.gravity, self.goal_position, self.goal_velocity)

    @property
    def observation_space(self) -> Box:
        return hill_space(self.hill)

    @property
    def action_space(self) -> Box:
        """`min_action` to `max_action`."""
        return Box(self.min_action, self.max_action, (1,))

    def reset(self, key: PRNGKeyArray) -> tuple[MountainCarState, Timestep]:
        """Puts the car at rest, uniformly between `reset_low` and `reset_high`."""
        (position,) = uniform(key, 1, self.reset_low, self.reset_high)
        state = MountainCarState(position, jnp.float32(0.0))
        return state, first_timestep(observe(state))

    def step(
        self, key: PRNGKeyArray, state: MountainCarState, action: Float[Array, "1"]
    ) -> tuple[MountainCarState, Timestep]:
        """Pushes and rolls."""
        throttle = action.reshape(())
        thrust = jnp.clip(throttle, self.min_action, self.max_action) * self.power
        next_state, arrived = roll(self.hill, state, thrust)
        reward = jnp.where(arrived, GOAL_REWARD, 0.0) - ACTION_COST * throttle * throttle
        return next_state, Timestep(observe(next_state), reward, arrived, never())

    def scene(self, state: MountainCarState) -> Scene:
        """Draws the car on the hill."""
        return hill_scene(self.hill, float(state.position))
