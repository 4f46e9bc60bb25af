"""Acrobot: two links, moved by their elbow alone, should stand on end."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv


class SuiteAcrobot(SuiteEnv):
    """dm_control's acrobot, tasks swingup and swingup_sparse.

    Observation: orientations (sines, then cosines of both links' angles from upright), velocity, Box [6]. Action: the
    elbow's torque, Box [1] in [-1, 1]. A step gives 1 while the tip is within the target above, and less the further
    away it is; 0 there if `sparse`. The first angles are any.

    Attributes:
        sparse: whether the reward is sparse: 1 near the goal, 0 elsewhere.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1

    sparse: bool = flag("sparse", False)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the two links."""
        return suite_model("acrobot")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Holds the links at any angles."""
        return Beginning(randomize_joints(self.model, key))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns where the links point, and velocities."""
        upper, lower = look.world.xmat("upper_arm"), look.world.xmat("lower_arm")
        orientations = jnp.stack([upper[0, 2], lower[0, 2], upper[2, 2], lower[2, 2]])
        return {"orientations": orientations, "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a tip near the target."""
        away = look.world.site_xpos("target") - look.world.site_xpos("tip")
        radius = float(self.model.constants["site_size"][self.model.id("site", "target"), 0])
        return tolerance(norm(away), (0.0, radius), 0.0 if self.sparse else 1.0)
