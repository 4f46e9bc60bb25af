"""Settings of the contenders of `kousoku bench off-policy`."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from kousoku.agents.deep.sac import SAC
from kousoku.nn import ActorQConfig

ENV, OBSERVATION, ACTION = "HalfCheetah-v5", 17, 6


@dataclass(frozen=True)
class SACSettings:
    """The settings that all contenders share.

    Attributes:
        hidden: widths of the hidden layers of actor and critics.
        batch_size: transitions of a gradient step.
        update_ratio: gradient steps for each environment step, as a fraction with one above.
        num_envs: our environments; others have one.
        learning_rate: of everything.
        learning_starts: steps before the first gradient step.
        capacity: of the buffer.
    """

    hidden: tuple[int, ...]
    batch_size: int = 256
    update_ratio: str = "1/16"
    num_envs: int = 64
    learning_rate: float = 1e-3
    learning_starts: int = 4096
    capacity: int = 1_000_000

    def as_dict(self) -> dict[str, Any]:
        """Returns them as JSON has them."""
        return asdict(self)

    def agent(self) -> SAC:
        """Returns our agent with these settings."""
        return SAC(
            num_envs=self.num_envs,
            capacity=self.capacity,
            batch_size=self.batch_size,
            update_ratio=self.update_ratio,
            learning_starts=self.learning_starts,
            network=ActorQConfig(hidden=tuple(self.hidden)),
            learning_rate=self.learning_rate,
        )

    @property
    def steps_per_update(self) -> int:
        """The environment steps of one gradient step."""
        return Fraction(self.update_ratio).denominator

    def figures(self, figures: dict[str, float]) -> dict[str, float]:
        """Returns a row's figures, with gradient steps and their arithmetic, from its steps a second."""
        updates = figures["steps_per_second"] / self.steps_per_update
        return {**figures, "updates_per_second": updates, "gflops": updates * self.flops() / 1e9}

    def flops(self) -> float:
        """Returns the floating point operations of the products of matrices in one gradient step.

        A product's gradient is two such products: one for its weights, one for what goes in, which a first layer needs
        only where the gradient goes on to an action. Passes: the actor at s' and both target critics there; both
        critics at (s, a) and back; the actor at s, both critics after it, back through them to the action, and back
        through the actor.
        """
        actor, critic = self._products(OBSERVATION, 2 * ACTION), self._products(OBSERVATION + ACTION, 1)
        forward, critics = sum(actor), 2 * sum(critic)
        learn_critics = critics + critics + 2 * sum(critic[1:])
        through_critics = critics + critics
        learn_actor = forward + forward + sum(actor[1:])
        return 2.0 * self.batch_size * (forward + critics + learn_critics + through_critics + learn_actor)

    def _products(self, inputs: int, outputs: int) -> list[int]:
        """Returns the multiplications of each layer for one sample."""
        sizes = (inputs, *self.hidden, outputs)
        return [i * o for i, o in itertools.pairwise(sizes)]


SIZES = {
    "64-64": SACSettings((64, 64)),
    "256-256": SACSettings((256, 256)),
    "one-environment": SACSettings((64, 64), update_ratio="1", num_envs=1),
}
"""The parts of the benchmark by name; in the last, ours has a single environment, too, and an update at each step."""
