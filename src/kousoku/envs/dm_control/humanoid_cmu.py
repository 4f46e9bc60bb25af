"""Humanoid of CMU's motion capture: a person with 56 joints who should stand, walk or run."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from ...physics import Model
from ..fields import limit, structural
from .humanoid import seen_from, standing_reward
from .models import suite_model
from .randomizers import draw_without_contact, randomize_joints
from .suite import Beginning, Look, SuiteEnv

LIMBS = ["lhand", "lfoot", "rhand", "rfoot"]


class SuiteHumanoidCMU(SuiteEnv):
    """dm_control's humanoid_CMU, tasks stand, walk and run.

    Observation: joint_angles, head_height, extremities (left hand, left foot, right hand, right foot, seen from the
    thorax), torso_vertical (the world's z axis, seen from the thorax), com_velocity, velocity, Box [137]. Action:
    torques of 56 joints, Box [56] in [-1, 1]. Rewards are those of `SuiteHumanoid`, with the thorax for the torso,
    whose y axis points up. It begins turned and bent anyhow, such that nothing touches.

    Attributes:
        move_speed: speed that is asked for, in m/s, in any horizontal direction; 0 to stand.
        time_limit: steps until an episode is truncated.
    """

    n_sub_steps: ClassVar[int] = 10

    move_speed: float = structural("move_speed", 1.0, "it chooses the task", low=0.0)
    time_limit: int | None = limit(1000)

    def mechanism(self) -> Model:
        """Returns the body."""
        return suite_model("humanoid_CMU")

    def begin(self, key: PRNGKeyArray) -> Beginning:
        """Drops the body in any posture in which nothing touches."""
        return draw_without_contact(self.model, lambda key, _: Beginning(randomize_joints(self.model, key)), key)

    def observe(self, look: Look) -> dict[str, Float[Array, "..."]]:
        """Returns what is seen from the thorax."""
        return seen_from(look, "thorax", LIMBS)

    def reward(self, look: Look) -> Float[Array, ""]:
        """Rewards standing upright at little effort, and the speed that is asked for."""
        return standing_reward(look, "thorax", look.world.xmat("thorax")[2, 1], self.move_speed)
