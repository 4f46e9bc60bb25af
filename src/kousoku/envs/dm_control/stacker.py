"""Stacker: an arm in a plane that should stack boxes up to a target."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import count, limit
from ..locomotion.starts import between
from .arm import CLOSE, SuiteArm, addresses, bent_anyhow, distance, planar_pose
from .models import suite_model, without
from .rewards import tolerance
from .suite import Beginning, Look

MOST = 4
"""Boxes in the file."""


class SuiteStacker(SuiteArm):
    """dm_control's stacker, tasks stack_2 and stack_4.

    Observation: arm_pos (sine and cosine of eight joints), arm_vel, touch (log1p of five sensors), hand_pos, box_pos
    (of each box x, z, and w and y of the quaternion), box_vel (of each box along x, about y, along z), target_pos (x
    and z), Box [35 + 7 num_boxes]. Action: torques of root, shoulder, elbow, wrist and grasp, Box [5] in [-1, 1]. With
    t for `tolerance`, d the distance from the target to the nearest box, s half of a box's width:

        reward = t(d; margin 2 s) t(hand to target; at least 0.1 m, margin 0.01 m)

    The target is where the middle of the first, second, ... box of a stack would be. Boxes begin in the air, such that
    nothing touches.

    Attributes:
        num_boxes: how many boxes, 1 to 4.
        time_limit: steps until an episode is truncated.
    """

    num_boxes: int = count("num_boxes", 2, low=1, high=MOST)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the arm and as many boxes."""
        return suite_model("stacker", self._with_boxes)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns what the arm feels, and where the hand, the boxes and the target are."""
        target = look.world.xpos("target")
        return {
            **self.felt(look),
            "hand_pos": planar_pose(look.world, "hand"),
            "box_pos": jnp.stack([planar_pose(look.world, box) for box in self._boxes]),
            "box_vel": self.velocities(look, [f"{box}_{axis}" for box in self._boxes for axis in "xyz"]),
            "target_pos": jnp.stack([target[0], target[2]]),
        }

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a box at the target, and a hand that has left it."""
        nearest = jnp.min(jnp.stack([distance(look.world, box, "target") for box in self._boxes]))
        away = tolerance(distance(look.world, "grasp", "target"), (0.1, math.inf), CLOSE)
        return tolerance(nearest, margin=2.0 * self._half_width) * away

    @property
    def _boxes(self) -> list[str]:
        return [f"box{i}" for i in range(self.num_boxes)]

    @property
    def _half_width(self) -> float:
        return self.radius("target")

    def _with_boxes(self, root: ElementTree.Element) -> None:
        without(root, "body", [f"box{i}" for i in range(self.num_boxes, MOST)])

    def drawn(self, key: PRNGKeyArray, before: Float[Array, " nv"] | None) -> Beginning:
        """Draws arm, boxes and target."""
        arm_key, box_key, target_key = jax.random.split(key, 3)
        where = addresses(self.model, [f"{box}_{axis}" for box in self._boxes for axis in "xzy"])
        low = jnp.tile(jnp.array([0.1, 0.0, 0.0], jnp.float32), self.num_boxes)
        high = jnp.tile(jnp.array([0.3, 0.7, 2.0 * math.pi], jnp.float32), self.num_boxes)
        qpos = bent_anyhow(self.model, arm_key).at[jnp.asarray(where)].set(between(box_key, len(where), low, high))

        side, level = between(target_key, 2, 0.0, 1.0)
        below = jnp.minimum(jnp.floor(self.num_boxes * level), self.num_boxes - 1.0)
        number = self.model.id("body", "target")
        depth = jnp.float32(self.model.constants["body_pos"][number, 1])
        target = jnp.stack([0.37 * (2.0 * side - 1.0), depth, self._half_width * (2.0 * below + 1.0)])
        return Beginning(qpos, numbers={"body_pos": {number: target}})
