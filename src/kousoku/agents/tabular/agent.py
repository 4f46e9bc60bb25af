"""The base class of every tabular agent."""

from abc import abstractmethod
from typing import Any

import jax
from jaxtyping import Array, Float

from ...collectors.online import Online
from ...core.agent import Agent, adopt_all
from .common import Table, adopt_table


class TabularAgent(Agent):
    """An online learner over Discrete observations and actions that can tell its action values."""

    @property
    def learns_from(self) -> Online:
        return Online()

    def adopt(self, fresh: Any, trained: Any) -> Any:
        """Takes over the action values of each `Table` in a state, and of one without any `Table` all of it."""
        if not any(map(_is_table, jax.tree.leaves(fresh, is_leaf=_is_table))):
            return adopt_all(fresh, trained)

        def adopted(new: Any, old: Any) -> Any:
            return adopt_table(new, old) if _is_table(new) else new

        return jax.tree.map(adopted, fresh, trained, is_leaf=_is_table)

    @abstractmethod
    def q_values(self, state: Any) -> Float[Array, "S A"]:
        """Returns the estimate of every action's value."""


def _is_table(node: Any) -> bool:
    return isinstance(node, Table)
