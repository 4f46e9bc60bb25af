"""A time limit: fewer steps in an episode than an environment has by itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Int

from ...core.errors import check_count
from ...core.model import TabularModel
from ...core.panel import Panel
from ...core.spaces import LARGEST
from ...core.wrapper import Wrapper
from .base import model_of, panels_of


class TimeLimit(Wrapper):
    """Another limit of an episode's steps, as Gymnasium's TimeLimit; the smaller one counts where both have one.

    A step that reaches it is truncated, by the loops that apply time limits, and never terminated.

    Attributes:
        max_episode_steps: steps after which an episode is truncated.

    Examples:
        >>> import kousoku as ks
        >>> TimeLimit(ks.make("CartPole-v1"), 50).time_limit, TimeLimit(ks.make("CartPole-v1"), 900).time_limit
        (50, 500)
    """

    max_episode_steps: int = eqx.field(static=True, converter=partial(check_count, "max_episode_steps", high=LARGEST))

    @property
    def time_limit(self) -> int:
        """Steps after which an episode is truncated."""
        inside = self.env.time_limit
        return self.max_episode_steps if inside is None else min(inside, self.max_episode_steps)

    def is_out_of_time(self, state: Any, steps: Int[Array, ""]) -> Bool[Array, ""]:
        """Returns whether this clock has run out, or that of the environment inside."""
        return (steps >= self.max_episode_steps) | self.env.is_out_of_time(self.inner_state(state), steps)

    def model(self) -> TabularModel:
        """Returns the exact model of the environment inside: it has no clock."""
        return model_of(self.env)

    def panels(self) -> tuple[Panel, ...]:
        """Returns how the states of the environment inside lie in a picture."""
        return panels_of(self.env)
