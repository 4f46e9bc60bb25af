"""Discounting chain: five rewards at five times, of which the largest may be the last."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import limit
from .common import INDEX, Outcome, begun, observation, seed, share, tabulate, went_on

REWARD_AT = (1, 3, 10, 30, 100)
LENGTH, CHAINS = 100, len(REWARD_AT)
BONUS = 0.1


class DiscountingChainState(eqx.Module):
    """The chain that was chosen, -1 before the first step, and the steps taken."""

    context: Int[Array, ""]
    timestep: Int[Array, ""]


class DiscountingChain(Env):
    """The problem of bsuite's experiment discounting_chain: how far an agent looks ahead.

    Observation: (chain, steps / 100), Box [1, 2], with chain -1 at first; or the number of the state, Discrete(501): 0
    at first, then 100 chain + steps. Action: Discrete(5); the first one chooses a chain, the others do nothing. Chains
    give 1 after 1, 3, 10, 30 and 100 steps, and one of them 1.1. The episode terminates after 100 steps.

    The regret is that of the chain, at its beginning.

    Attributes:
        mapping_seed: the chain with the bonus, modulo 5.
        observation: form of the observation, "array" or "index".
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> env = DiscountingChain(mapping_seed=0)
        >>> state, timestep = env.reset(jax.random.key(0))
        >>> state, timestep = env.step(jax.random.key(1), state, jnp.int32(0))
        >>> round(float(timestep.reward), 4), [round(float(x), 4) for x in timestep.obs[0]]
        (1.1, [0.0, 0.01])
    """

    mapping_seed: int = seed(0)
    observation: str = observation()
    time_limit: int | None = limit(None)

    @property
    def observation_space(self) -> Box | Discrete:
        if self.observation == INDEX:
            return Discrete(1 + CHAINS * LENGTH)
        return Box(((-1.0, 0.0),), ((CHAINS - 1.0, 1.0),), (1, 2))

    @property
    def action_space(self) -> Discrete:
        return Discrete(CHAINS)

    def reset(self, key: PRNGKeyArray) -> tuple[DiscountingChainState, Timestep]:
        """Begins before the choice."""
        state = DiscountingChainState(jnp.int32(-1), jnp.int32(0))
        return state, begun(self._observe(state))

    def step(
        self, key: PRNGKeyArray, state: DiscountingChainState, action: Int[Array, ""]
    ) -> tuple[DiscountingChainState, Timestep]:
        """Chooses the chain at first; goes on in it."""
        chooses = state.timestep == 0
        context = jnp.where(chooses, jnp.clip(action, 0, CHAINS - 1), state.context)
        timestep = jnp.minimum(state.timestep + 1, LENGTH)
        best = context == self.mapping_seed % CHAINS
        given = timestep == lax.dynamic_index_in_dim(jnp.asarray(REWARD_AT, jnp.int32), context, keepdims=False)
        reward = jnp.where(given, jnp.where(best, jnp.float32(1.0 + BONUS), jnp.float32(1.0)), jnp.float32(0.0))
        regret = jnp.where(chooses & ~best, jnp.float32(BONUS), jnp.float32(0.0))
        next_state = DiscountingChainState(context, timestep)
        return next_state, went_on(self._observe(next_state), reward, timestep == LENGTH, regret)

    def model(self) -> TabularModel:
        """Returns the exact model, indexed by the number of the state."""
        chain, steps = np.divmod(np.arange(CHAINS * LENGTH, dtype=np.int32), np.int32(LENGTH))
        context, timestep = np.append(np.int32(-1), chain), np.append(np.int32(0), steps + np.int32(1))

        def outcome(action: Int[Array, ""], context: Int[Array, ""], timestep: Int[Array, ""]) -> Outcome:
            state = DiscountingChainState(context, timestep)
            next_state, said = self.step(jax.random.key(0), state, action)
            return self._index(next_state), said.reward, said.terminated

        start = np.eye(1, len(context))[0]
        return tabulate(outcome, (context, timestep), timestep == LENGTH, CHAINS, start)

    def panels(self) -> tuple[Panel, ...]:
        """Draws the choice, and the chains one below the other."""
        names = tuple(map(str, range(CHAINS)))
        no_arrows = (None,) * CHAINS
        chains = np.arange(1, 1 + CHAINS * LENGTH).reshape(CHAINS, LENGTH)
        return (
            Panel("choice", ((0,),), action_names=names, action_arrows=no_arrows),
            Panel(
                "chains",
                tuple(map(tuple, chains.tolist())),
                row_label="chain",
                column_label="steps taken",
                action_names=names,
                action_arrows=no_arrows,
            ),
        )

    def _index(self, state: DiscountingChainState) -> Int[Array, ""]:
        return jnp.where(state.timestep == 0, 0, state.context * LENGTH + state.timestep)

    def _observe(self, state: DiscountingChainState) -> Array:
        if self.observation == INDEX:
            return self._index(state)
        return jnp.stack([state.context.astype(jnp.float32), share(state.timestep, LENGTH)])[None]
