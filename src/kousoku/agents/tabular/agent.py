"""The base class of every tabular agent."""

from abc import abstractmethod
from typing import Any

from jaxtyping import Array, Float

from ...collectors.online import Online
from ...core.agent import Agent


class TabularAgent(Agent):
    """An online learner over Discrete observations and actions that can tell its action values."""

    @property
    def learns_from(self) -> Online:
        return Online()

    @abstractmethod
    def q_values(self, state: Any) -> Float[Array, "S A"]:
        """Returns the estimate of every action's value."""
