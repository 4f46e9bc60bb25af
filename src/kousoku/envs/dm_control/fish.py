"""Fish: a fish in water that should keep upright, or swim to a target."""

from __future__ import annotations

from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import flag, limit
from ..locomotion.starts import between, within
from .models import named, suite_model
from .randomizers import unit
from .rewards import norm, tolerance
from .suite import Beginning, Look, SuiteEnv

JOINTS = ("tail1", "tail_twist", "tail2", "finright_roll", "finright_pitch", "finleft_roll", "finleft_pitch")
BENT = 0.2
"""Of each joint at first, at most, in radians."""


class SuiteFish(SuiteEnv):
    """dm_control's fish, tasks upright and swim.

    Observation: joint_angles (seven), upright (cosine of the torso's angle from upright), target (the way there, in the
    mouth's axes; only to swim), velocity, Box [24] or [21]. Action: angles for five servos, Box [5] in [-1, 1]. With u
    for that cosine, t for `tolerance`, d the distance from mouth to target and r the sum of their radii:

        swim:    reward = (7 t(d; within r, margin 2 r) + (1 + u) / 2) / 8
        upright: reward = t(u; 1, margin 1)

    It begins turned any way and a little bent; the target is uniform in a box of 0.8 m x 0.8 m, 0.1 m to 0.3 m high.

    Attributes:
        swimming: whether it should swim, or else keep upright.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 10
    marker: ClassVar[str | None] = "target"

    swimming: bool = flag("swimming", True)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the fish, and a target if there is one."""
        return suite_model("fish", None if self.swimming else _without_target)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Turns the fish any way, and puts the target somewhere."""
        turn_key, joint_key, target_key = jax.random.split(key, 3)
        root = jnp.asarray(self.model.qpos0[:3], jnp.float32)
        turn = unit(jax.random.normal(turn_key, (4,), jnp.float32))
        x, y, z = between(target_key, 3, 0.0, 1.0)
        goal = jnp.stack([0.8 * x - 0.4, 0.8 * y - 0.4, 0.1 + 0.2 * z])
        return Beginning(jnp.concatenate([root, turn, within(joint_key, len(JOINTS), BENT)]), goal=goal)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns angles, how upright it is, the way to the target, and velocities."""
        target = {"target": _to_target(look)} if self.swimming else {}
        angles = jnp.stack([look.physics.qpos[self._address(joint)] for joint in JOINTS])
        return {"joint_angles": angles, "upright": _upright(look), **target, "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards being at the target or upright."""
        if not self.swimming:
            return tolerance(_upright(look), (1.0, 1.0), 1.0)
        radii = self.radius("mouth") + self.radius("target")
        in_target = tolerance(norm(_to_target(look)), (0.0, radii), 2.0 * radii)
        return (7.0 * in_target + 0.5 * (_upright(look) + 1.0)) / 8.0

    def _address(self, joint: str) -> int:
        return int(self.model.jnt_qposadr[self.model.id("joint", joint)])


def _upright(look: Look) -> Float[Array, ""]:
    return look.world.xmat("torso")[2, 2]


def _to_target(look: Look) -> Float[Array, "3"]:
    return look.world.geom_xmat("mouth").T @ (look.goal - look.world.geom_xpos("mouth"))


def _without_target(root: ElementTree.Element) -> None:
    """Makes the target invisible, as the package does where it means nothing."""
    named(root, "geom", "target").set("rgba", "0 0 0 0")
