"""Cartpole: poles on a cart should be balanced, or swung up first."""

from __future__ import annotations

import math
from typing import ClassVar
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import count, flag, limit
from ..locomotion.starts import between
from .models import named, suite_model
from .rewards import little_effort, tolerance
from .suite import Beginning, Look, SuiteEnv


class SuiteCartpole(SuiteEnv):
    """dm_control's cartpole, tasks balance, swingup, both with sparse rewards, two_poles and three_poles.

    Observation: position (of the cart, then each pole's cosine and sine of its angle from upright), velocity, Box
    [2 + 3 num_poles]. Action: the force on the cart, Box [1] in [-1, 1]. With x the cart's position, a the poles'
    angles and t for `tolerance`:

        reward = mean((1 + cos a) / 2) (1 + t(x; margin 2)) / 2 (4 + t(action; margin 1)) / 5
                 (1 + min t(a'; margin 5)) / 2
        sparse: 1 where |x| <= 0.25 and all cos a >= 0.995, else 0

    Attributes:
        swing_up: whether the first pole hangs down at first, in the middle; else all are near upright.
        sparse: whether the reward is sparse: 1 near the goal, 0 elsewhere.
        num_poles: how many poles, one on the other.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 1

    swing_up: bool = flag("swing_up", True)
    sparse: bool = flag("sparse", False)
    num_poles: int = count("num_poles", 1, high=10)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the cart and its poles."""
        return suite_model("cartpole", self._with_poles)

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Lets the poles hang or stand, with noise."""
        cart_key, pole_key, speed_key = jax.random.split(key, 3)
        qvel = 0.01 * jax.random.normal(speed_key, (self.model.nv,), jnp.float32)
        if not self.swing_up:
            x, angles = between(cart_key, 1, -0.1, 0.1), between(pole_key, self.num_poles, -0.034, 0.034)
            return Beginning(jnp.concatenate([x, angles]), qvel)
        x = 0.01 * jax.random.normal(cart_key, (1,), jnp.float32)
        first, *others = jax.random.normal(pole_key, (self.num_poles,), jnp.float32)
        angles = jnp.stack([math.pi + 0.01 * first, *(0.1 * other for other in others)])
        return Beginning(jnp.concatenate([x, angles]), qvel)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns the cart's position, the poles' directions, and velocities."""
        poles = [part for pole in self._poles(look) for part in (pole[2, 2], pole[0, 2])]
        return {"position": jnp.stack([look.physics.qpos[0], *poles]), "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards poles upright."""
        x, cosines = look.physics.qpos[0], jnp.stack([pole[2, 2] for pole in self._poles(look)])
        if self.sparse:
            return tolerance(x, (-0.25, 0.25)) * jnp.prod(tolerance(cosines, (0.995, 1.0)))
        upright = jnp.mean((cosines + 1.0) / 2.0)
        centered = (1.0 + tolerance(x, margin=2.0)) / 2.0
        small_velocity = (1.0 + jnp.min(tolerance(look.physics.qvel[1:], margin=5.0))) / 2.0
        return upright * little_effort(look.control) * small_velocity * centered

    def _poles(self, look: Look) -> list[Float[Array, "3 3"]]:
        return [look.world.xmat(f"pole_{i + 1}") for i in range(self.num_poles)]

    def _with_poles(self, root: ElementTree.Element) -> None:
        """Puts poles on the first one, and the floor lower."""
        parent = named(root, "body", "pole_1")
        for i in range(2, self.num_poles + 1):
            parent = ElementTree.SubElement(parent, "body", name=f"pole_{i}", pos="0 0 1", childclass="pole")
            ElementTree.SubElement(parent, "joint", name=f"hinge_{i}")
            ElementTree.SubElement(parent, "geom", name=f"pole_{i}")
        if self.num_poles > 1:
            named(root, "geom", "floor").set("pos", f"0 0 {1 - self.num_poles - 0.05}")
