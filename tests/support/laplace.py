"""A distribution that the library has not: a Laplace distribution in every component, and its policy head."""

import equinox as eqx
import jax
import jax.numpy as jnp

from kousoku.nn import Dense
from kousoku.ops.distributions import Distribution


class Laplace(Distribution):
    loc: jax.Array
    scale: jax.Array

    def sample(self, key):
        return self.loc + self.scale * jax.random.laplace(key, self.loc.shape, jnp.float32)

    def log_prob(self, action):
        return -jnp.sum(jnp.abs(action - self.loc) / self.scale + jnp.log(2.0 * self.scale))

    def entropy(self):
        return jnp.sum(1.0 + jnp.log(2.0 * self.scale))

    def mode(self):
        return self.loc

    def kl(self, other):
        distance = jnp.abs(self.loc - other.loc)
        far = self.scale * jnp.exp(-distance / self.scale) + distance
        return jnp.sum(far / other.scale + jnp.log(other.scale / self.scale) - 1.0)


class LaplaceHead(eqx.Module):
    linear: Dense
    log_scale: jax.Array

    def __init__(self, action_space, in_size, key):
        self.linear = Dense(in_size, action_space.shape[0], key=key, gain=0.01)
        self.log_scale = jnp.full(action_space.shape, -1.0, jnp.float32)

    def __call__(self, x):
        return Laplace(self.linear(x), jnp.exp(self.log_scale))
