"""The functions that an actor-critic agent asks of a network; a network of one's own is a subclass."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..core.spaces import Space
from ..ops.distributions import Distribution

Memory = PyTree[Array]
"""What a recurrent network carries from step to step: `()` for one without."""


class Network(eqx.Module):
    """A policy and a value function of one environment, without a batch axis.

    A network is a pytree: its float32 arrays are its parameters, all else is static. The memory is explicit: `start`
    gives the one at the beginning of an episode, and the agent puts it back there when an episode ends.

    Examples:
        A subclass and its builder, which an agent takes in the place of an `ActorCriticConfig`:

        >>> import jax.numpy as jnp
        >>> from kousoku.nn import CategoricalHead, Network, ValueHead
        >>> class Bare(Network):
        ...     actor: CategoricalHead
        ...     critic: ValueHead
        ...
        ...     def start(self):
        ...         return ()
        ...
        ...     def policy(self, obs, memory):
        ...         return self.actor(obs), memory
        ...
        ...     def value(self, obs, memory):
        ...         return self.critic(obs)
        ...
        ...     def __call__(self, obs, memory):
        ...         return self.actor(obs), self.critic(obs), memory
        >>> def build(observation_space, action_space, key):
        ...     size = observation_space.shape[0]
        ...     return Bare(CategoricalHead(action_space, size, key=key), ValueHead(size, key=key))
    """

    @abstractmethod
    def start(self) -> Memory:
        """Returns the memory at the beginning of an episode."""

    @abstractmethod
    def policy(self, obs: Any, memory: Memory) -> tuple[Distribution, Memory]:
        """Returns pi(. | obs, memory) and the memory after; only what the policy itself remembers need have moved."""

    @abstractmethod
    def value(self, obs: Any, memory: Memory) -> Float[Array, ""]:
        """Returns v(obs, memory)."""

    @abstractmethod
    def __call__(self, obs: Any, memory: Memory) -> tuple[Distribution, Float[Array, ""], Memory]:
        """Returns policy, value and the memory after, in one pass."""


NetworkBuilder = Callable[[Space, Space, PRNGKeyArray], Network]
"""(observation space, action space, key) -> network."""
