"""Augmented random search."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError, check_size
from ...ops.evolution import finite_returns
from ...ops.schedules import ScalarOrSchedule, check_learning_rate, check_schedule, value_at
from .mirrored import MirroredStrategy, directions_of
from .strategy import EvolutionState, Scalars, parameters


class ARS(MirroredStrategy):
    """Random search in the space of (linear) policies, along the directions that return most.

    theta <- theta + alpha / (b sigma_R) sum over the b best of N directions of (r(theta + nu delta) - r(theta - nu
    delta)) delta, with sigma_R the standard deviation of the 2 b returns, and the best the largest max(r+, r-).

    Attributes:
        num_directions: directions N of a generation; each is tried both ways.
        top_directions: best directions b, those that are learned from; None for all.
        learning_rate: step size alpha, a number or a schedule of the environment steps taken.
        noise_std: standard deviation nu of the noise on parameters, a number or a schedule.
        num_envs, episodes, max_episode_steps, network, alive_bonus_offset, normalise_observations, observation_limit:
            as of `EvolutionStrategy`. With `normalise_observations` it is the paper's V2 (V2-t with fewer top
            directions), without it is V1.

    Metrics: "return_min", "return_max", "return_std" (over a generation's candidates), "update_norm", "learning_rate",
    "noise_std".

    Differs from the paper: scaled observations are clipped, at 10 standard deviations by default.

    References:
        Mania, Guy and Recht, Simple random search provides a competitive approach to reinforcement learning,
        arXiv:1803.07055, algorithm 2.
    """

    candidates_by: ClassVar[str] = "num_directions"
    fewest: ClassVar[int] = 4

    num_directions: int = eqx.field(static=True, default=32)
    top_directions: int | None = eqx.field(static=True, default=None)
    learning_rate: ScalarOrSchedule = 0.02
    noise_std: ScalarOrSchedule = 0.03

    def __check_init__(self) -> None:
        check_size("num_directions", self.num_directions)
        if self.top_directions is not None:
            check_size("top_directions", self.top_directions, high=self.num_directions)
        if self.num_directions == 1:
            fix = "two returns of one direction tell its sign alone; use at least 2"
            raise ConfigError("num_directions", self.num_directions, fix)
        check_learning_rate("learning_rate", self.learning_rate)
        check_schedule("noise_std", self.noise_std, low=0, open_low=True, open_high=True)

    @property
    def candidates(self) -> int:
        return 2 * self.num_directions

    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> tuple[()]:
        return ()

    def noise(self, state: EvolutionState) -> Array:
        return value_at(self.noise_std, state.step)

    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], Any, Scalars]:
        rate, noise_std = value_at(self.learning_rate, state.step), self.noise(state)
        mean = parameters(state.policy)
        plus, minus = jnp.split(finite_returns(fitness), 2)
        directions = directions_of(candidates, noise_std)
        b = self.top_directions or self.num_directions
        best = jnp.argsort(-jnp.maximum(plus, minus))[:b]
        std = jnp.std(jnp.concatenate([plus[best], minus[best]]))
        step = (plus[best] - minus[best]) @ directions[best] / b
        scale = jnp.where(std > 0, rate / jnp.where(std > 0, std, 1.0), 0.0)
        return mean + scale * step, (), {"learning_rate": rate, "noise_std": noise_std}
