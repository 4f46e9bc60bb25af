"""Pusher: an arm of seven joints that should push a cylinder to its goal."""

from __future__ import annotations

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

SPEEDS, NEAREST, LOW, HIGH = 0.005, 0.17, (-0.3, -0.2), (0.0, 0.2)


class PusherInfo(eqx.Module):
    """Parts of a step's reward.

    Attributes:
        reward_dist, reward_ctrl, reward_near: the reward's terms.
        diverged: the environment has blown up.
    """

    reward_dist: Scalar
    reward_ctrl: Scalar
    reward_near: Scalar
    diverged: Flag = eqx.field(default_factory=never)


class PusherPlaces(eqx.Module):
    """Places of the tip, the cylinder and the goal."""

    tip: Float[Array, "3"]
    cylinder: Float[Array, "3"]
    goal: Float[Array, "3"]


class Pusher(Robot):
    """Gymnasium's Pusher-v5.

    Observation: angles and angular velocities of the seven joints, places of the tip, the cylinder and the goal, Box
    [23]. Action: torques, Box [7] in [-2, 2]. Nothing terminates it. The cylinder is uniform in a rectangle beside the
    goal, but not within 0.17 m of it.

        reward = -reward_near_weight |cylinder - tip| - reward_dist_weight |cylinder - goal|
                 - reward_control_weight |action|^2

    Attributes:
        xml_file: the robot, see `files.robot`.
        frame_skip: time steps of the physics in a step.
        reward_near_weight: weight of the distance from the fingertip to the object, in 1/m.
        reward_dist_weight: weight of the distance from the object to the goal, in 1/m.
        reward_control_weight: weight of the cost of commands.
        time_limit: steps until an episode is truncated.
    """

    needs: ClassVar[Mapping[str, int]] = {"nq": 4, "nv": 4}

    xml_file: str = file("pusher_v5.xml")
    frame_skip: int = frames(5)
    reward_near_weight: Number = number("reward_near_weight", 0.5)
    reward_dist_weight: Number = number("reward_dist_weight", 1.0)
    reward_control_weight: Number = number("reward_control_weight", 0.1)
    time_limit: int | None = limit(100)

    def start(self, key: PRNGKeyArray) -> Start:
        """Puts the arm where the model has it, nearly at rest, and the cylinder somewhere beside its goal."""
        speed_key, place_key = jax.random.split(key)
        arm = jnp.asarray(self.model.qpos0[:-4], jnp.float32)
        goal = jnp.zeros((2,), jnp.float32)
        qvel = within(speed_key, self.model.nv - 4, SPEEDS)
        still = jnp.zeros((4,), jnp.float32)
        return Start(jnp.concatenate([arm, beside_the_goal(place_key), goal]), jnp.concatenate([qvel, still]))

    def measure(self, world: World) -> Measured:
        """Reads the places of the tip, the cylinder and the goal."""
        return Measured(PusherPlaces(world.xpos("tips_arm"), world.xpos("object"), world.xpos("goal")))

    def observe(self, physics: State, measured: Measured) -> Float[Array, " n"]:
        """Returns angles, velocities, places."""
        at = measured.now
        return jnp.concatenate([physics.qpos[:7], physics.qvel[:7], at.tip, at.cylinder, at.goal])

    def outcome(self, move: Move) -> StepOutcome:
        """Rewards the cylinder near its goal and the tip near the cylinder, at little effort."""
        at = move.measured.now
        near = -self.reward_near_weight * distance(at.cylinder, at.tip)
        missing = -self.reward_dist_weight * distance(at.cylinder, at.goal)
        effort = -control_cost(move, self.reward_control_weight)
        return StepOutcome(missing + effort + near, never(), PusherInfo(missing, effort, near))


def distance(a: Float[Array, "3"], b: Float[Array, "3"]) -> Scalar:
    """Returns the distance between two points."""
    return jnp.sqrt(jnp.sum((a - b) * (a - b)))


def beside_the_goal(key: PRNGKeyArray) -> Float[Array, "2"]:
    """Draws a uniform place in the rectangle, again while it is too near."""

    def draw(key: PRNGKeyArray) -> tuple[PRNGKeyArray, Float[Array, "2"]]:
        next_key, place_key = jax.random.split(key)
        low, high = jnp.asarray(LOW, jnp.float32), jnp.asarray(HIGH, jnp.float32)
        return next_key, between(place_key, 2, low, high)

    def is_near(drawn: tuple[PRNGKeyArray, Float[Array, "2"]]) -> Flag:
        return jnp.sum(drawn[1] * drawn[1]) <= NEAREST * NEAREST

    return jax.lax.while_loop(is_near, lambda drawn: draw(drawn[0]), draw(key))[1]
