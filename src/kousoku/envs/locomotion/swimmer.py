"""Swimmer: three links in a viscous fluid that should swim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, flag, frames, limit, number
from .planar import Flag, Scalar, control_cost, joints_but
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class SwimmerInfo(eqx.Module):
    """Parts of a step's reward, and where the robot is.

    Attributes:
        x_position, y_position: of the first link, in m.
        distance_from_origin: of the first link, in m.
        x_velocity, y_velocity: over the step, in m/s.
        reward_forward, reward_ctrl: the reward's terms.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    y_position: Scalar
    distance_from_origin: Scalar
    x_velocity: Scalar
    y_velocity: Scalar
    reward_forward: Scalar
    reward_ctrl: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class Swimmer(Robot):
    """Gymnasium's Swimmer-v5.

    Observation: positions without x and y, velocities, Box [8]. Action: torques of two joints, Box [2] in [-1, 1].
    Nothing terminates it.

        reward = forward_reward_weight x_velocity - ctrl_cost_weight |action|^2

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        forward_reward_weight: weight of the forward speed, in s/m.
        ctrl_cost_weight: weight of the cost of commands.
        reset_noise_scale: first positions and velocities are uniform within it.
        exclude_current_positions_from_observation: whether x and y are left out.
        time_limit: steps until an episode is truncated.

    References:
        Coulom, Reinforcement learning using neural networks, with applications to motor control (2002).
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 2}

    xml_file: str = file("swimmer.xml")
    frame_skip: int = frames(4)
    forward_reward_weight: Number = number("forward_reward_weight", 1.0)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 1e-4)
    reset_noise_scale: Number = number("reset_noise_scale", 0.1, low=0.0)
    exclude_current_positions_from_observation: bool = flag("exclude_current_positions_from_observation", True)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Takes the model's position with noise."""
        return noisy(self.model, key, self.reset_noise_scale)

    def measure(self, world: World) -> Measured:
        """Reads nothing."""
        return Measured()

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions and velocities."""
        return joints_but(physics, 2 if self.exclude_current_positions_from_observation else 0)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards going forward, at little effort."""
        x, y = move.after.qpos[0], move.after.qpos[1]
        x_speed, y_speed = (move.after.qpos[:2] - move.before.qpos[:2]) / self.dt
        forward, cost = self.forward_reward_weight * x_speed, control_cost(move, self.ctrl_cost_weight)
        info = SwimmerInfo(x, y, jnp.sqrt(x * x + y * y), x_speed, y_speed, forward, -cost)
        return StepOutcome(forward - cost, never(), info)
