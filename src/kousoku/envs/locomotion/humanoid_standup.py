"""HumanoidStandup: the humanoid lies on its back and should stand up."""

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
from .planar import Flag, Scalar, control_cost
from .robot import Measured, Move, Robot, Start, StepOutcome
from .starts import noisy
from .world import World


class HumanoidStandupInfo(eqx.Module):
    """Parts of a step's reward, and where the robot is.

    Attributes:
        x_position, y_position: of the torso, in m.
        z_distance_from_origin: its height above that of the model, in m.
        tendon_length, tendon_velocity: of both tendons between hip and knee.
        reward_linup, reward_quadctrl, reward_impact: the reward's terms; the fourth is 1.
        diverged: the environment has blown up.
    """

    x_position: Scalar
    y_position: Scalar
    z_distance_from_origin: Scalar
    tendon_length: Float[Array, " ntendon"]
    tendon_velocity: Float[Array, " ntendon"]
    reward_linup: Scalar
    reward_quadctrl: Scalar
    reward_impact: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class HumanoidStandup(Robot):
    """Gymnasium's HumanoidStandup-v5.

    Observation and action are the humanoid's, Box [348] and Box [17] in [-0.4, 0.4]. Nothing terminates it. With z the
    height of the torso and h the physics' time step:

        reward = z / h + 1 - ctrl_cost_weight |action|^2
                 - clip(impact_cost_weight |contact forces|^2, impact_cost_range)

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        uph_cost_weight: taken and not used, as in Gymnasium.
        ctrl_cost_weight: weight of the cost of commands.
        impact_cost_weight: weight of the cost of contact forces.
        impact_cost_range: range that the cost of contact forces is cut to.
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

    xml_file: str = file("humanoidstandup.xml")
    frame_skip: int = frames(5)
    uph_cost_weight: Number = number("uph_cost_weight", 1.0)
    ctrl_cost_weight: Number = number("ctrl_cost_weight", 0.1)
    impact_cost_weight: Number = number("impact_cost_weight", 0.5e-6)
    impact_cost_range: Span = span("impact_cost_range", (-math.inf, 10.0))
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
        """Reads its anatomy."""
        return Measured(anatomy(self, world))

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns positions, velocities, inertia, forces."""
        return observed(self, physics, measured)

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards height, at little effort."""
        now = move.measured.now
        x, y, height = (move.after.qpos[i] for i in range(3))
        up, effort = height / self.model.timestep, control_cost(move, self.ctrl_cost_weight)
        impact = jnp.clip(self.impact_cost_weight * squared(now.cfrc_ext), *self.impact_cost_range)
        rise = height - self.model.constants["qpos0"][2].item()
        info = HumanoidStandupInfo(x, y, rise, now.ten_length, now.ten_velocity, up, -effort, -impact)
        return StepOutcome(up - effort - impact + 1.0, never(), info)
