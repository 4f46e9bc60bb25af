"""Finger: a finger of two links that should flick a spinner on a hinge, or turn it to a target."""

from __future__ import annotations

import math
from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit, structural
from ..locomotion.starts import between
from .models import mark, named, suite_model
from .randomizers import draw_without_contact, randomize_joints
from .rewards import norm
from .suite import Beginning, Look, SuiteEnv

SPIN_SPEED = 15.0
"""Of the spinner, backwards, in rad/s."""
SPIN_DAMPING = 0.03
"""Of the spinner's hinge where it is to be spun, in N m s."""


class SuiteFinger(SuiteEnv):
    """dm_control's finger, tasks spin, turn_easy and turn_hard.

    Observation: position (two angles of the finger; the spinner's tip, from its hinge, x and z), velocity (of three
    hinges), touch (logarithms of one plus the forces on both sides of the fingertip), and to turn it target_position
    (from the hinge, x and z) and dist_to_target (from the tip to the target's surface), Box [9] or [12]. Action:
    torques of two joints, Box [2] in [-1, 1]. A step gives 1 while the spinner turns at 15 rad/s or more in one
    direction, or while its tip is in the target; else 0. All begin at any angle such that nothing touches; so does the
    target.

    Attributes:
        spinning: whether the spinner should spin, or else turn to a target.
        target_radius: radius of the target, in m, where the task is to turn.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 2
    touch_sensors: ClassVar[tuple[str, ...]] = ("touchtop", "touchbottom")
    feels_at_first: ClassVar[bool] = False
    marker: ClassVar[str | None] = "target"

    spinning: bool = flag("spinning", True)
    target_radius: float = structural("target_radius", 0.07, "it chooses the task", low=0.0, open_low=True)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the finger and the spinner."""
        return suite_model("finger", _with_less_damping if self.spinning else self._with_marks)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Turns the joints anywhere, and puts the target round the spinner."""
        joint_key, target_key = jax.random.split(key)
        begin = draw_without_contact(self.model, lambda key, _: Beginning(randomize_joints(self.model, key)), joint_key)
        if self.spinning:
            return begin
        numbers, spinner = self.model.constants, self.model.id("body", "spinner")
        hinge, reach = numbers["body_pos"][spinner], numbers["geom_size"][self.model.id("geom", "cap1")].sum()
        angle = between(target_key, 1, -math.pi, math.pi)[0]
        place = np.float32(reach) * jnp.stack([jnp.sin(angle), jnp.float32(0.0), jnp.cos(angle)])
        return Beginning(begin.qpos, goal=place + jnp.asarray(hinge * [1.0, 0.0, 1.0], jnp.float32))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns where finger, tip and target are, velocities, and what the fingertip feels."""
        parts = {
            "position": jnp.concatenate([look.physics.qpos[:2], _from_hinge(look, look.world.site_xpos("tip"))]),
            "velocity": look.physics.qvel,
            "touch": jnp.log1p(look.felt),
        }
        if self.spinning:
            return parts
        target = {"target_position": _from_hinge(look, look.goal), "dist_to_target": self._distance(look)}
        return parts | target

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a spinner that spins, or whose tip is in the target."""
        qvel = look.physics.qvel
        there = qvel[2] <= -SPIN_SPEED if self.spinning else self._distance(look) <= 0.0
        return there.astype(qvel.dtype)

    def _distance(self, look: Look) -> Float[Array, ""]:
        return norm((look.goal - look.world.site_xpos("tip"))[jnp.array([0, 2])]) - self.target_radius

    def _with_marks(self, root: ElementTree.Element) -> None:
        """Marks the target and the spinner's tip."""
        world = ElementTree.SubElement(root, "worldbody")
        mark(world, named(root, "site", "target"), size=str(self.target_radius))
        mark(named(root, "body", "spinner"), named(root, "site", "tip"))


def _from_hinge(look: Look, point: Float[Array, "3"]) -> Float[Array, "2"]:
    return (point - look.world.xpos("spinner"))[jnp.array([0, 2])]


def _with_less_damping(root: ElementTree.Element) -> None:
    named(root, "joint", "hinge").set("damping", str(SPIN_DAMPING))
