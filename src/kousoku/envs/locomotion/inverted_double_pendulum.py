"""InvertedDoublePendulum: two poles, one on the other, on a cart, that should not fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, frames, limit, number
from .planar import FASTEST, Flag, Scalar
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World

FALLEN, UPRIGHT, STRONGEST = 1.0, 2.0, 10.0


class InvertedDoublePendulumInfo(eqx.Module):
    """Parts of a step's reward.

    Attributes:
        reward_survive, distance_penalty, velocity_penalty: the reward's terms.
        diverged: the environment has blown up.
    """

    reward_survive: Scalar
    distance_penalty: Scalar
    velocity_penalty: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class Tip(eqx.Module):
    """Place of the upper end, and what the rail's ends do to the cart."""

    at: Float[Array, "3"]
    push: Float[Array, "1"]


class InvertedDoublePendulum(Robot):
    """Gymnasium's InvertedDoublePendulum-v5.

    Observation: the cart's position, sines and cosines of the two angles, velocities cut at 10, the force with which
    the rail's ends hold the cart, cut at 10, Box [9]. Action: the force on the cart, Box [1] in [-1, 1]. With the tip
    at x and height y, and angular velocities v1 and v2:

        reward = healthy_reward (y > 1) - 0.01 x^2 - (y - 2)^2 - 0.001 v1^2 - 0.005 v2^2

    The episode terminates if y <= 1.

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        healthy_reward: reward of a step that does not end the episode.
        reset_noise_scale: first positions are uniform within it, first velocities normal with this standard deviation.
        time_limit: steps until an episode is truncated.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 2, "nv": 3, "nsite": 1}

    xml_file: str = file("inverted_double_pendulum.xml")
    frame_skip: int = frames(5)
    healthy_reward: Number = number("healthy_reward", 10.0)
    reset_noise_scale: Number = number("reset_noise_scale", 0.1, low=0.0)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Puts it nearly upright."""
        return noisy(self.model, key, self.reset_noise_scale, speeds="normal")

    def measure(self, world: World) -> Measured:
        """Reads where the tip is, and what holds the cart."""
        return Measured(Tip(world.site_xpos(0), world.qfrc_constraint[:1]))

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions, velocities, what holds the cart."""
        angles, qvel = physics.qpos[1:], jnp.clip(physics.qvel, -FASTEST, FASTEST)
        push = jnp.clip(measured.now.push, -STRONGEST, STRONGEST)
        return jnp.concatenate([physics.qpos[:1], jnp.sin(angles), jnp.cos(angles), qvel, push])

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards standing upright, in the middle, slowly."""
        x, _, y = move.measured.now.at
        slow, fast = move.after.qvel[1], move.after.qvel[2]
        fallen = y <= FALLEN
        distance = -(0.01 * x * x + (y - UPRIGHT) * (y - UPRIGHT))
        velocity = -(1e-3 * slow * slow + 5e-3 * fast * fast)
        alive = jnp.where(fallen, 0.0, self.healthy_reward)
        return StepOutcome(alive + distance + velocity, fallen, InvertedDoublePendulumInfo(alive, distance, velocity))
