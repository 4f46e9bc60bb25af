"""Ball in cup: a ball on a string that should be swung into the cup it hangs from."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit
from ..locomotion.starts import between
from .models import suite_model
from .randomizers import draw_without_contact
from .suite import Beginning, Look, SuiteEnv


class SuiteBallInCup(SuiteEnv):
    """dm_control's ball_in_cup, task catch.

    Observation: position (of the cup, then of the ball: x, z), velocity, Box [8]. Action: forces on the cup along x and
    z, Box [2] in [-1, 1]. A step gives 1 while the whole ball is in the cup, else 0. The ball begins anywhere within
    0.2 m of the middle and 0.4 m to 0.7 m high, such that nothing touches.

    Attributes:
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 10

    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the cup, and the ball on its string."""
        return suite_model("ball_in_cup")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Puts the ball anywhere about the cup, or in it."""
        slides = [int(self.model.jnt_qposadr[self.model.id("joint", f"ball_{axis}")]) for axis in "xz"]

        def draw(key: PRNGKeyArray, _: object) -> Beginning:
            x, z = between(key, 2, 0.0, 1.0)
            place = jnp.stack([0.4 * x - 0.2, 0.2 + 0.3 * z])
            return Beginning(jnp.asarray(self.model.qpos0, jnp.float32).at[jnp.array(slides)].set(place))

        return draw_without_contact(self.model, draw, key)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns positions and velocities."""
        return {"position": look.physics.qpos, "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards a ball that is in the cup."""
        away = jnp.abs(look.world.site_xpos("target") - look.world.xpos("ball"))
        room = self.model.constants["site_size"][self.model.id("site", "target")] - self.radius("ball")
        return ((away[0] < room[0]) & (away[2] < room[2])).astype(away.dtype)
