"""A small environment that is right, and whose methods may be made to give something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import kousoku as ks
from kousoku import Discrete, Timestep


def said(obs: Any, reward: float = 0.0, terminated: bool = False) -> Timestep:
    return Timestep(obs, jnp.float32(reward), jnp.array(terminated), jnp.array(False))


class Corridor(ks.Env):
    """Ten cells; each step moves at random, 0 is the start and 9 the end. `spoil` breaks one rule."""

    spoil: Callable[[str, Any, Any, Any], Any] = eqx.field(
        static=True, default=lambda where, key, before, result: result
    )
    time_limit: Any = eqx.field(static=True, default=None)
    spaces: tuple = (Discrete(10), Discrete(2))

    @property
    def observation_space(self) -> Any:
        return self.spaces[0]

    @property
    def action_space(self) -> Any:
        return self.spaces[1]

    def reset(self, key):
        cell = jnp.int32(0)
        return self.spoil("reset", key, None, (cell, said(cell)))

    def step(self, key, state, action):
        there = jnp.clip(state + jax.random.bernoulli(key, 0.7).astype(jnp.int32) * (2 * action - 1), 0, 9)
        timestep = eqx.tree_at(lambda t: t.terminated, said(there), there == 9)
        return self.spoil("step", key, state, (there, timestep))
