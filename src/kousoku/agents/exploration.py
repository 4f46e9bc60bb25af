"""Behaviour policies as values: how an agent turns a row of action values into an action."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core.errors import check_number
from ..core.ours import is_ours
from ..core.plain_number import hold_plain_numbers
from ..ops import exploration as ops
from ..ops.schedules import ScalarOrSchedule, check_schedule, value_at


class Exploration(eqx.Module):
    """A behaviour policy over one state's action values.

    Attributes:
        counts_visits: whether the policy needs to know how often each action was taken in the state.
    """

    counts_visits: eqx.AbstractClassVar[bool]

    def __check_init__(self) -> None:
        if is_ours(type(self)):
            hold_plain_numbers(self)

    @abstractmethod
    def select(
        self, key: PRNGKeyArray, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Int[Array, ""]:
        """Chooses an action."""

    @abstractmethod
    def probabilities(
        self, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Float[Array, " A"]:
        """Returns the probability of each action, for expected updates."""


class EpsilonGreedy(Exploration):
    """Any action with probability epsilon, otherwise a greedy one; ties at random.

    Attributes:
        epsilon: probability in [0, 1] of exploring, a number or a schedule (for epsilon_greedy).

    References:
        Sutton and Barto (2nd ed.), section 2.2.
    """

    counts_visits: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    epsilon: ScalarOrSchedule = 0.1

    def __check_init__(self) -> None:
        check_schedule("epsilon", self.epsilon, low=0, high=1)

    def select(
        self, key: PRNGKeyArray, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Int[Array, ""]:
        return ops.epsilon_greedy(key, q, value_at(self.epsilon, step))

    def probabilities(
        self, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Float[Array, " A"]:
        return ops.epsilon_greedy_probabilities(q, value_at(self.epsilon, step))


class Softmax(Exploration):
    """Boltzmann exploration: probability proportional to exp(q / temperature).

    Attributes:
        temperature: temperature of the probabilities, above 0, a number or a schedule (for softmax).

    References:
        Sutton and Barto (2nd ed.), section 13.1 and equation 2.11.
    """

    counts_visits: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    temperature: ScalarOrSchedule = 1.0

    def __check_init__(self) -> None:
        check_schedule("temperature", self.temperature, low=0, open_low=True)

    def select(
        self, key: PRNGKeyArray, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Int[Array, ""]:
        return ops.softmax(key, q, value_at(self.temperature, step))

    def probabilities(
        self, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Float[Array, " A"]:
        return ops.softmax_probabilities(q, value_at(self.temperature, step))


class UCB(Exploration):
    """Upper confidence bound on each action's value, with the visits of the state as time.

    Attributes:
        c: how much uncertainty counts, at least 0 (for ucb).

    References:
        Sutton and Barto (2nd ed.), equation 2.10; Auer, Cesa-Bianchi and Fischer, Machine Learning 47 (2002).
    """

    counts_visits: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleVariableOverride]
    c: float | Float[Array, ""] = 2.0

    def __check_init__(self) -> None:
        check_number("c", self.c, low=0, open_high=True)

    def select(
        self, key: PRNGKeyArray, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Int[Array, ""]:
        assert counts is not None
        return ops.upper_confidence_bound(key, q, counts, self.c)

    def probabilities(
        self, q: Float[Array, " A"], counts: Int[Array, " A"] | None, step: Int[Array, ""]
    ) -> Float[Array, " A"]:
        assert counts is not None
        return ops.upper_confidence_probabilities(q, counts, self.c)


EXPLORATIONS: dict[str, type[Exploration]] = {"epsilon_greedy": EpsilonGreedy, "softmax": Softmax, "ucb": UCB}
