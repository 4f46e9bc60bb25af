"""The interface of a training loop, whether it is compiled or read step by step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from ...core.collector import Collector, TrainState
from ...core.errors import EnvError
from ...core.spaces import LARGEST
from ..metrics.drain import Placement


class Place(NamedTuple):
    """The place of an iteration among all: programs count in int32, and count again in each epoch.

    Attributes:
        epoch: 0 for the first 2^31 steps or so.
        number: what programs are told, within int32 also as a number of steps. From the second epoch on it is negative,
            so that a count of steps can stand still at the largest one (`counted_before`).
        left: iterations of this epoch from there on.
    """

    epoch: int
    number: int
    left: int


def whole_iterations(step: int, iteration_steps: int) -> int:
    """Returns the first step, from this one on, at which an iteration ends."""
    return -(-step // iteration_steps) * iteration_steps


def place_of(collector: Collector, done: int) -> Place:
    """Returns the place of the iteration after so many that are done.

    In a later epoch a buffer has long been full, and numbers begin where its head is where the last epoch left it.
    """
    half = LARGEST // 2 // collector.iteration_steps // collector.period * collector.period
    if done < 2 * half:
        return Place(0, done, 2 * half - done)
    epoch, further = divmod(done - 2 * half, half)
    return Place(epoch + 1, further - half, half - further)


class TrainLoop:
    """The loop that advances all members of a population. A training state is a tree of arrays [N, ...].

    Steps are environment steps of one member, over all its slots.

    Attributes:
        error: what an environment on the host failed with, which ends the run; None if none did.
    """

    error: EnvError | None = None

    @abstractmethod
    def start(self, trained: Any = None) -> TrainState:
        """Makes the training state before the first step; members adopt what a trained agent's state holds."""

    @property
    def placement(self) -> Placement:
        """Where a training state lies."""
        return Placement()

    @property
    @abstractmethod
    def iteration_steps(self) -> int:
        """Steps of one iteration: a loop stops only between two of them."""

    @property
    def devices(self) -> int:
        """How many devices share the work."""
        return 1 if self.placement.mesh is None else self.placement.mesh.size

    def compile(self, state: TrainState) -> None:
        """Compiles what `run` runs, where that is one program that might fill memory.

        Raises:
            ConfigError: if memory does not hold what it computes.
        """

    def whole(self, step: int) -> int:
        """Returns the first step, from this one on, that the loop can stop at."""
        return whole_iterations(step, self.iteration_steps)

    def close(self) -> None:
        """Ends what the loop has begun outside of programs: environments on the host."""

    @abstractmethod
    def run(self, state: TrainState, at: int, until: int) -> tuple[TrainState, int]:
        """Advances from step `at` towards `until`, as far as one call should go: the state and the step reached."""
