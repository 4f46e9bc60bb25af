"""The planar arm of manipulator and stacker: four joints, and a hand with thumb and finger."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..locomotion.starts import between
from ..locomotion.world import World
from .randomizers import draw_without_contact
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv

JOINTS = ("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip")
CLOSE = 0.01
"""The distance in metres below which something is close."""


class SuiteArm(SuiteEnv):
    """A task of the planar arm, which moves in the plane of x and z."""

    n_sub_steps: ClassVar[int] = 10
    touch_sensors: ClassVar[tuple[str, ...]] = (
        "palm_touch",
        "finger_touch",
        "thumb_touch",
        "fingertip_touch",
        "thumbtip_touch",
    )
    feels_at_first: ClassVar[bool] = False

    @abstractmethod
    def drawn(self, key: PRNGKeyArray, before: Float[Array, " nv"] | None) -> Beginning:
        """Draws how an episode may begin, and perhaps does not: things may touch.

        Args:
            key: of this draw.
            before: the velocities of the draw before, None at first.
        """

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Bends the arm anyhow, and puts all things somewhere such that nothing touches."""
        return draw_without_contact(self.model, self.drawn, key)

    def felt(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns what the arm knows of itself: sine and cosine of each joint, velocities, and what it touches."""
        angles = self.positions(look, JOINTS)
        return {
            "arm_pos": jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=1),
            "arm_vel": self.velocities(look, JOINTS),
            "touch": jnp.log1p(look.felt),
        }

    def positions(self, look: Look, joints: Iterable[str]) -> Float[Array, " n"]:
        """Returns positions of slides and hinges."""
        return look.physics.qpos[jnp.asarray(addresses(self.model, joints))]

    def velocities(self, look: Look, joints: Iterable[str]) -> Float[Array, " n"]:
        """Returns velocities of slides and hinges."""
        return look.physics.qvel[jnp.asarray(addresses(self.model, joints))]


def addresses(model: Model, joints: Iterable[str]) -> list[int]:
    """Returns where slides and hinges are among positions, and among velocities: these models have no other joints."""
    return [int(model.jnt_qposadr[model.id("joint", joint)]) for joint in joints]


def bent_anyhow(model: Model, key: PRNGKeyArray) -> Float[Array, " nq"]:
    """Draws the joints of the arm within their limits, its root at any angle, finger and thumb alike."""
    numbers = [model.id("joint", joint) for joint in JOINTS]
    limited = model.jnt_limited[numbers].astype(bool)[:, None]
    low, high = np.where(limited, model.jnt_range[numbers], [-math.pi, math.pi]).astype(np.float32).T
    angles = between(key, len(JOINTS), jnp.asarray(low), jnp.asarray(high))
    angles = angles.at[JOINTS.index("finger")].set(angles[JOINTS.index("thumb")])
    return jnp.asarray(model.qpos0, jnp.float32).at[jnp.asarray(addresses(model, JOINTS))].set(angles)


def planar_pose(world: World, body: str) -> Float[Array, "4"]:
    """Returns where a body is, x and z, and how it is turned: w and y of its quaternion."""
    pos, quat = world.xpos(body), world.xquat(body)
    return jnp.stack([pos[0], pos[2], quat[0], quat[2]])


def distance(world: World, site: str, other: str) -> Float[Array, ""]:
    """Returns the metres between two sites."""
    return norm(world.site_xpos(site) - world.site_xpos(other))


def is_close(distance: Float[Array, ""]) -> Float[Array, ""]:
    """Returns 1 within a centimetre, and less the further away."""
    return tolerance(distance, (0.0, CLOSE), 2.0 * CLOSE)
