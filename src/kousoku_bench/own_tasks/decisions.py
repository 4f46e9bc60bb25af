"""Tasks of decisions: sparse rewards, long episodes, costs alone, rewards about a large number."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from kousoku.core.spaces import Discrete
from kousoku.core.timestep import Timestep

from .task import NumbersTask, Task, told


class SparseWalk(Task):
    """A corridor of 20 cells: 1 is paid in the last, and nothing before; 200 steps.

    Attributes:
        cells: of the corridor.
    """

    cells: int = eqx.field(static=True, default=20)
    time_limit: int | None = eqx.field(static=True, default=200)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.cells)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        return jnp.int32(0), told(jnp.int32(0), 0.0)

    def step(self, key: Array, state: Int[Array, ""], action: Array) -> tuple[Array, Timestep]:
        cell = jnp.clip(state + 2 * action - 1, 0, self.cells - 1).astype(jnp.int32)
        there = cell == self.cells - 1
        return cell, told(cell, there, there)

    def expert(self, obs: Array) -> Array:
        return jnp.int32(1)


class Inventory(NumbersTask):
    """A shop that orders 0 to 10 items in the morning and sells 0 to 9, as many as are asked for: 1,000 days.

    reward = 4 for each that is sold - 2 for each that is ordered - 0.5 for each that is left in the evening.
    """

    width: int = eqx.field(static=True, default=1)
    time_limit: int | None = eqx.field(static=True, default=1000)

    @property
    def action_space(self) -> Discrete:
        return Discrete(11)

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        stock = jax.random.randint(key, (), 0, 20).astype(jnp.float32)
        return stock, told(stock[None], 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        ordered = action.astype(jnp.float32)
        asked = jax.random.randint(key, (), 0, 10).astype(jnp.float32)
        stock = jnp.minimum(state + ordered, 50.0)
        sold = jnp.minimum(stock, asked)
        left = stock - sold
        return left, told(left[None], 4.0 * sold - 2.0 * ordered - 0.5 * left)

    def expert(self, obs: Array) -> Array:
        return jnp.clip(7 - obs[0], 0, 10).astype(jnp.int32)


class TrafficLight(NumbersTask):
    """A traffic light: one of two queues may go, two cars a step; a change costs the step. 300 steps.

    reward = -(cars that wait). In each step a car arrives with probability 0.6 in the first and 0.3 in the second.
    """

    width: int = eqx.field(static=True, default=3)
    time_limit: int | None = eqx.field(static=True, default=300)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        state = jnp.zeros(3, jnp.float32)
        return state, told(state, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        green, queues = action.astype(jnp.float32), state[:2]
        went = jnp.where((jnp.arange(2) == action) & (green == state[2]), 2.0, 0.0)
        came = jax.random.bernoulli(key, jnp.array([0.6, 0.3])).astype(jnp.float32)
        queues = jnp.clip(queues - went, 0.0) + came
        queues = jnp.minimum(queues, 50.0)
        return jnp.append(queues, green), told(jnp.append(queues, green), -jnp.sum(queues))

    def expert(self, obs: Array) -> Array:
        here, other = jnp.where(obs[2] > 0.5, obs[1], obs[0]), jnp.where(obs[2] > 0.5, obs[0], obs[1])
        change = (here < 1.0) & (other > 1.0)
        return jnp.where(change, 1 - obs[2], obs[2]).astype(jnp.int32)


class Offset(Task):
    """One of five buttons is lit: 1,000 is paid for every step, and 1 more for pressing that one; 50 steps."""

    time_limit: int | None = eqx.field(static=True, default=50)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(5)

    @property
    def action_space(self) -> Discrete:
        return Discrete(5)

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        lit = jax.random.randint(key, (), 0, 5)
        return lit, told(lit, 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        lit = jax.random.randint(key, (), 0, 5)
        return lit, told(lit, jnp.where(action == state, 1001.0, 1000.0))

    def expert(self, obs: Array) -> Array:
        return obs
