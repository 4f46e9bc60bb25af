"""Point mass: a ball in a plane should be brought to the middle, by two tendons that need not pull along x and y."""

from __future__ import annotations

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit
from ..locomotion.starts import between
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import little_effort, norm, tolerance
from .suite import Beginning, Look, SuiteEnv

PARALLEL = 0.9
"""Cosine of the angle between the two pulls above which they are too much alike."""


class SuitePointMass(SuiteEnv):
    """dm_control's point_mass, tasks easy and hard.

    Observation: position, velocity, Box [4]. Action: forces along two directions, Box [2] in [-1, 1]. With t for
    `tolerance`, d the distance from the middle and r the target's radius:

        reward = t(d; within r, margin r) (4 + mean t(action; margin 1)) / 5

    Attributes:
        randomize_gains: whether each episode has directions of its own, at angles whose cosine is at most 0.9.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1

    randomize_gains: bool = flag("randomize_gains", False)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the ball and its walls."""
        return suite_model("point_mass")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Puts the ball anywhere, and draws its pulls."""
        place_key, pull_key = jax.random.split(key)
        qpos = randomize_joints(self.model, place_key)
        if not self.randomize_gains:
            return Beginning(qpos)
        # The second direction is uniform where it is not too near the first one or its opposite: on either side of it.
        turn, side, share = between(pull_key, 3, 0.0, 1.0)
        least = math.acos(PARALLEL)
        first = 2.0 * math.pi * turn
        second = first + least + (math.pi - 2.0 * least) * share + jnp.where(side < 0.5, 0.0, math.pi)
        pulls = jnp.stack([jnp.cos(first), jnp.sin(first), jnp.cos(second), jnp.sin(second)])
        return Beginning(qpos, numbers={"wrap_prm": pulls})

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns position and velocity."""
        return {"position": look.physics.qpos, "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards being in the middle, at little effort."""
        away = look.world.geom_xpos("target") - look.world.geom_xpos("pointmass")
        radius = self.radius("target")
        return tolerance(norm(away), (0.0, radius), radius) * little_effort(look.control)
