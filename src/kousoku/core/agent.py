"""What an agent is: a frozen value with three pure functions, and no loop."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from .env import EnvSpec
from .timestep import Rollout, Transition


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


class RolloutAgent(eqx.Module):
    """A learner from rollouts: T steps of B environments at a time, made by the policy that learns (on-policy).

    Its methods but `update` are of one environment, without a batch axis. What it keeps for each environment from step
    to step (a recurrent network's memory, say) is the `memory` that `start` makes: `act` passes it on, and training
    replaces it by a new one where an episode ends.

    Attributes:
        num_envs: B, environments that act at once.
        num_steps: T, steps of each between two updates.
    """

    num_envs: eqx.AbstractVar[int]
    num_steps: eqx.AbstractVar[int]

    @abstractmethod
    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> Any:
        """The state before the first step, shared by all environments."""

    @abstractmethod
    def start(self, state: Any) -> Any:
        """The memory of one environment at the start of an episode."""

    @abstractmethod
    def act(
        self, state: Any, obs: PyTree[Array], memory: Any, key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], Any, Any]:
        """Choose an action: the action, the memory for the next step, and extras that `update` wants to see again."""

    @abstractmethod
    def update(
        self, state: Any, memory: Any, rollout: Rollout, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[Any, Any, dict[str, Array]]:
        """Learn from a rollout.

        Args:
            state: as from `init` or the last update.
            memory: [B, ...] after the rollout's last step.
            rollout: what happened, and in `rollout.memory` the memory before its first step.
            key: of the update.
            axis: the named axis that the environments are spread over, one share on each device: whatever is a mean or
                a sum over environments has to be taken over it too, so that the devices' states stay equal.

        Returns:
            The new state, the new memory, and scalars worth recording.
        """

    @property
    def gradient_samples(self) -> int:
        """Samples that one gradient is the mean over: here all of a rollout."""
        return self.num_envs * self.num_steps

    def num_devices(self, available: int) -> int:
        """Among how many of the available devices its environments are divided, unless somebody says how many.

        A divisor of `num_envs`: here the largest; fewer are better where devices would wait longer than they work.
        """
        return largest_divisor(self.num_envs, available)


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor of a number up to a limit.

    Examples:
        >>> largest_divisor(12, 5), largest_divisor(7, 5)
        (4, 1)
    """
    return next(d for d in range(min(limit, number), 0, -1) if number % d == 0)


AnyAgent = Agent | RolloutAgent
"""An agent of either kind."""
