"""The functions that an actor-critic agent asks of a network; a network of one's own is a subclass."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..core.spaces import Space
from ..ops.distributions import Distribution

Carry = PyTree[Array]
"""What a recurrent network carries from step to step: `()` for one without."""


class Network(eqx.Module):
    """A policy and a value function of one environment, without a batch axis.

    A network is a pytree: its float32 arrays are its parameters, all else is static. What a recurrent one remembers,
    its carry, is explicit: `initial_carry` gives the one at the beginning of an episode, and the agent puts it back
    there when an episode ends.

    Examples:
        A subclass and its builder, which an agent takes in the place of an `ActorCriticConfig`:

        >>> import jax.numpy as jnp
        >>> from kousoku.nn import CategoricalHead, Network, ValueHead
        >>> class Bare(Network):
        ...     actor: CategoricalHead
        ...     critic: ValueHead
        ...
        ...     def initial_carry(self):
        ...         return ()
        ...
        ...     def policy(self, obs, carry):
        ...         return self.actor(obs), carry
        ...
        ...     def value(self, obs, carry):
        ...         return self.critic(obs)
        ...
        ...     def __call__(self, obs, carry):
        ...         return self.actor(obs), self.critic(obs), carry
        >>> def build(observation_space, action_space, key):
        ...     size = observation_space.shape[0]
        ...     return Bare(CategoricalHead(action_space, size, key=key), ValueHead(size, key=key))
    """

    @abstractmethod
    def initial_carry(self) -> Carry:
        """Returns the carry at the beginning of an episode."""

    @abstractmethod
    def policy(self, obs: Any, carry: Carry) -> tuple[Distribution, Carry]:
        """Returns pi(. | obs, carry) and the carry after; only what the policy itself remembers need have moved."""

    @abstractmethod
    def value(self, obs: Any, carry: Carry) -> Float[Array, ""]:
        """Returns v(obs, carry)."""

    @abstractmethod
    def __call__(self, obs: Any, carry: Carry) -> tuple[Distribution, Float[Array, ""], Carry]:
        """Returns policy, value and the carry after, in one pass."""


NetworkBuilder = Callable[[Space, Space, PRNGKeyArray], Network]
"""(observation space, action space, key) -> network."""
