"""Policy gradients with parameter-based exploration, with ClipUp."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import check_number
from ...ops.evolution import centred_ranks, clip_up
from ...ops.schedules import ScalarOrSchedule, check_learning_rate, value_at
from .mirrored import MirroredStrategy, check_pairs, directions_of
from .strategy import EvolutionState, Scalars, parameters


class PGPESearch(NamedTuple):
    """The search distribution beside its mean.

    Attributes:
        std: sigma of each parameter.
        optimiser: ClipUp's state.
    """

    std: Float[Array, " n"]
    optimiser: Any


class PGPE(MirroredStrategy):
    """Likelihood-ratio ascent on the mean and the standard deviation of each parameter, from mirrored pairs.

    With weights w = centred ranks of the returns and epsilon = sigma z of each pair:
    mean gradient = E[(w+ - w-) / 2 epsilon], whose direction ClipUp follows;
    std gradient = E[((w+ + w-) / 2 - E w) (epsilon^2 - sigma^2) / sigma], each sigma changing by a limited part.

    Attributes:
        population_size: candidates P of a generation; even.
        learning_rate: step size of ClipUp: how far the gradient of one generation moves the mean, whatever its length;
            a number or a schedule of the environment steps taken.
        max_speed: how far the mean moves in a generation at most; None for twice the step size.
        momentum: momentum of ClipUp.
        noise_std: standard deviation of each parameter in the first generation.
        std_learning_rate: learning rate of the standard deviations; 0 leaves them as they are.
        max_std_change: the part of itself that a standard deviation may change by in a generation.
        num_envs, episodes, max_episode_steps, network, alive_bonus_offset, normalise_observations, observation_limit:
            as of `EvolutionStrategy`.

    Metrics: "return_min", "return_max", "return_std" (over a generation's candidates), "update_norm", "learning_rate",
    "noise_std" (mean over parameters).

    References:
        Sehnke et al., Parameter-exploring policy gradients, Neural Networks 23 (2010), section 3.
        Toklu, Liskowski and Srivastava, ClipUp: a simple and powerful optimizer for distribution-based policy
        evolution, arXiv:2008.02387, sections 3 and 4.
    """

    population_size: int = eqx.field(static=True, default=128)
    learning_rate: ScalarOrSchedule = 0.075
    max_speed: float | Array | None = None
    momentum: float | Array = 0.9
    noise_std: float | Array = 0.05
    std_learning_rate: float | Array = 0.1
    max_std_change: float | Array = 0.2

    def __check_init__(self) -> None:
        check_pairs(self.population_size)
        check_learning_rate("learning_rate", self.learning_rate)
        if self.max_speed is not None:
            check_number("max_speed", self.max_speed, low=0, open_low=True)
        check_number("momentum", self.momentum, low=0, high=1, open_high=True)
        check_number("noise_std", self.noise_std, low=0, open_low=True, open_high=True)
        check_number("std_learning_rate", self.std_learning_rate, low=0, open_high=True)
        check_number("max_std_change", self.max_std_change, low=0, high=1, open_high=True)

    @property
    def candidates(self) -> int:
        return self.population_size

    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> PGPESearch:
        return PGPESearch(jnp.full_like(mean, self.noise_std), clip_up(0.0, 0.0).init(mean))

    def noise(self, state: EvolutionState) -> Array:
        return state.search.std

    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], PGPESearch, Scalars]:
        rate, std = value_at(self.learning_rate, state.step), self.noise(state)
        mean, z = parameters(state.policy), directions_of(candidates, std)
        plus, minus = jnp.split(centred_ranks(fitness), 2)
        pairs = z.shape[0]
        gradient = 0.5 * (plus - minus) @ (std[None] * z) / pairs
        limit = 2.0 * rate if self.max_speed is None else self.max_speed
        step, optimiser = clip_up(rate, limit, self.momentum).update(gradient, state.search.optimiser)
        both = 0.5 * (plus + minus)
        std_gradient = (both - jnp.mean(both)) @ (std[None] * (z * z - 1.0)) / pairs
        change = jnp.clip(self.std_learning_rate * std_gradient, -self.max_std_change * std, self.max_std_change * std)
        metrics = {"learning_rate": rate, "noise_std": jnp.mean(std)}
        return mean + jnp.asarray(step), PGPESearch(std + change, optimiser), metrics
