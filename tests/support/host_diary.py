"""An agent that writes down what it is given, and acts by what it sees alone."""

import equinox as eqx
import jax
import jax.numpy as jnp

from kousoku.core.agent import Agent
from kousoku.core.collector import Collector

ACTIONS = 3


class Diary(Agent):
    """Keeps what it is given in each update, and acts by what it sees alone: the step of the episode, modulo 3.

    It carries the number of steps of the episode.
    """

    collector: Collector
    updates: int = eqx.field(static=True, default=4)

    @property
    def learns_from(self):
        return self.collector

    def init(self, spec, key):
        of_one = jax.eval_shape(lambda: self._entry(spec))
        return jnp.int32(0), jax.tree.map(lambda x: jnp.zeros((self.updates, *x.shape), x.dtype), of_one)

    def _entry(self, spec):
        lead = (self.collector.num_steps, self.collector.num_envs) if self.collector.batched else ()
        flags = jnp.zeros(lead, bool), jnp.zeros(lead, bool)
        obs, number = jnp.zeros((*lead, 3)), jnp.zeros(lead, jnp.int32)
        return obs, number, jnp.zeros(lead), *flags, obs, number

    def initial_carry(self, state):
        return jnp.int32(0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return obs[2].astype(jnp.int32) % ACTIONS, carry + 1, carry

    def update(self, state, data, key, *, axis=None):
        count, kept = state
        entry = data.obs, data.action, data.reward, data.terminated, data.truncated, data.next_obs, data.extras
        kept = jax.tree.map(lambda all, one: all.at[count % self.updates].set(one), kept, entry)
        return (count + 1, kept), {}
