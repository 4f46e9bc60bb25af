"""Humanoid: a person of simple shapes who should stand, walk or run."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit, structural
from .models import suite_model
from .randomizers import draw_without_contact, randomize_joints
from .rewards import little_effort, norm, tolerance
from .suite import Beginning, Look, SuiteEnv

STAND_HEIGHT = 1.4


class SuiteHumanoid(SuiteEnv):
    """dm_control's humanoid, tasks stand, walk, run and run_pure_state.

    Observation: joint_angles, head_height, extremities (left hand, left foot, right hand, right foot, seen from the
    torso), torso_vertical (the world's z axis, seen from the torso), com_velocity, velocity, Box [67]; or position and
    velocity, Box [55]. Action: torques of 21 joints, Box [21] in [-1, 1]. With t for `tolerance`, z the head's height,
    u the cosine of the torso's angle from upright, v the velocity of the centre of mass:

        stand  = t(z; at least 1.4 m, margin 0.35 m) t(u; at least 0.9, margin 1.9) (4 + mean t(action; margin 1)) / 5
        reward = stand (1 + 5 t(|v|; at least move_speed, margin move_speed)) / 6
        reward = stand mean(t(v_x; margin 2), t(v_y; margin 2)),  without a speed

    It begins turned and bent anyhow, such that nothing touches.

    Attributes:
        move_speed: speed that is asked for, in m/s, in any horizontal direction; 0 to stand.
        pure_state: whether positions and velocities are observed as they are.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 5

    move_speed: float = structural("move_speed", 1.0, "it chooses the task", low=0.0)
    pure_state: bool = flag("pure_state", False)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the body."""
        return suite_model("humanoid")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Drops the body in any posture in which nothing touches."""
        return draw_without_contact(self.model, lambda key, _: Beginning(randomize_joints(self.model, key)), key)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns the pure state, or what is seen from the torso."""
        if self.pure_state:
            return {"position": look.physics.qpos, "velocity": look.physics.qvel}
        limbs = [f"{side}_{limb}" for side in ("left", "right") for limb in ("hand", "foot")]
        return seen_from(look, "torso", limbs)

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards standing upright at little effort, and the speed that is asked for."""
        return standing_reward(look, "torso", look.world.xmat("torso")[2, 2], self.move_speed)


def seen_from(look: Look, torso: str, limbs: list[str]) -> dict[str, Float[Array, "..."]]:
    """Returns what a person feels: joints, height of the head, limbs as seen from the torso, and how all moves."""
    turn, where = look.world.xmat(torso), look.world.xpos(torso)
    return {
        "joint_angles": look.physics.qpos[7:],
        "head_height": look.world.xpos("head")[2],
        "extremities": jnp.concatenate([turn.T @ (look.world.xpos(limb) - where) for limb in limbs]),
        "torso_vertical": turn[2],
        "com_velocity": look.world.subtree_linvel(torso),
        "velocity": look.physics.qvel,
    }


def standing_reward(look: Look, torso: str, upright: Float[Array, ""], move_speed: float) -> Float[Array, ""]:
    """Returns what standing upright at little effort is worth, and moving at a speed, or not at all.

    Args:
        look: what there is to see.
        torso: the name of the body whose centre of mass should move.
        upright: the cosine of its angle from upright.
        move_speed: the speed that is asked for, in m/s, in any horizontal direction; 0 to stand.
    """
    standing = tolerance(look.world.xpos("head")[2], (STAND_HEIGHT, math.inf), STAND_HEIGHT / 4.0)
    upright = tolerance(upright, (0.9, math.inf), 1.9, value_at_margin=0.0, sigmoid="linear")
    stand = standing * upright * little_effort(look.control)
    velocity = look.world.subtree_linvel(torso)[:2]
    if move_speed == 0.0:
        return stand * jnp.mean(tolerance(velocity, margin=2.0))
    moving = tolerance(norm(velocity), (move_speed, math.inf), move_speed, value_at_margin=0.0, sigmoid="linear")
    return stand * (5.0 * moving + 1.0) / 6.0
