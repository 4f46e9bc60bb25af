"""An environment whose every observation is known beforehand: a random start, and how many steps were taken."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import kousoku as ks


class Count(eqx.Module):
    """Steps so far."""

    count: jax.Array


class Counting(ks.Env):
    """Observes (start, count); action 0 counts on, action 1 stays. It ends at `length`; rewards are counts."""

    length: int = eqx.field(static=True, default=3)
    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return ks.Box(0.0, 1000.0, (2,))

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        start = jax.random.randint(key, (), 0, 1000).astype(jnp.float32)
        return self._told(jnp.stack([start, jnp.float32(0.0)]), jnp.float32(0.0))

    def step(self, key, state, action):
        after = state.at[1].add((action == 0).astype(jnp.float32))
        return self._told(after, after[1])

    def _told(self, state, reward):
        ended = state[1] >= self.length
        return state, ks.Timestep(state, reward, ended, jnp.array(False), Count(state[1].astype(jnp.int32)))


class Asked(Counting):
    """One that counts how often it is asked for its actions' space."""

    asked: ClassVar[list[int]] = []

    @property
    def action_space(self):
        self.asked.append(1)
        return super().action_space


def counted_from(obs: np.ndarray) -> list[float]:
    """Returns how far each environment has counted."""
    return obs[:, 1].tolist()


class Drawing(ks.Env):
    """Observes one number that is drawn from the key of the reset or the step; each step ends an episode."""

    time_limit: int | None = eqx.field(static=True, default=None)

    @property
    def observation_space(self):
        return ks.Box(0.0, 1.0)

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        obs = jax.random.uniform(key)
        return obs, ks.Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        obs = jax.random.uniform(key)
        return obs, ks.Timestep(obs, jnp.float32(0.0), jnp.array(True), jnp.array(False))
