"""Tasks whose rewards are unusual: of one step, never negative, or paid at the end."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep

from .task import NumbersTask, told


class Aim(NumbersTask):
    """One throw: reward = -(a - sin(3 x) y)^2, and the episode is over."""

    width: int = eqx.field(static=True, default=2)
    time_limit: int | None = eqx.field(static=True, default=1)

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        place = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        return place, told(place, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        return state, told(state, -jnp.square(action[0] - self.expert(state)[0]), True)

    def expert(self, obs: Array) -> Array:
        return jnp.sin(3.0 * obs[:1]) * obs[1:]


class Dam(NumbersTask):
    """A reservoir with random inflow: what is let out, 0 to 1, makes more power the higher the water stands; 200 steps.

    reward = 100 x water let out x height, never negative; what does not fit flows over and is lost.
    """

    width: int = eqx.field(static=True, default=1)
    time_limit: int | None = eqx.field(static=True, default=200)

    @property
    def action_space(self) -> Box:
        return Box(0.0, 1.0, (1,))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        height = jax.random.uniform(key, (1,))
        return height, told(height, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        out = jnp.minimum(0.2 * jnp.clip(action, 0.0, 1.0), state)
        reward = 100.0 * (out * state)[0]
        height = jnp.minimum(state - out + jax.random.uniform(key, (1,), jnp.float32, 0.0, 0.2), 1.0)
        return height, told(height, reward)

    def expert(self, obs: Array) -> Array:
        return jnp.clip((obs - 0.85) / 0.2, 0.0, 1.0)


class Landing(NumbersTask):
    """A lander falls from 10 m and may brake: 100 - 50 |v| is paid where it touches down, and 0.1 is each braking step.

    Gravity is 1 m/s^2, the engine makes 2 m/s^2; 40 s in steps of 0.2 s.
    """

    width: int = eqx.field(static=True, default=2)
    time_limit: int | None = eqx.field(static=True, default=200)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        state = jnp.stack([10.0 + jax.random.uniform(key, (), jnp.float32, -2.0, 2.0), jnp.float32(0.0)])
        return state, told(state, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        push = action.astype(jnp.float32)
        speed = state[1] + 0.2 * (2.0 * push - 1.0)
        height = state[0] + 0.2 * speed
        down = height <= 0.0
        paid = jnp.where(down, jnp.maximum(100.0 - 50.0 * jnp.abs(speed), -100.0), 0.0)
        state = jnp.stack([jnp.minimum(height, 50.0), speed])
        return state, told(state, paid - 0.1 * push, down)

    def expert(self, obs: Array) -> Array:
        height, speed = obs
        return ((speed < 0) & (speed * speed > 1.6 * height)).astype(jnp.int32)
