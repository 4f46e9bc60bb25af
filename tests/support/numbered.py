"""Environments of one's own whose numbers decide what one sees of them: for sweeps over an environment's numbers."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from kousoku.core.env import Env
from kousoku.core.scene import Circle, Scene
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep


class Drift(Env):
    """A row of places to walk along: a current takes the walker back at times, and the far end pays.

    Attributes:
        current: probability that a step goes back, whatever the action.
        gain: reward at the end.
        late: the step of an episode from which on the end pays half, a whole number.
        bonus: per place, an array.
        coin: nothing, but a key, which is no number.
        toll: of every step, an array that is a number.
        paid: whether the end pays at all.
        places: how many there are.
    """

    current: float = 0.1
    gain: float = 1.0
    late: int = 8
    bonus: Any = eqx.field(default_factory=lambda: np.zeros(5, np.float32))
    coin: Any = eqx.field(default_factory=lambda: jax.random.key(0))
    toll: Any = eqx.field(default_factory=lambda: jnp.float32(0.0))
    paid: bool = eqx.field(static=True, default=True)
    places: int = eqx.field(static=True, default=5)
    time_limit: int | None = eqx.field(static=True, default=20)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.places)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        state = jnp.int32(0), jnp.int32(0)
        return state, Timestep(state[0], jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        place, time = state
        back = (action == 0) | (jax.random.uniform(key, (), jnp.float32) < self.current)
        place = jnp.clip(place + jnp.where(back, -1, 1), 0, self.places - 1)
        end, time = place == self.places - 1, time + 1
        pay = self.gain * jnp.where(time > self.late, 0.5, 1.0) if self.paid else 0.0
        reward = jnp.where(end, pay, 0.0) + jnp.asarray(self.bonus)[place] - self.toll
        return (place, time), Timestep(place, reward.astype(jnp.float32), end, jnp.array(False))


class Slide(Env):
    """A disc on rough ground that is to be pushed to 0; its speed and its picture show the friction.

    Attributes:
        friction: share of the speed that a step takes away.
        weight: of the reward.
    """

    friction: float = 0.1
    weight: float = 1.0
    time_limit: int | None = eqx.field(static=True, default=16)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (2,))

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (1,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        state = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        return state, Timestep(state, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        speed = (1.0 - self.friction) * state[1] + 0.1 * action[0]
        state = jnp.stack([state[0] + 0.1 * speed, speed])
        return state, Timestep(state, -self.weight * jnp.abs(state[0]), jnp.array(False), jnp.array(False))

    def scene(self, state: Any) -> Scene:
        return Scene(4.0, 1.0, (), (Circle(2.0 + float(state[0]), 0.5, float(self.friction), "#000000"),))
