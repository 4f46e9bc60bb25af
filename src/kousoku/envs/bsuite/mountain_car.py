"""Bsuite's mountain car: the classic one with a clock that it sees."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..classic.common import push, uniform
from ..classic.hill import Hill, MountainCarState, hill_scene, roll
from ..fields import Scalar, count, limit
from ..timesteps import first_timestep, never
from .common import share

HILL = Hill(min_position=-1.2, max_position=0.6, max_speed=0.07, gravity=0.0025, goal_position=0.5, goal_velocity=-1.0)
"""Bsuite's ground; at the goal any velocity will do."""
FORCE, START = 0.001, (-0.6, -0.4)


class BsuiteMountainCarState(eqx.Module):
    """The car and the steps taken."""

    car: MountainCarState
    timestep: Int[Array, ""]


class BsuiteMountainCar(Env):
    """The problem of bsuite's experiment mountain_car.

    Observation: (position, velocity, steps / max_steps), Box [1, 3]. Action: Discrete(3): push left, not at all, push
    right. Every step costs 1; the episode terminates at the goal, and after max_steps, as the clock is observed. One
    step differs from bsuite's, which is in float64, as that of `MountainCar-v0` does from Gymnasium's.

    Attributes:
        max_steps: steps after which the episode terminates.
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A. Moore,
        Efficient memory-based learning for robot control (1990), chapter 4.

    Examples:
        >>> import jax
        >>> env = BsuiteMountainCar(max_steps=1)
        >>> state, _ = env.begin(jnp.float32(-0.5))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(2))
        >>> [round(float(x), 6) for x in timestep.obs[0]], bool(timestep.terminated)
        ([-0.499177, 0.000823, 1.0], True)
    """

    max_steps: int = count("max_steps", 1000, high=1 << 24)
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box:
        return Box(((-1.2, -0.07, 0.0),), ((0.6, 0.07, 1.0),), (1, 3))

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    def reset(self, key: PRNGKeyArray) -> tuple[BsuiteMountainCarState, Timestep]:
        """Puts the car at rest, uniformly between -0.6 and -0.4."""
        return self.begin(uniform(key, 1, *START)[0])

    def begin(self, position: Scalar) -> tuple[BsuiteMountainCarState, Timestep]:
        """Returns the beginning of an episode with the car at rest at a position."""
        state = BsuiteMountainCarState(MountainCarState(position, jnp.float32(0.0)), jnp.int32(0))
        return state, first_timestep(self._observe(state))

    def step(
        self, key: PRNGKeyArray, state: BsuiteMountainCarState, action: Int[Array, ""]
    ) -> tuple[BsuiteMountainCarState, Timestep]:
        """Pushes and rolls; an action beyond 0, 1 and 2 counts as the nearest of them."""
        car, arrived = roll(HILL, state.car, push(action) * FORCE)
        timestep = jnp.minimum(state.timestep + 1, self.max_steps)
        next_state = BsuiteMountainCarState(car, timestep)
        ended = arrived | (timestep >= self.max_steps)
        return next_state, Timestep(self._observe(next_state), jnp.float32(-1.0), ended, never())

    def scene(self, state: BsuiteMountainCarState) -> Scene:
        """Draws the car on the hill."""
        return hill_scene(HILL, float(state.car.position))

    def _observe(self, state: BsuiteMountainCarState) -> Array:
        clock = share(state.timestep, self.max_steps)
        return jnp.stack([state.car.position, state.car.velocity, clock])[None]
