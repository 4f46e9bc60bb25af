"""The interface of a training loop, whether it is compiled or read step by step."""

from __future__ import annotations

from abc import abstractmethod

from ...core.collector import TrainState
from ..metrics.drain import Placement


class TrainLoop:
    """Advances all members of a population. A training state is a tree of arrays [N, ...].

    Steps are environment steps of one member, over all its slots.
    """

    @abstractmethod
    def start(self) -> TrainState:
        """Makes the training state before the first step."""

    @property
    @abstractmethod
    def placement(self) -> Placement:
        """Where a training state lies."""

    @property
    @abstractmethod
    def iteration_steps(self) -> int:
        """Steps of one iteration: a loop stops only between two of them."""

    @property
    def devices(self) -> int:
        """How many devices share the work."""
        return 1 if self.placement.mesh is None else self.placement.mesh.size

    def whole(self, step: int) -> int:
        """Returns the first step, from this one on, that the loop can stop at."""
        return -(-step // self.iteration_steps) * self.iteration_steps

    @abstractmethod
    def run(self, state: TrainState, at: int, until: int) -> tuple[TrainState, int]:
        """Advances from step `at` towards `until`, as far as one call should go: the state and the step reached."""
