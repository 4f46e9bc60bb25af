"""Reacher: an arm of two links in a plane, whose tip should be where the target is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, frames, limit, number
from .planar import Flag, Scalar, control_cost
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import between, within
from .world import World

ANGLES, SPEEDS, FARTHEST = 0.1, 0.005, 0.2


class ReacherInfo(eqx.Module):
    """Parts of a step's reward.

    Attributes:
        reward_dist, reward_ctrl: the reward's terms.
        diverged: the environment has blown up.
    """

    reward_dist: Scalar
    reward_ctrl: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class Reacher(Robot):
    """Gymnasium's Reacher-v5.

    Observation: cosines and sines of the two angles, the target's place, angular velocities, the tip's place less the
    target's, Box [10]. Action: torques of two joints, Box [2] in [-1, 1]. Nothing terminates it. The target is uniform
    in a disc of 0.2 m about the shoulder.

        reward = -reward_dist_weight |tip - target| - reward_control_weight |action|^2

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        reward_dist_weight: weight of the distance to the target, in 1/m.
        reward_control_weight: weight of the cost of commands.
        time_limit: steps until an episode is truncated.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 4, "nv": 4}

    xml_file: str = file("reacher.xml")
    frame_skip: int = frames(2)
    reward_dist_weight: Number = number("reward_dist_weight", 1.0)
    reward_control_weight: Number = number("reward_control_weight", 1.0)
    time_limit: int | None = limit(50)

    def start(self, key: PRNGKeyArray) -> Start:
        """Puts the arm nearly straight and at rest, the target anywhere in reach."""
        position_key, speed_key, target_key = jax.random.split(key, 3)
        model = self.model
        qpos = jnp.asarray(model.qpos0, jnp.float32) + within(position_key, model.nq, ANGLES)
        share, turn = between(target_key, 2, 0.0, 1.0)
        away, angle = FARTHEST * jnp.sqrt(share), 2.0 * math.pi * turn
        target = jnp.stack([away * jnp.cos(angle), away * jnp.sin(angle)])
        qvel = within(speed_key, model.nv, SPEEDS)
        still = jnp.zeros((2,), jnp.float32)
        return Start(jnp.concatenate([qpos[:-2], target]), jnp.concatenate([qvel[:-2], still]))

    def measure(self, world: World) -> Measured:
        """Reads the way from the target to the tip."""
        return Measured(world.xpos("fingertip") - world.xpos("target"))

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns angles, target, velocities, what is still missing."""
        angles = physics.qpos[:2]
        return jnp.concatenate([jnp.cos(angles), jnp.sin(angles), physics.qpos[2:], physics.qvel[:2], measured.now[:2]])

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards being near the target, at little effort."""
        near = -self.reward_dist_weight * jnp.sqrt(jnp.sum(move.measured.now * move.measured.now))
        effort = -control_cost(move, self.reward_control_weight)
        return StepOutcome(near + effort, never(), ReacherInfo(near, effort))
