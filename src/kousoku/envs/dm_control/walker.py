"""Walker: two legs in a plane that should stand, walk or run."""

from __future__ import annotations

import math
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit, structural
from .models import suite_model
from .randomizers import randomize_joints
from .rewards import tolerance
from .suite import Beginning, Look, SuiteEnv

STAND_HEIGHT = 1.2


class SuiteWalker(SuiteEnv):
    """dm_control's walker, tasks stand, walk and run.

    Observation: orientations (of seven bodies, cosine and sine), height (of the torso), velocity, Box [24]. Action:
    torques of six joints, Box [6] in [-1, 1]. With t for `tolerance`, z the torso's height, u the cosine of its angle
    from upright, v the speed of the centre of mass:

        stand  = (3 t(z; at least 1.2 m, margin 0.6 m) + (1 + u) / 2) / 4
        reward = stand (1 + 5 t(v; at least move_speed, margin move_speed / 2)) / 6,  or stand without a speed

    Joints begin anywhere within their limits, and the trunk at any angle.

    Attributes:
        move_speed: speed that is asked for, in m/s; 0 to stand.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 10

    move_speed: float = structural("move_speed", 1.0, "it chooses the task", low=0.0)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the robot."""
        return suite_model("walker")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Drops the robot in any posture."""
        return Beginning(randomize_joints(self.model, key))

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns how bodies are turned, the torso's height, and velocities."""
        turns = [look.world.xmat(body)[0] for body in range(1, self.model.nbody)]
        orientations = jnp.stack([part for turn in turns for part in (turn[0], turn[2])])
        return {"orientations": orientations, "height": look.world.xpos("torso")[2], "velocity": look.physics.qvel}

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards standing upright, and the speed that is asked for."""
        standing = tolerance(look.world.xpos("torso")[2], (STAND_HEIGHT, math.inf), STAND_HEIGHT / 2.0)
        upright = (1.0 + look.world.xmat("torso")[2, 2]) / 2.0
        stand_reward = (3.0 * standing + upright) / 4.0
        if self.move_speed == 0.0:
            return stand_reward
        speed, least = look.world.subtree_linvel("torso")[0], self.move_speed
        moving = tolerance(speed, (least, math.inf), least / 2.0, value_at_margin=0.5, sigmoid="linear")
        return stand_reward * (5.0 * moving + 1.0) / 6.0
