"""Tasks of control: costs of any size, wide actions, quantities of unlike units."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep

from .task import NumbersTask, told


class Drift(NumbersTask):
    """A mass on a line that nothing holds back, pushed with a force in [-1, 1]: 20 s in steps of 0.1 s.

    reward = -scale (x^2 + 0.1 v^2 + 0.01 u^2). With random forces it ends some 15 m away.

    Attributes:
        scale: the unit of the costs.
    """

    scale: Any = 1.0
    width: int = eqx.field(static=True, default=2)
    time_limit: int | None = eqx.field(static=True, default=200)

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        state = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        return state, told(state, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        (x, v), u = state, jnp.clip(action[0], -1.0, 1.0)
        reward = -self.scale * (x * x + 0.1 * v * v + 0.01 * u * u)
        v = v + 0.1 * u
        state = jnp.stack([x + 0.1 * v, v])
        return state, told(state, reward)

    def expert(self, obs: Array) -> Array:
        return jnp.clip(-1.5 * obs[:1] - 2.0 * obs[1:], -1.0, 1.0)


class FarGoal(NumbersTask):
    """A point that begins 50 to 100 m from its goal, with velocities in [-50, 50] m/s: 10 s in steps of 0.1 s.

    reward = -0.01 of the distance that is left.
    """

    width: int = eqx.field(static=True, default=2)
    time_limit: int | None = eqx.field(static=True, default=100)

    @property
    def action_space(self) -> Box:
        return Box(-50.0, 50.0, (2,))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        far, turn = jax.random.uniform(key, (2,), jnp.float32, jnp.array([50.0, 0.0]), jnp.array([100.0, 6.28]))
        place = far * jnp.stack([jnp.cos(turn), jnp.sin(turn)])
        return place, told(place, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        place = state + 0.1 * jnp.clip(action, -50.0, 50.0)
        return place, told(place, -0.01 * jnp.sqrt(jnp.sum(place * place)))

    def expert(self, obs: Array) -> Array:
        return jnp.clip(-10.0 * obs, -50.0, 50.0)


class Tank(NumbersTask):
    """The pressure of a tank in Pa, about 100,000, beside its leak, about 0.001 MPa a step; a pump in [-1, 1] holds it.

    reward = -((p - 100,000) / 10,000)^2.
    """

    width: int = eqx.field(static=True, default=2)
    time_limit: int | None = eqx.field(static=True, default=100)

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        low, high = jnp.array([8e4, -1e-3]), jnp.array([1.2e5, 1e-3])
        state = jax.random.uniform(key, (2,), jnp.float32, low, high)
        return state, told(state, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        pressure = state[0] + 2e3 * jnp.clip(action[0], -1.0, 1.0) - 1e6 * state[1]
        state = jnp.stack([pressure, state[1]])
        return state, told(state, -jnp.square((pressure - 1e5) / 1e4))

    def expert(self, obs: Array) -> Array:
        return jnp.clip((1e5 - obs[:1] + 1e6 * obs[1:]) / 2e3, -1.0, 1.0)
