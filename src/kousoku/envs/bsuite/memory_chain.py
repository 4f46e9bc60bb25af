"""Memory chain: bits that are shown once and asked for later."""

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


class MemoryChainState(eqx.Module):
    """The bits that are to be remembered, and the clock.

    Attributes:
        timestep: steps taken.
        context: the bits, 0 or 1.
        query: which of them is asked for.
    """

    timestep: Int[Array, ""]
    context: Int[Array, " num_bits"]
    query: Int[Array, ""]


class MemoryChain(Env):
    """The problem of bsuite's experiments memory_len (one bit) and memory_size (memory_length 2).

    Observation: (time left, query, bits), Box [1, 2 + num_bits]: time left goes from 1 to 0, the query is shown before
    the last step, the bits, as -1 and 1, at first; all else is 0. Action: Discrete(2): only the last one counts, 1 for
    the bit that is asked for, else -1, and terminates the episode.

    As in bsuite, the observation after the first step is the first one again, so that an episode has
    memory_length + 1 steps.

    Attributes:
        memory_length: length of the memory: steps from what is shown to what is asked.
        num_bits: how many bits are shown.
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> env = MemoryChain(memory_length=1)
        >>> state, timestep = env.begin(jnp.array([1]), jnp.int32(0))
        >>> timestep.obs.tolist()
        [[1.0, 0.0, 1.0]]
        >>> for _ in range(2):
        ...     state, timestep = env.step(jax.random.key(1), state, jnp.int32(1))
        >>> float(timestep.reward), bool(timestep.terminated)
        (1.0, True)
    """

    memory_length: int = count("memory_length", 10)
    num_bits: int = count("num_bits", 1)
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box:
        low = (0.0, 0.0, *[-1.0] * self.num_bits)
        return Box((low,), ((1.0, self.num_bits - 1.0, *[1.0] * self.num_bits),), (1, 2 + self.num_bits))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: PRNGKeyArray) -> tuple[MemoryChainState, Timestep]:
        """Draws the bits and which of them is asked for."""
        context_key, query_key = jax.random.split(key)
        context = jax.random.bernoulli(context_key, 0.5, (self.num_bits,)).astype(jnp.int32)
        return self.begin(context, jax.random.randint(query_key, (), 0, self.num_bits, jnp.int32))

    def begin(self, context: Int[Array, " num_bits"], query: Int[Array, ""]) -> tuple[MemoryChainState, Timestep]:
        """Returns the beginning of an episode with given bits and query."""
        state = MemoryChainState(jnp.int32(0), context, query)
        return state, begun(self._observe(state))

    def step(
        self, key: PRNGKeyArray, state: MemoryChainState, action: Int[Array, ""]
    ) -> tuple[MemoryChainState, Timestep]:
        """Lets time pass; in the end the action answers."""
        ended = state.timestep >= self.memory_length
        asked = jax.lax.dynamic_index_in_dim(state.context, state.query, keepdims=False)
        answer = jnp.where(action == asked, jnp.float32(1.0), jnp.float32(-1.0))
        timestep = jnp.minimum(state.timestep + 1, self.memory_length + 1)
        next_state = MemoryChainState(timestep, state.context, state.query)
        reward, regret = jnp.where(ended, answer, 0.0), jnp.where(ended, 1.0 - answer, 0.0)
        return next_state, went_on(self._observe(state), reward, ended, regret)

    def _observe(self, state: MemoryChainState) -> Array:
        time = jnp.minimum(state.timestep, self.memory_length)
        left = share(self.memory_length - time, self.memory_length)
        query = jnp.where(time == self.memory_length - 1, state.query, 0).astype(jnp.float32)
        bits = jnp.where(time == 0, 2 * state.context - 1, 0).astype(jnp.float32)
        return jnp.concatenate([left[None], query[None], bits])[None]
