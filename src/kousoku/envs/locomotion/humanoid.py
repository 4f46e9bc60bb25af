"""Humanoid: two legs, two arms, and a way to walk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import State
from ..timesteps import never
from .humanoid_body import anatomy, observed, squared
from .options import Number, Span, file, flag, frames, limit, number, span
from .planar import Flag, Scalar, control_cost, inside
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class HumanoidInfo(eqx.Module):
    """Parts of a step's reward, and where the robot is.

    Attributes:
        x_position, y_position: of the torso, in m.
        tendon_length, tendon_velocity: of both tendons between hip and knee.
        distance_from_origin: of the torso, in m.
        x_velocity, y_velocity: of the centre of mass over the step, in m/s.
        reward_survive, reward_forward, reward_ctrl, reward_contact: the reward's terms.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    y_position: Scalar
    tendon_length: Float[Array, " ntendon"]
    tendon_velocity: Float[Array, " ntendon"]
    distance_from_origin: Scalar
    x_velocity: Scalar
    y_velocity: Scalar
    reward_survive: Scalar
    reward_forward: Scalar
    reward_ctrl: Scalar
    reward_contact: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class Humanoid(Robot):
    """Gymnasium's Humanoid-v5.

    Observation: positions without x and y, velocities, inertia and velocity of each body, forces of the actuators, what
    contacts do to each body, Box [348]. Action: torques of 17 joints, Box [17] in [-0.4, 0.4].

        reward = forward_reward_weight x_velocity + healthy_reward healthy
                 - ctrl_cost_weight |action|^2 - clip(contact_cost_weight |contact forces|^2, contact_cost_range)

    It is healthy while its height is in its range; the episode terminates if it is not. The file asks for another
    solver than ours, which stops long before it has solved the problem; ours solves it.

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        forward_reward_weight: weight of the forward speed, in s/m.
        ctrl_cost_weight: weight of the cost of commands.
        contact_cost_weight: weight of the cost of contact forces.
        contact_cost_range: range that the cost of contact forces is cut to.
        healthy_reward: reward of a step that ends healthy.
        terminate_when_unhealthy: whether the episode ends where it is not healthy.
        healthy_z_range: healthy range of the torso's height, in m.
        reset_noise_scale: first positions and velocities are uniform within it.
        exclude_current_positions_from_observation: whether x and y are left out.
        include_cinert_in_observation: whether inertia is observed.
        include_cvel_in_observation: whether bodies' velocities are observed.
        include_qfrc_actuator_in_observation: whether forces of actuators are observed.
        include_cfrc_ext_in_observation: whether contact forces are observed.
        time_limit: steps until an episode is truncated.

    References:
        Tassa, Erez and Todorov, Synthesis and stabilization of complex behaviors through online trajectory
        optimization, IROS (2012).
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 3}

    xml_file: str = file("humanoid.xml")
    frame_skip: int = frames(5)
    forward_reward_weight: Number = number("forward_reward_weight", 1.25)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 0.1)
    contact_cost_weight: Number = number("contact_cost_weight", 5e-7)
    contact_cost_range: Span = span("contact_cost_range", (-math.inf, 10.0))
    healthy_reward: Number = number("healthy_reward", 5.0)
    terminate_when_unhealthy: bool = flag("terminate_when_unhealthy", True)
    healthy_z_range: Span = span("healthy_z_range", (1.0, 2.0))
    reset_noise_scale: Number = number("reset_noise_scale", 1e-2, low=0.0)
    exclude_current_positions_from_observation: bool = flag("exclude_current_positions_from_observation", True)
    include_cinert_in_observation: bool = flag("include_cinert_in_observation", True)
    include_cvel_in_observation: bool = flag("include_cvel_in_observation", True)
    include_qfrc_actuator_in_observation: bool = flag("include_qfrc_actuator_in_observation", True)
    include_cfrc_ext_in_observation: bool = flag("include_cfrc_ext_in_observation", True)
    time_limit: int | None = limit(1000)

    def start(self, key: PRNGKeyArray) -> Start:
        """Takes the model's position with noise."""
        return noisy(self.model, key, self.reset_noise_scale)

    def measure(self, world: World) -> Measured:
        """Reads its anatomy, and where its centre of mass is."""
        return Measured(anatomy(self, world), world.mass_center[:2])

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions, velocities, inertia, forces."""
        return observed(self, physics, measured)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards going forward, on its feet, at little effort."""
        now = move.measured.now
        x, y, height = (move.after.qpos[i] for i in range(3))
        x_speed, y_speed = (move.measured.kept - move.kept) / self.dt
        healthy = inside(height, self.healthy_z_range)
        forward, alive = self.forward_reward_weight * x_speed, jnp.where(healthy, self.healthy_reward, 0.0)
        effort = control_cost(move, self.ctrl_cost_weight)
        impact = jnp.clip(self.contact_cost_weight * squared(now.cfrc_ext), *self.contact_cost_range)
        away = jnp.sqrt(x * x + y * y)
        terms = alive, forward, -effort, -impact
        info = HumanoidInfo(x, y, now.ten_length, now.ten_velocity, away, x_speed, y_speed, *terms)
        terminated = ~healthy if self.terminate_when_unhealthy else never()
        return StepOutcome(forward + alive - (effort + impact), terminated, info)
