"""A task that is seen as a picture."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep

from .task import Task, told

SIZE = 8
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Meeting(Task):
    """A dot is to reach another one on 8 x 8 bytes, in two channels: -0.1 for each step, 40 steps at most."""

    time_limit: int | None = eqx.field(static=True, default=40)

    @property
    def observation_space(self) -> Box:
        return Box(0, 255, (SIZE, SIZE, 2), np.uint8)

    @property
    def action_space(self) -> Discrete:
        return Discrete(len(MOVES))

    def reset(self, key: Array) -> tuple[Array, Timestep]:
        cells = jax.random.choice(key, SIZE * SIZE, (2,), replace=False)
        places = jnp.stack([cells // SIZE, cells % SIZE], axis=1)
        return places, told(self.seen(places), 0.0)

    def step(self, key: Array, state: Array, action: Array) -> tuple[Array, Timestep]:
        places = state.at[0].set(jnp.clip(state[0] + jnp.asarray(MOVES)[action], 0, SIZE - 1))
        return places, told(self.seen(places), -0.1, jnp.all(places[0] == places[1]))

    def seen(self, places: Array) -> Array:
        """Draws both dots, each in a channel of its own."""
        row, column = (jnp.arange(SIZE)[None] == places[:, axis, None] for axis in (0, 1))
        dots = row[:, :, None] & column[:, None, :]
        return jnp.where(jnp.moveaxis(dots, 0, 2), 255, 0).astype(jnp.uint8)

    def expert(self, obs: Array) -> Array:
        mine, other = (jnp.stack(jnp.unravel_index(jnp.argmax(obs[..., i]), (SIZE, SIZE))) for i in (0, 1))
        down, right = other - mine
        return jnp.where(down < 0, 0, jnp.where(down > 0, 1, jnp.where(right < 0, 2, 3))).astype(jnp.int32)
