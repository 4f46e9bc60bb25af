"""What an agent is: a frozen value with three pure functions, and no loop."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .env import EnvSpec
from .timestep import Transition


class Agent(eqx.Module):
    """A learner of one environment, without a batch axis.

    The attributes of an agent are its hyper-parameters: numbers are leaves (so that many values run in one `vmap`),
    structure is static. What it has learned is the state that `init` makes and `update` returns.
    """

    @abstractmethod
    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Any:
        """The state before the first step."""

    @abstractmethod
    def act(
        self, state: Any, obs: PyTree[Array], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], Any]:
        """Choose an action: the action, and extras that the learner wants to see again (or None).

        `greedy=True` is for evaluation: no exploration.
        """

    @abstractmethod
    def update(self, state: Any, batch: Transition, key: PRNGKeyArray) -> tuple[Any, dict[str, Array]]:
        """Learn from the transition just made: the new state, and scalars worth recording (such as "td_error")."""


class TabularAgent(Agent):
    """An agent over Discrete observations and actions that can tell its action values."""

    @abstractmethod
    def q_values(self, state: Any) -> Float[Array, "S A"]:
        """The estimate of every action's value."""
