"""An agent that learns nothing, for tests of what surrounds one."""

import jax.numpy as jnp

import kousoku as ks


class Idle(ks.Agent):
    """An agent of two weights that always takes action 0; what it learns from is its subclasses' to say."""

    def init(self, spec, key):
        return {"w": jnp.zeros(2)}

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(0), carry, None

    def update(self, state, data, key, *, axis=None):
        return state, {}
