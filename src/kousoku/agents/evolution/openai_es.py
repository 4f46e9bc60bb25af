"""OpenAI's evolution strategy."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import check_number
from ...ops.evolution import antithetic_gradient, centred_ranks
from ...ops.schedules import ScalarOrSchedule, check_learning_rate, check_schedule, value_at
from .mirrored import MirroredStrategy, check_pairs, directions_of
from .strategy import EvolutionState, Scalars, parameters


class OpenAIES(MirroredStrategy):
    """Gradient ascent on the mean return of normally distributed policies, estimated from ranks.

    g = 1 / (P sigma) sum_i rank_i epsilon_i - c theta, over candidates theta + sigma epsilon_i in mirrored pairs;
    theta moves along g by Adam.

    Attributes:
        population_size: candidates P of a generation; even.
        learning_rate: learning rate of Adam, a number or a schedule of the environment steps taken.
        noise_std: standard deviation sigma of the noise on parameters, a number or a schedule.
        weight_decay: weight c of the decay of parameters.
        num_envs, episodes, max_episode_steps, network, alive_bonus_offset, normalise_observations, observation_limit:
            as of `EvolutionStrategy`.

    Metrics: "return_min", "return_max", "return_std" (over a generation's candidates), "update_norm", "gradient_norm",
    "learning_rate", "noise_std".

    Differs from the paper: observations are scaled by their running moments instead of networks with virtual batch
    normalisation; actions are not perturbed. The authors' code does not divide g by sigma, so that its weight decay
    weighs 1 / sigma times as much beside it.

    References:
        Salimans, Ho, Chen, Sidor and Sutskever, Evolution strategies as a scalable alternative to reinforcement
        learning, arXiv:1703.03864, algorithm 1 and section 2.1.
    """

    population_size: int = eqx.field(static=True, default=128)
    learning_rate: ScalarOrSchedule = 0.02
    noise_std: ScalarOrSchedule = 0.05
    weight_decay: float | Array = 0.005

    def __check_init__(self) -> None:
        check_pairs(self.population_size)
        check_learning_rate("learning_rate", self.learning_rate)
        check_schedule("noise_std", self.noise_std, low=0, open_low=True, open_high=True)
        check_number("weight_decay", self.weight_decay, low=0, open_high=True)

    @property
    def candidates(self) -> int:
        return self.population_size

    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> Any:
        return optax.scale_by_adam().init(mean)

    def noise(self, state: EvolutionState) -> Array:
        return value_at(self.noise_std, state.step)

    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], Any, Scalars]:
        rate, noise_std = value_at(self.learning_rate, state.step), self.noise(state)
        mean = parameters(state.policy)
        gradient = antithetic_gradient(centred_ranks(fitness), directions_of(candidates, noise_std), noise_std)
        gradient = gradient - self.weight_decay * mean
        with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
            step, search = optax.scale_by_adam().update(gradient, state.search)
        metrics = {"gradient_norm": jnp.linalg.norm(gradient), "learning_rate": rate, "noise_std": noise_std}
        return mean + rate * jnp.asarray(step), search, metrics
