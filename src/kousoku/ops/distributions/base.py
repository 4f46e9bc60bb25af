"""The functions that every distribution over actions has."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

Action = Shaped[Array, "..."]
Scalar = Float[Array, ""]


class Distribution(eqx.Module):
    """A probability distribution over the actions of one environment.

    A policy returns one of these, and a learner needs nothing else of it. Parameters are leaves without a batch axis:
    many environments are a `vmap`. Logarithms are natural, so entropies and divergences are in nats.
    """

    @abstractmethod
    def sample(self, key: PRNGKeyArray) -> Action:
        """Draws an action."""

    @abstractmethod
    def log_prob(self, action: Action) -> Scalar:
        """Returns the logarithm of the probability (density, if actions are continuous) of an action."""

    @abstractmethod
    def entropy(self) -> Scalar:
        """Computes -E[log p(a)]."""

    @abstractmethod
    def mode(self) -> Action:
        """Returns what a greedy policy plays."""

    @abstractmethod
    def kl(self, other: Any) -> Scalar:
        """Computes KL(self || other) = E[log p(a) - log q(a)], a drawn from `self`; `other` is of the same class and
        shape.
        """

    def sample_and_log_prob(self, key: PRNGKeyArray) -> tuple[Action, Scalar]:
        """Draws an action and its log-probability: the one method that a subclass may replace, where it knows better.

        It is differentiable through the action wherever `sample` is (a reparametrised gradient, as SAC wants). For the
        ratio of two policies, as in PPO, take `log_prob(action)` on both sides: it sees what was stored.
        """
        action = self.sample(key)
        return action, self.log_prob(action)
