"""HalfCheetah: two legs in a plane that should run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, file, flag, frames, limit, number
from .planar import Flag, Scalar, control_cost, joints_but, x_velocity
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class HalfCheetahInfo(eqx.Module):
    """Parts of a step's reward, and where the robot is.

    Attributes:
        x_position: of the trunk, in m.
        x_velocity: over the step, in m/s.
        reward_forward, reward_ctrl: the reward's terms.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    x_velocity: Scalar
    reward_forward: Scalar
    reward_ctrl: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class HalfCheetah(Robot):
    """Gymnasium's HalfCheetah-v5.

    Observation: positions without x, velocities, Box [17]. Action: torques of six joints, Box [6] in [-1, 1]. Nothing
    terminates it.

        reward = forward_reward_weight x_velocity - ctrl_cost_weight |action|^2

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        forward_reward_weight: weight of the forward speed, in s/m.
        ctrl_cost_weight: weight of the cost of commands.
        reset_noise_scale: first positions are uniform within it, first velocities normal with this standard deviation.
        exclude_current_positions_from_observation: whether x is left out.
        time_limit: steps until an episode is truncated.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 1}

    xml_file: str = file("half_cheetah.xml")
    frame_skip: int = frames(5)
    forward_reward_weight: Number = number("forward_reward_weight", 1.0)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 0.1)
    reset_noise_scale: Number = number("reset_noise_scale", 0.1, low=0.0)
    exclude_current_positions_from_observation: bool = flag("exclude_current_positions_from_observation", True)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Takes the model's position with noise."""
        return noisy(self.model, key, self.reset_noise_scale, speeds="normal")

    def measure(self, world: World) -> Measured:
        """Reads nothing."""
        return Measured()

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions and velocities."""
        return joints_but(physics, int(self.exclude_current_positions_from_observation))

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards going forward, at little effort."""
        speed = x_velocity(move, self.dt)
        forward, cost = self.forward_reward_weight * speed, control_cost(move, self.ctrl_cost_weight)
        return StepOutcome(forward - cost, never(), HalfCheetahInfo(move.after.qpos[0], speed, forward, -cost))
