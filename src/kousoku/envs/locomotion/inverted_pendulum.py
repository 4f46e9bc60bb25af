"""InvertedPendulum: a pole on a cart that should not fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, frames, limit, number
from .planar import Flag, Scalar, joints_but
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World

FALLEN = 0.2


class InvertedPendulumInfo(eqx.Module):
    """Parts of a step's reward.

    Attributes:
        reward_survive: the reward.
        diverged: the environment has blown up.
    """

    reward_survive: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class InvertedPendulum(Robot):
    """Gymnasium's InvertedPendulum-v5.

    Observation: the cart's position, the pole's angle, their velocities, Box [4]. Action: the force on the cart, Box
    [1] in [-3, 3]. The reward is 1 for every step until the pole is more than 0.2 rad from upright, which terminates
    the episode.

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        reset_noise_scale: first positions and velocities are uniform within it.
        time_limit: steps until an episode is truncated.

    References:
        Barto, Sutton and Anderson, Neuronlike adaptive elements that can solve difficult learning control problems,
        IEEE Transactions on Systems, Man, and Cybernetics 13 (1983).
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 2}

    xml_file: str = file("inverted_pendulum.xml")
    frame_skip: int = frames(2)
    reset_noise_scale: Number = number("reset_noise_scale", 0.01, low=0.0)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Puts it nearly upright."""
        return noisy(self.model, key, self.reset_noise_scale)

    def measure(self, world: World) -> Measured:
        """Reads nothing."""
        return Measured()

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions and velocities."""
        return joints_but(physics, 0)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards standing upright."""
        fallen = jnp.abs(move.after.qpos[1]) > FALLEN
        reward = jnp.where(fallen, 0.0, 1.0)
        return StepOutcome(reward, fallen, InvertedPendulumInfo(reward))
