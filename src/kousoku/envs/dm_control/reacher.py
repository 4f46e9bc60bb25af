"""Reacher: a planar arm of two links should hold its finger in a target."""

from __future__ import annotations

import math
from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit, structural
from ..locomotion.starts import between
from .models import named, suite_model
from .randomizers import randomize_joints
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv

HEIGHT = 0.01
"""Of the target's centre, in metres."""


class SuiteReacher(SuiteEnv):
    """dm_control's reacher, tasks easy and hard.

    Observation: position (two angles), to_target (from the finger, x and y), velocity, Box [6]. Action: torques of two
    joints, Box [2] in [-1, 1]. A step gives 1 while the finger touches the target, else 0. The target lies 0.05 m to
    0.2 m from the shoulder, at a uniform distance; the first angles are any.

    Attributes:
        target_size: radius of the target, in m.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1
    marker: ClassVar[str | None] = "target"

    target_size: float = structural("target_size", 0.05, "it chooses the task", low=0.0, open_low=True)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the arm and a target of this size."""
        return suite_model("reacher", self._with_target)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Turns the arm anywhere and puts the target in its reach."""
        arm_key, target_key = jax.random.split(key)
        share, turn = between(target_key, 2, 0.0, 1.0)
        radius, angle = 0.05 + 0.15 * share, 2.0 * math.pi * turn
        goal = jnp.stack([radius * jnp.sin(angle), radius * jnp.cos(angle), jnp.float32(HEIGHT)])
        return Beginning(randomize_joints(self.model, arm_key), goal=goal)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns angles, the way to the target, and velocities."""
        return {"position": look.physics.qpos, "to_target": _to_target(look), "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a finger in the target."""
        return tolerance(norm(_to_target(look)), (0.0, self.target_size + self.radius("finger")))

    def _with_target(self, root: ElementTree.Element) -> None:
        named(root, "geom", "target").set("size", str(self.target_size))


def _to_target(look: Look) -> Float[Array, "2"]:
    return look.goal[:2] - look.world.geom_xpos("finger")[:2]
