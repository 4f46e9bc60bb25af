"""Cheetah: two legs in a plane that should run."""

from __future__ import annotations

import math
from typing import ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import tolerance
from .suite import Beginning, Look, SuiteEnv

RUN_SPEED = 10.0


class SuiteCheetah(SuiteEnv):
    """dm_control's cheetah, task run.

    Observation: position (joints without x), velocity, Box [17]. Action: torques of six joints, Box [6] in [-1, 1]. A
    step gives the speed of the centre of mass as a part of 10 m/s, within 0 and 1. Limited joints begin anywhere, and
    have 200 time steps of the physics to settle.

    Attributes:
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1
    settling_steps: ClassVar[int] = 200

    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the robot."""
        return suite_model("cheetah")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Bends limited joints anyhow; the trunk stays level, as its hinge has no limits."""
        qpos = randomize_joints(self.model, key)
        trunk = int(self.model.jnt_qposadr[self.model.id("joint", "rooty")])
        return Beginning(qpos.at[trunk].set(0.0))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns joints but for x, and velocities."""
        return {"position": look.physics.qpos[1:], "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards speed."""
        speed = look.world.subtree_linvel("torso")[0]
        return tolerance(speed, (RUN_SPEED, math.inf), RUN_SPEED, value_at_margin=0.0, sigmoid="linear")
