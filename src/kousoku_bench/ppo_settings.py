"""The settings that PPO is measured with: the same numbers for every library."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from kousoku.agents.deep.ppo import PPO
from kousoku.agents.options import make_agent
from kousoku.core.errors import ConfigError
from kousoku.ops.schedules import Linear
from kousoku.training.presets import preset

GAE_LAMBDA = 0.95
"""Lambda of the advantages in every library: what the others take by default, and the presets that are measured."""


@dataclass(frozen=True)
class PPOSettings:
    """The numbers of PPO that its speed depends on, and those that come with them.

    Actor and critic are two networks of two hidden layers of 64 tanh units everywhere.

    Attributes:
        num_envs: environments that act at once.
        num_steps: steps of each between two updates.
        minibatches: parts of a rollout, one gradient step each.
        epochs: passes over a rollout.
        learning_rate: Adam's, at the start. SB3, sbx, rejax and Brax keep it; their steps take as long.
        steps: environment steps of a whole training.
        last_rate: what the learning rate goes down to over them, in a straight line; None where it stays.
        entropy: coefficient of the entropy bonus.
        value_clip: how far a value may move in one update; None for no limit.
        normalise: whether observations and rewards are scaled by running moments.
    """

    num_envs: int
    num_steps: int
    minibatches: int
    epochs: int
    learning_rate: float
    steps: int
    last_rate: float | None = None
    entropy: float = 0.0
    value_clip: float | None = None
    normalise: bool = True

    @property
    def rollout(self) -> int:
        """The steps of all environments between two updates."""
        return self.num_envs * self.num_steps

    @property
    def minibatch(self) -> int:
        """The samples of a gradient step."""
        return self.rollout // self.minibatches

    def as_dict(self) -> dict[str, Any]:
        """Returns them as JSON has them, for another process."""
        return asdict(self)

    def agent(self) -> PPO:
        """Makes our agent."""
        rate, last = self.learning_rate, self.last_rate
        made = make_agent(
            "ppo",
            num_envs=self.num_envs,
            num_steps=self.num_steps,
            minibatches=self.minibatches,
            epochs=self.epochs,
            learning_rate=rate if last is None else Linear(rate, last, self.steps),
            gae_lambda=GAE_LAMBDA,
            entropy_coefficient=self.entropy,
            value_clip=self.value_clip,
            normalise_observations=self.normalise,
            normalise_rewards=self.normalise,
        )
        assert isinstance(made, PPO)
        return made

    def with_envs(self, count: int) -> PPOSettings:
        """Makes the same rollout from another number of environments: epochs, minibatches and their samples stay.

        Raises:
            ConfigError: if the rollout cannot be divided so.
        """
        if self.rollout % count:
            raise ConfigError("environments", count, f"use a divisor of the rollout's {self.rollout} steps")
        return replace(self, num_envs=count, num_steps=self.rollout // count)


PUREJAXRL = PPOSettings(4, 128, 4, 4, 2.5e-4, 500_000, last_rate=0.0, entropy=0.01, value_clip=0.2, normalise=False)
"""What PureJaxRL's ppo.py sets for CartPole-v1."""


def of_preset(env: str) -> PPOSettings:
    """Returns our preset for an environment.

    Examples:
        >>> of_preset("Ant-v5").minibatch, of_preset("Ant-v5").with_envs(8).num_steps
        (2048, 4096)
    """
    made, steps = tuned(env), preset("ppo", env).steps
    assert steps is not None
    rate, last = made.learning_rate, None
    if isinstance(rate, Linear):
        rate, last = rate.start, rate.end
    assert isinstance(rate, float)
    return PPOSettings(made.num_envs, made.num_steps, made.minibatches, made.epochs, rate, steps, last)


def tuned(env: str) -> PPO:
    """Makes our agent with the preset for an environment."""
    made = make_agent("ppo", **preset("ppo", env).options)
    assert isinstance(made, PPO)
    return made
