"""An environment of one's own in which nothing happens, to be made another one by what a test adds."""

import equinox as eqx
import jax.numpy as jnp

import kousoku as ks


class Still(ks.Env):
    """One state that is seen, two actions, no reward, and no end but the time limit."""

    time_limit: int | None = eqx.field(static=True, default=8)

    @property
    def observation_space(self):
        return ks.Discrete(1)

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(jnp.int32(0), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        return state, ks.Timestep(jnp.int32(0), jnp.float32(0), jnp.array(False), jnp.array(False))
