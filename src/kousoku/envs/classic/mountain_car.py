"""MountainCar: a car too weak for the hill has to swing itself up."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import Number, check_order, limit, number, positive
from ..timesteps import first_timestep, never
from .common import push, uniform
from .hill import Hill, MountainCarState, hill_scene, hill_space, observe, roll


class MountainCar(Env):
    """Gymnasium's MountainCar-v0.

    Observation: (position, velocity), Box [2]. Action: Discrete(3): push left, not at all, push right. Every step costs
    1; the episode terminates at the goal, if the car is fast enough there.

        velocity  = clip(velocity + (action - 1) force - gravity cos(3 position), -max_speed, max_speed)
        position  = clip(position + velocity, min_position, max_position); the wall on the left stops the car

    One step differs from Gymnasium's, which is in float64, by at most 1e-6 (absolute plus relative), unless the car
    comes to within two ulps of the left wall, where one may be stopped and the other not.

    Attributes:
        goal_velocity: smallest velocity with which the goal counts.
        goal_position: position where the goal begins.
        min_position: position of the left wall.
        max_position: position of the right end.
        max_speed: largest speed, which larger ones are cut to.
        force: velocity that a push adds.
        gravity: velocity that the steepest slope adds.
        reset_low: smallest first position.
        reset_high: largest first position.
        time_limit: steps until an episode is truncated.

    References:
        Moore, Efficient memory-based learning for robot control (1990), chapter 4. Sutton and Barto (2nd ed.),
        example 10.1.

    Examples:
        >>> import jax
        >>> env = MountainCar()
        >>> state = MountainCarState(jnp.float32(-0.5), jnp.float32(0.0))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.int32(2))
        >>> [round(float(x), 6) for x in timestep.obs], float(timestep.reward)
        ([-0.499177, 0.000823], -1.0)
    """

    goal_velocity: Number = number("goal_velocity", 0.0)
    goal_position: Number = number("goal_position", 0.5)
    min_position: Number = number("min_position", -1.2)
    max_position: Number = number("max_position", 0.6)
    max_speed: Number = positive("max_speed", 0.07)
    force: Number = number("force", 0.001)
    gravity: Number = number("gravity", 0.0025)
    reset_low: Number = number("reset_low", -0.6)
    reset_high: Number = number("reset_high", -0.4)
    time_limit: int | None = limit(200)

    def __check_init__(self) -> None:
        check_order("min_position", self.min_position, "max_position", self.max_position)
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
    def action_space(self) -> Discrete:
        return Discrete(3)

    def reset(self, key: PRNGKeyArray) -> tuple[MountainCarState, Timestep]:
        """Puts the car at rest, uniformly between `reset_low` and `reset_high`."""
        (position,) = uniform(key, 1, self.reset_low, self.reset_high)
        state = MountainCarState(position, jnp.float32(0.0))
        return state, first_timestep(observe(state))

    def step(
        self, key: PRNGKeyArray, state: MountainCarState, action: Int[Array, ""]
    ) -> tuple[MountainCarState, Timestep]:
        """Pushes and rolls; an action beyond 0, 1 and 2 counts as the nearest of them."""
        next_state, arrived = roll(self.hill, state, push(action) * self.force)
        return next_state, Timestep(observe(next_state), jnp.float32(-1.0), arrived, never())

    def scene(self, state: MountainCarState) -> Scene:
        """Draws the car on the hill."""
        return hill_scene(self.hill, float(state.position))
