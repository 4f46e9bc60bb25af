"""Umbrella chain: whether an umbrella was taken in the morning shows in the evening."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import count, limit
from .common import begun, share, went_on


class UmbrellaChainState(eqx.Module):
    """The need of an umbrella, its presence, 0 or 1 each, and the steps taken."""

    need: Int[Array, ""]
    has: Int[Array, ""]
    timestep: Int[Array, ""]


class UmbrellaChain(Env):
    """The problem of bsuite's experiments umbrella_length and umbrella_distract (chain_length 20): credit over time.

    Observation: (need umbrella, have umbrella, time left, distractors), Box [1, 3 + n_distractor]; distractors are 0 or
    1 at random, each time anew. Action: Discrete(2): the first one takes an umbrella or not, the others do nothing. The
    last step gives 1 where umbrella and weather agree, else -1, and terminates; all others give -1 or 1 at random.

    Attributes:
        chain_length: length of the chain: steps of an episode.
        n_distractor: numbers that mean nothing.
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> env = UmbrellaChain(chain_length=1, n_distractor=0)
        >>> state, timestep = env.begin(jnp.int32(1), jnp.int32(0), jnp.zeros((0,), jnp.int32))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> timestep.obs.tolist(), float(timestep.reward), bool(timestep.terminated)
        ([[1.0, 1.0, 0.0]], 1.0, True)
    """

    chain_length: int = count("chain_length", 10)
    n_distractor: int = count("n_distractor", 0, low=0)
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box:
        return Box(0.0, 1.0, (1, 3 + self.n_distractor))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> tuple[UmbrellaChainState, Timestep]:
        """Draws the weather, whether there is an umbrella at first, and the distractors."""
        state_key, distractor_key = jax.random.split(key)
        need, has = _coins(state_key, 2)
        return self.begin(need, has, _coins(distractor_key, self.n_distractor))

    def begin(
        self, need: Int[Array, ""], has: Int[Array, ""], distractors: Int[Array, " n_distractor"]
    ) -> tuple[UmbrellaChainState, Timestep]:
        """Returns the beginning of an episode with what is drawn given."""
        state = UmbrellaChainState(need, has, jnp.int32(0))
        return state, begun(self._observe(state, distractors))

    def step(
        self, key: PRNGKeyArray, state: UmbrellaChainState, action: Int[Array, ""]
    ) -> tuple[UmbrellaChainState, Timestep]:
        """Draws the reward of a step that is not the last one, and the distractors."""
        reward_key, distractor_key = jax.random.split(key)
        return self.walk(state, action, _coins(reward_key, 1)[0], _coins(distractor_key, self.n_distractor))

    def walk(
        self,
        state: UmbrellaChainState,
        action: Int[Array, ""],
        coin: Int[Array, ""],
        distractors: Int[Array, " n_distractor"],
    ) -> tuple[UmbrellaChainState, Timestep]:
        """Goes on with what is drawn given.

        Args:
            state: before.
            action: 0 or 1.
            coin: 0 or 1, the reward's, where the step is not the last one.
            distractors: 0 or 1 each.
        """
        timestep = jnp.minimum(state.timestep + 1, self.chain_length)
        has = jnp.where(state.timestep == 0, jnp.clip(action, 0, 1), state.has)
        ended = timestep == self.chain_length
        settled = jnp.where(has == state.need, jnp.float32(1.0), jnp.float32(-1.0))
        reward = jnp.where(ended, settled, 2.0 * coin.astype(jnp.float32) - 1.0)
        next_state = UmbrellaChainState(state.need, has, timestep)
        regret = jnp.where(ended, 1.0 - settled, 0.0)
        return next_state, went_on(self._observe(next_state, distractors), reward, ended, regret)

    def _observe(self, state: UmbrellaChainState, distractors: Int[Array, " n_distractor"]) -> Array:
        left = share(self.chain_length - state.timestep, self.chain_length)
        told = jnp.stack([state.need.astype(jnp.float32), state.has.astype(jnp.float32), left])
        return jnp.concatenate([told, distractors.astype(jnp.float32)])[None]


def _coins(key: PRNGKeyArray, number: int) -> Int[Array, " number"]:
    return jax.random.bernoulli(key, 0.5, (number,)).astype(jnp.int32)
