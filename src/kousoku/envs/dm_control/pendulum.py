"""Pendulum: a pole should be swung up, by a motor too weak to lift it."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import tolerance
from .suite import Beginning, Look, SuiteEnv

UPRIGHT = math.cos(math.radians(8.0))


class SuitePendulum(SuiteEnv):
    """dm_control's pendulum, task swingup.

    Observation: orientation (cosine and sine of the angle from upright), velocity, Box [3]. Action: a torque, Box [1]
    in [-1, 1]. A step gives 1 while the pole is within 8 degrees of upright, else 0. The first angle is any.

    Attributes:
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1

    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the pole."""
        return suite_model("pendulum")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Holds the pole at any angle."""
        return Beginning(randomize_joints(self.model, key))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns where the pole points, and how fast it turns."""
        pole = look.world.xmat("pole")
        return {"orientation": jnp.stack([pole[2, 2], pole[0, 2]]), "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a pole upright."""
        return tolerance(look.world.xmat("pole")[2, 2], (UPRIGHT, 1.0))
