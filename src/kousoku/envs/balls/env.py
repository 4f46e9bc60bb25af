"""Balls that fall in a box, and a wind that may hold them together."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...core.env import Env
from ...core.scene import Scene
from ...core.spaces import Box
from ...core.timestep import Timestep
from ...ops.exploration import unit_interval
from ...ops.trees import select
from ..divergence import has_diverged
from ..fields import Number, action_bound, bound, count, flag, limit, number, positive
from ..timesteps import first_timestep, never
from .motion import bounce, move
from .picture import balls_scene

MOST_BALLS = 1 << 20

Coordinates = Float[Array, " n"]


class BallsState(eqx.Module):
    """Places of n balls, in metres, and their speeds, in metres per second.

    Attributes:
        x: from the left wall.
        z: above the ground.
        vx: to the right.
        vz: upwards.
    """

    x: Coordinates
    z: Coordinates
    vx: Coordinates
    vz: Coordinates


class BallsInfo(eqx.Module):
    """Numbers that a step tells beside observation and reward.

    Attributes:
        diverged: the environment has blown up, and was terminated.
    """

    diverged: Bool[Array, ""] = eqx.field(default_factory=never)


class Balls(Env):
    """Falling balls, which do not feel one another, and a sideways push that all of them feel.

    Observation: (x, z, vx, vz) of every ball, Box [n, 4]. Action: the push, Box [1] in [-max_push, max_push], in
    m/s^2. The reward of a step is -mean(abs(x - width / 2)): the balls should be in the middle, or rather below and
    above it. Nothing terminates it but what makes it blow up, as for robots: a place or a speed that is not a
    number within 1e10 of 0, as after a push that is NaN. Then `info.diverged` is set, observation and reward are 0,
    and the balls stay where they were. A step of semi-implicit Euler, with u the push, clipped:

        vx  = (vx + u dt) / (1 + drag dt)         x  = x + vx dt
        vz  = (vz - gravity dt) / (1 + drag dt)   z  = z + vz dt

    so that a ball that falls freely from z0 with speed v0 is, after k steps, at z0 + k v0 dt - gravity dt^2 k (k+1)/2,
    and w^2 / 2 + gravity z with w = v - gravity dt / 2 does not change at all. Bounces are exact, see `motion.bounce`:
    without drag a ball is, at every step, where a real one would be. What crosses the whole box in one step is put at
    a wall.

    The article's bare fall is `Balls(walls=False, floor=False, start_speed=0.0)`.

    Attributes:
        n: how many balls.
        gravity: gravity, in m/s^2.
        width: distance between the walls, in m.
        height: height of the box, in m; balls begin in its upper half.
        restitution: share of its speed that a ball keeps when it bounces; at 0 it stays on the ground.
        drag: share of its speed that a ball loses in a second, in 1/s.
        max_push: largest push, which larger ones are cut to, in m/s^2.
        start_speed: largest first speed of a ball along each axis, uniform around 0, in m/s.
        dt: seconds that a step lasts.
        walls: whether there are two walls and a lid.
        floor: whether there is a ground.
        time_limit: steps until an episode is truncated.

    References:
        Hairer, Lubich and Wanner, Geometric numerical integration (2nd ed.), section I.1.2: symplectic Euler.

    Examples:
        >>> env = Balls(n=1, gravity=10.0)
        >>> state = BallsState(*jnp.array([[1.0], [2.0], [0.0], [0.0]], jnp.float32))
        >>> state, timestep = env.step(jax.random.key(0), state, jnp.array([0.5], jnp.float32))
        >>> [round(float(number), 4) for number in timestep.obs[0]], round(float(timestep.reward), 4)
        ([1.0, 1.999, 0.005, -0.1], -1.0)
    """

    n: int = count("n", 100, high=MOST_BALLS)
    gravity: Number = number("gravity", 9.81)
    width: Number = positive("width", 4.0)
    height: Number = positive("height", 3.0)
    restitution: Number = number("restitution", 0.8, low=0.0, high=1.0)
    drag: Number = number("drag", 0.0, low=0.0)
    max_push: float = action_bound("max_push", 1.0, low=0.0)
    start_speed: Number = number("start_speed", 1.0, low=0.0)
    dt: Number = positive("dt", 0.01)
    walls: bool = flag("walls", True)
    floor: bool = flag("floor", True)
    time_limit: int | None = limit(500)

    @property
    def observation_space(self) -> Box:
        """The space: places are inside the box where it is closed; all else is unbounded."""
        low, high = [-math.inf] * 4, [math.inf] * 4
        if self.floor:
            low[1] = 0.0
        if self.walls:
            low[0], high[0], high[1] = 0.0, bound(self.width, math.inf), bound(self.height, math.inf)
        return Box((tuple(low),) * self.n, (tuple(high),) * self.n, (self.n, 4))

    @property
    def action_space(self) -> Box:
        """The space within `max_push` of 0."""
        return Box(-self.max_push, self.max_push, (1,))

    def reset(self, key: PRNGKeyArray) -> tuple[BallsState, Timestep]:
        """Puts balls anywhere in the upper half of the box, with speeds uniform within `start_speed` of 0."""
        u = unit_interval(jax.random.bits(key, (4, self.n), jnp.uint32))
        x, z = u[0] * self.width, jnp.minimum((0.5 + 0.5 * u[1]) * self.height, self.height)
        vx, vz = ((2.0 * u[i] - 1.0) * self.start_speed for i in (2, 3))
        state = BallsState(x, z, vx, vz)
        return state, first_timestep(_observe(state))

    def step(self, key: PRNGKeyArray, state: BallsState, action: Float[Array, "1"]) -> tuple[BallsState, Timestep]:
        """Lets the balls fall for `dt` seconds."""
        push = jnp.clip(action.reshape(()), -self.max_push, self.max_push)
        x, vx = move(state.x, state.vx, push, self.drag, self.dt)
        z, vz = move(state.z, state.vz, -self.gravity, self.drag, self.dt)
        if self.walls:
            x, vx = self._between(x, vx, vx - state.vx, self.width)
        if self.walls and self.floor:
            z, vz = self._between(z, vz, vz - state.vz, self.height)
        elif self.walls:
            z, vz = bounce(z, vz, vz - state.vz, self.dt, self.height, 1.0, self.restitution)
        elif self.floor:
            z, vz = bounce(z, vz, vz - state.vz, self.dt, 0.0, -1.0, self.restitution)
        moved = BallsState(x, z, vx, vz)
        reward = -jnp.mean(jnp.abs(x - 0.5 * self.width))
        diverged = has_diverged(moved)
        next_state = select(diverged, state, moved)
        told = _observe(moved), reward
        obs, reward = select(diverged, jax.tree.map(jnp.zeros_like, told), told)
        return next_state, Timestep(obs, reward, diverged, never(), BallsInfo(diverged))

    def scene(self, state: BallsState) -> Scene:
        """Draws the balls in their box."""
        size = float(self.width), float(self.height)
        return balls_scene(state.x, state.z, size, self.walls, self.floor)

    def _between(
        self, place: Coordinates, speed: Coordinates, kick: Coordinates, end: Number
    ) -> tuple[Coordinates, Coordinates]:
        """Returns places between walls at 0 and at `end`."""
        over = place > 0.5 * end
        wall, side = jnp.where(over, end, 0.0), jnp.where(over, 1.0, -1.0)
        place, speed = bounce(place, speed, kick, self.dt, wall, side, self.restitution)
        return jnp.clip(place, 0.0, end), speed


def _observe(state: BallsState) -> Float[Array, "n 4"]:
    return jnp.stack([state.x, state.z, state.vx, state.vz], axis=1)
