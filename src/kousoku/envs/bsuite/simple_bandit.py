"""A simple bandit: arms that always give the same, in an order that is not known."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PRNGKeyArray

from ...core.env import Env
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import Box, Discrete
from ...core.timestep import Timestep
from ..fields import count, limit
from .common import INDEX, begun, observation, seed, went_on


class SimpleBandit(Env):
    """The problem of bsuite's experiment bandit: can an agent find the best of a few arms at all.

    Observation: always 1, Box [1, 1]; or always 0, Discrete(1). Action: Discrete(num_actions). The arms give 0, 0.1,
    ... 1 (with 11 of them), in an order that the seed decides; each pull terminates the episode.

    Attributes:
        mapping_seed: seed of the order of the arms: that of NumPy's RandomState, as in bsuite.
        num_actions: how many arms.
        observation: form of the observation, "array" or "index".
        time_limit: steps until an episode is truncated.

    References:
        Osband et al., Behaviour Suite for Reinforcement Learning, ICLR (2020), arXiv:1908.03568, appendix A.

    Examples:
        >>> env = SimpleBandit(num_actions=3)
        >>> sorted(env.rewards.tolist())
        [0.0, 0.5, 1.0]
    """

    mapping_seed: int = seed(0)
    num_actions: int = count("num_actions", 11)
    observation: str = observation()
    time_limit: int | None = limit(None)

    @property
    def rewards(self) -> np.ndarray:
        """What each arm gives, float64 [num_actions]."""
        order = np.random.RandomState(self.mapping_seed).choice(
            range(self.num_actions), self.num_actions, replace=False
        )
        return np.linspace(0, 1, self.num_actions)[order]

    @property
    def observation_space(self) -> Box | Discrete:
        return Discrete(1) if self.observation == INDEX else Box(1.0, 1.0, (1, 1))

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.num_actions)

    def reset(self, key: PRNGKeyArray) -> tuple[Int[Array, ""], Timestep]:
        """Begins an episode of one pull; the state counts pulls."""
        return jnp.int32(0), begun(self._observe())

    def step(self, key: PRNGKeyArray, state: Int[Array, ""], action: Int[Array, ""]) -> tuple[Int[Array, ""], Timestep]:
        """Pulls an arm."""
        reward = lax.dynamic_index_in_dim(jnp.asarray(self.rewards, jnp.float32), action, keepdims=False)
        return state + 1, went_on(self._observe(), reward, jnp.array(True), 1.0 - reward)

    def model(self) -> TabularModel:
        """Returns the exact model."""
        shape = (1, self.num_actions, 1)
        reward = self.rewards.astype(np.float32).reshape(shape)
        return TabularModel(np.ones(shape), np.zeros(shape, np.int32), reward, np.ones(shape, bool), np.ones(1))

    def panels(self) -> tuple[Panel, ...]:
        """Returns nothing: a single state is no picture."""
        return ()

    def _observe(self) -> Array:
        return jnp.int32(0) if self.observation == INDEX else jnp.ones((1, 1), jnp.float32)
