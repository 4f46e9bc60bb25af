"""Manipulator: an arm in a plane that should bring a ball or a peg to a target, or put it into a cup or a slot."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit
from ..locomotion.robot import at_rest
from ..locomotion.starts import between
from ..locomotion.world import Still, World
from .arm import SuiteArm, addresses, bent_anyhow, distance, is_close, planar_pose
from .models import suite_model, without
from .suite import Beginning, Look

IN_HAND = 0.1
IN_TARGET = 0.1
"""How often an episode begins with the object in the hand, and how often at the target."""
PROPS = {"ball", "target_ball", "cup", "peg", "target_peg", "slot"}


class SuiteManipulator(SuiteArm):
    """dm_control's manipulator, tasks bring_ball, bring_peg, insert_ball and insert_peg.

    Observation: arm_pos (sine and cosine of eight joints), arm_vel, touch (log1p of five sensors), hand_pos, object_pos
    (x, z, and w and y of the quaternion), object_vel, target_pos, Box [44]. Action: torques of root, shoulder, elbow,
    wrist and grasp, Box [5] in [-1, 1]. With c for a closeness that is 1 within 1 cm and 0.1 at 3 cm:

        ball: reward = c(ball to target)
        peg:  reward = max((c(peg to target) + c(tip to target's tip)) / 2, (c(grasp) + c(pinch)) / 6)

    The target lies anywhere in 0.8 m x 0.3 m; to insert, a cup or a slot is around it, turned by at most 60 degrees.
    The object begins anywhere at up to 5 m/s, or in the hand, or at the target, with probabilities 0.8, 0.1 and 0.1,
    until nothing touches; as in the package, what is drawn anew keeps the speed of the draw before.

    Attributes:
        use_peg: whether the object is a peg, or else a ball.
        insert: whether the object is to be put into a cup or a slot.
        time_limit: steps until an episode is truncated.
    """

    use_peg: bool = flag("use_peg", False)
    insert: bool = flag("insert", False)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the arm and the things of this task."""
        return suite_model("manipulator", self._with_props)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns what the arm feels, and where the hand, the object and the target are."""
        return {
            **self.felt(look),
            "hand_pos": planar_pose(look.world, "hand"),
            "object_pos": planar_pose(look.world, self._object),
            "object_vel": self.velocities(look, self._object_joints),
            "target_pos": planar_pose(look.world, self._target),
        }

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards an object that is at the target, and a peg that is held."""
        world = look.world
        if not self.use_peg:
            return is_close(distance(world, "ball", "target_ball"))
        held = is_close(distance(world, "peg_grasp", "grasp")) + is_close(distance(world, "peg_pinch", "pinch"))
        there = is_close(distance(world, "peg", "target_peg")) + is_close(distance(world, "target_peg_tip", "peg_tip"))
        return jnp.maximum(there / 2.0, held / 6.0)

    @property
    def _object(self) -> str:
        return "peg" if self.use_peg else "ball"

    @property
    def _target(self) -> str:
        return f"target_{self._object}"

    @property
    def _receptacle(self) -> str:
        return "slot" if self.use_peg else "cup"

    @property
    def _object_joints(self) -> tuple[str, ...]:
        return tuple(f"{self._object}_{axis}" for axis in "xzy")

    def _with_props(self, root: ElementTree.Element) -> None:
        kept = {self._object, self._target} | ({self._receptacle} if self.insert else set())
        without(root, "body", PROPS - kept)

    def drawn(self, key: PRNGKeyArray, before: Float[Array, " nv"] | None) -> Beginning:
        """Draws arm, object, target and what is around it."""
        arm_key, target_key, kind_key, object_key, speed_key = jax.random.split(key, 5)
        qpos = bent_anyhow(self.model, arm_key)
        widest = math.pi / 3.0 if self.insert else math.pi
        low = jnp.array([-0.4, 0.1, -widest], jnp.float32)
        target = between(target_key, 3, low, jnp.array([0.4, 0.4, widest], jnp.float32))
        (kind,) = between(kind_key, 1, 0.0, 1.0)
        low = jnp.array([-0.5, 0.0, 0.0], jnp.float32)
        anywhere = between(object_key, 3, low, jnp.array([0.5, 0.7, 2.0 * math.pi], jnp.float32))
        in_hand, placed = kind < IN_HAND, kind < IN_HAND + IN_TARGET
        place = jnp.where(in_hand, self._in_hand(qpos), jnp.where(placed, target, anywhere))

        qvel = jnp.zeros((self.model.nv,), jnp.float32) if before is None else before
        where = addresses(self.model, self._object_joints)
        (speed,) = between(speed_key, 1, -5.0, 5.0)
        x = where[0]
        qvel = qvel.at[x].set(jnp.where(placed, qvel[x], speed))
        return Beginning(qpos.at[jnp.asarray(where)].set(place), qvel, numbers=self._placed(target))

    def _in_hand(self, qpos: Float[Array, " nq"]) -> Float[Array, "3"]:
        """Returns x, z and the angle of an object that the hand could grasp."""
        still = Still(self.model, at_rest(self.model, qpos, jnp.zeros((self.model.nv,), jnp.float32)))
        world = World(self.model, still, jnp.float32)
        pos, along = world.site_xpos("grasp"), world.site_xmat("grasp")[:, 0]
        return jnp.stack([pos[0], pos[2], math.pi - jnp.arctan2(along[2], along[0])])

    def _placed(self, place: Float[Array, "3"]) -> dict[str, Any]:
        """Returns the model's numbers where the target, and what is around it, are at x, z and an angle."""
        x, z, half = place[0], place[1], 0.5 * place[2]
        zero, bodies = jnp.zeros_like(x), [self._target] + [self._receptacle] * self.insert
        turn = jnp.stack([jnp.cos(half), zero, jnp.sin(half), zero])
        numbers = [self.model.id("body", body) for body in bodies]
        depth = {number: jnp.float32(self.model.constants["body_pos"][number, 1]) for number in numbers}
        return {
            "body_pos": {number: jnp.stack([x, depth[number], z]) for number in numbers},
            "body_quat": dict.fromkeys(numbers, turn),
        }
