"""Walker2d: two legs in a plane that should walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from .options import Number, Span, file, flag, frames, limit, number, span
from .planar import FASTEST, inside, joints_but, walked
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class Walker2d(Robot):
    """Gymnasium's Walker2d-v5.

    Observation: positions without x, velocities cut at 10, Box [17]. Action: torques of six joints, Box [6] in [-1, 1].

        reward = forward_reward_weight x_velocity + healthy_reward healthy - ctrl_cost_weight |action|^2

    It is healthy while its height and its angle are in their ranges; the episode terminates if it is not.

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        forward_reward_weight: weight of the forward speed, in s/m.
        ctrl_cost_weight: weight of the cost of commands.
        healthy_reward: reward of a step that ends healthy.
        terminate_when_unhealthy: whether the episode ends where it is not healthy.
        healthy_z_range: healthy range of the height, in m.
        healthy_angle_range: healthy range of the trunk's angle, in rad.
        reset_noise_scale: first positions and velocities are uniform within it.
        exclude_current_positions_from_observation: whether x is left out.
        time_limit: steps until an episode is truncated.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 3}

    xml_file: str = file("walker2d_v5.xml")
    frame_skip: int = frames(4)
    forward_reward_weight: Number = number("forward_reward_weight", 1.0)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 1e-3)
    healthy_reward: Number = number("healthy_reward", 1.0)
    terminate_when_unhealthy: bool = flag("terminate_when_unhealthy", True)
    healthy_z_range: Span = span("healthy_z_range", (0.8, 2.0))
    healthy_angle_range: Span = span("healthy_angle_range", (-1.0, 1.0))
    reset_noise_scale: Number = number("reset_noise_scale", 5e-3, low=0.0)
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
        return joints_but(physics, int(self.exclude_current_positions_from_observation), FASTEST)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards going forward, upright, at little effort."""
        _, height, angle = (move.after.qpos[i] for i in range(3))
        return walked(self, move, inside(height, self.healthy_z_range) & inside(angle, self.healthy_angle_range))
