"""Hopper: one leg in a plane that should stand or hop."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import little_effort, tolerance
from .suite import Beginning, Look, SuiteEnv

STAND_HEIGHT, HOP_SPEED = 0.6, 2.0


class SuiteHopper(SuiteEnv):
    """dm_control's hopper, tasks stand and hop.

    Observation: position (joints without x), velocity, touch (logarithms of one plus the forces at toe and heel), Box
    [15]. Action: torques of four joints, Box [4] in [-1, 1]. With t for `tolerance`, h the torso's height above the
    foot, v the speed of the centre of mass:

        hop:   reward = t(h; 0.6 m to 2 m) t(v; at least 2 m/s, margin 1 m/s)
        stand: reward = t(h; 0.6 m to 2 m) (4 + mean t(action; margin 1)) / 5

    Joints begin anywhere within their limits, and the trunk at any angle.

    Attributes:
        hopping: whether it should hop, or else stand.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 4
    touch_sensors: ClassVar[tuple[str, ...]] = ("touch_toe", "touch_heel")

    hopping: bool = flag("hopping", True)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the robot."""
        return suite_model("hopper")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Drops the robot in any posture."""
        return Beginning(randomize_joints(self.model, key))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns joints but for x, velocities, and what the foot feels."""
        return {"position": look.physics.qpos[1:], "velocity": look.physics.qvel, "touch": jnp.log1p(look.felt)}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards standing, and hopping forward or little effort."""
        standing = tolerance(look.world.xipos("torso")[2] - look.world.xipos("foot")[2], (STAND_HEIGHT, 2.0))
        if self.hopping:
            speed = look.world.subtree_linvel("torso")[0]
            bounds, margin = (HOP_SPEED, math.inf), HOP_SPEED / 2.0
            return standing * tolerance(speed, bounds, margin, value_at_margin=0.5, sigmoid="linear")
        return standing * little_effort(look.control)
