"""Ant: four legs that should walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .options import Number, Span, body, check_body, file, flag, frames, limit, number, span
from .planar import Flag, Scalar, control_cost
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class AntInfo(eqx.Module):
    """Parts of a step's reward, and where the robot is.

    Attributes:
        x_position, y_position: of the torso, in m.
        distance_from_origin: of the torso, in m.
        x_velocity, y_velocity: of the main body over the step, in m/s.
        reward_forward, reward_ctrl, reward_contact, reward_survive: the reward's terms.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    y_position: Scalar
    distance_from_origin: Scalar
    x_velocity: Scalar
    y_velocity: Scalar
    reward_forward: Scalar
    reward_ctrl: Scalar
    reward_contact: Scalar
    reward_survive: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class Ant(Robot):
    """Gymnasium's Ant-v5.

    Observation: positions without x and y, velocities, what contacts do to each body (torque and force, cut), Box
    [105]. Action: torques of eight joints, Box [8] in [-1, 1].

        reward = forward_reward_weight x_velocity + healthy_reward healthy
                 - ctrl_cost_weight |action|^2 - contact_cost_weight |contact forces, cut|^2

    It is healthy while its height is in its range; the episode terminates if it is not.

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        forward_reward_weight: weight of the forward speed, in s/m.
        ctrl_cost_weight: weight of the cost of commands.
        contact_cost_weight: weight of the cost of contact forces.
        healthy_reward: reward of a step that ends healthy.
        main_body: the body that should move forward, by number or name.
        terminate_when_unhealthy: whether the episode ends where it is not healthy.
        healthy_z_range: healthy range of the torso's height, in m.
        contact_force_range: range that contact forces are cut to, in N and N m.
        reset_noise_scale: first positions are uniform within it, first velocities normal with this standard deviation.
        exclude_current_positions_from_observation: whether x and y are left out.
        include_cfrc_ext_in_observation: whether contact forces are observed.
        time_limit: steps until an episode is truncated.

    References:
        Schulman, Moritz, Levine, Jordan and Abbeel, High-dimensional continuous control using generalized advantage
        estimation (2016), arXiv:1506.02438.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 3}

    xml_file: str = file("ant.xml")
    frame_skip: int = frames(5)
    forward_reward_weight: Number = number("forward_reward_weight", 1.0)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 0.5)
    contact_cost_weight: Number = number("contact_cost_weight", 5e-4)
    healthy_reward: Number = number("healthy_reward", 1.0)
    main_body: int | str = body("main_body", 1)
    terminate_when_unhealthy: bool = flag("terminate_when_unhealthy", True)
    healthy_z_range: Span = span("healthy_z_range", (0.2, 1.0))
    contact_force_range: Span = span("contact_force_range", (-1.0, 1.0))
    reset_noise_scale: Number = number("reset_noise_scale", 0.1, low=0.0)
    exclude_current_positions_from_observation: bool = flag("exclude_current_positions_from_observation", True)
    include_cfrc_ext_in_observation: bool = flag("include_cfrc_ext_in_observation", True)
    time_limit: int | None = limit(1000)

    def __check_init__(self) -> None:
        check_body("main_body", self.model, self.main_body)

    def start(self, key: PRNGKeyArray) -> Start:
        """Takes the model's position with noise."""
        return noisy(self.model, key, self.reset_noise_scale, speeds="normal")

    def measure(self, world: World) -> Measured:
        """Reads contact forces, cut, and where the main body is."""
        return Measured(jnp.clip(world.cfrc_ext, *self.contact_force_range), world.xpos(self.main_body)[:2])

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions, velocities, contact forces."""
        skipped = 2 if self.exclude_current_positions_from_observation else 0
        forces = [measured.now[1:].reshape(-1)] if self.include_cfrc_ext_in_observation else []
        return jnp.concatenate([physics.qpos[skipped:], physics.qvel, *forces])

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards going forward, on its feet, at little effort."""
        x, y, height = (move.after.qpos[i] for i in range(3))
        x_speed, y_speed = (move.measured.kept - move.kept) / self.dt
        healthy = (self.healthy_z_range[0] <= height) & (height <= self.healthy_z_range[1])
        forward, alive = self.forward_reward_weight * x_speed, jnp.where(healthy, self.healthy_reward, 0.0)
        effort = control_cost(move, self.ctrl_cost_weight)
        impact = self.contact_cost_weight * jnp.sum(move.measured.now * move.measured.now)
        info = AntInfo(x, y, jnp.sqrt(x * x + y * y), x_speed, y_speed, forward, -effort, -impact, alive)
        terminated = ~healthy if self.terminate_when_unhealthy else never()
        return StepOutcome(forward + alive - (effort + impact), terminated, info)
