"""Separable covariance matrix adaptation."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.lax import rsqrt
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ...core.errors import check_number, check_size
from .strategy import EvolutionState, EvolutionStrategy, Scalars, draw_noise, parameters


class CMASearch(NamedTuple):
    """The search distribution beside its mean.

    Attributes:
        step_size: sigma.
        variance: the diagonal of C, [n].
        step_path, variance_path: evolution paths p_sigma and p_c, [n].
        generation: how many were made.
    """

    step_size: Float[Array, ""]
    variance: Float[Array, " n"]
    step_path: Float[Array, " n"]
    variance_path: Float[Array, " n"]
    generation: Int[Array, ""]


LEAST = 1e-10
"""Smallest step size, and smallest standard deviation of a parameter: 0 would make divisions by them NaN."""


class Rates(NamedTuple):
    """The strategy parameters of n parameters and P candidates, by the names of Hansen's tutorial."""

    weights: np.ndarray
    mu_eff: float
    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    chi_n: float


class SepCMAES(EvolutionStrategy):
    """Evolution strategy that adapts its step size and the variance of each parameter, with a diagonal covariance.

    Candidates are theta + sigma sqrt(C) z. The mean moves to the weighted mean of the better half; sigma follows the
    length of its path, C the candidates that were good and the path of the mean, (n + 2) / 3 times as fast as a full
    matrix could be learned.

    Attributes:
        population_size: candidates P of a generation.
        noise_std: standard deviation sigma of the first generation's parameters.
        num_envs, episodes, max_episode_steps, network, alive_bonus_offset, normalise_observations, observation_limit:
            as of `EvolutionStrategy`.

    Differs from the paper: sigma and the root of each variance are at least 1e-10, since training goes on where a
    program that minimises would stop, having converged.

    The episodes of all candidates of a generation begin alike: it compares them, and would take the luck of a start for
    merit.

    Metrics: "return_min", "return_max", "return_std" (over a generation's candidates), "update_norm", "step_size"
    (sigma), "noise_std" (mean of sigma sqrt(C)).

    References:
        Ros and Hansen, A simple modification in CMA-ES achieving linear time and space complexity, PPSN X (2008).
        Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772, appendix A (without negative weights).
    """

    fewest: ClassVar[int] = 4

    population_size: int = eqx.field(static=True, default=64)
    noise_std: float | Array = 0.1

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, low=self.fewest)
        check_number("noise_std", self.noise_std, low=0, open_low=True, open_high=True)

    @property
    def candidates(self) -> int:
        return self.population_size

    @property
    def starts(self) -> int:
        return 1

    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> CMASearch:
        zeros = jnp.zeros_like(mean)
        return CMASearch(jnp.float32(self.noise_std), jnp.ones_like(mean), zeros, zeros, jnp.int32(0))

    def ask(self, state: EvolutionState, key: PRNGKeyArray) -> tuple[Float[Array, "P n"], EvolutionState]:
        mean, search = parameters(state.policy), state.search
        noise = draw_noise(key, self.population_size, mean.size)
        return mean[None] + search.step_size * jnp.sqrt(search.variance)[None] * noise, state

    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], CMASearch, Scalars]:
        mean, now = parameters(state.policy), state.search
        n = mean.size
        rates = rates_of(n, self.population_size)
        weights = jnp.asarray(rates.weights)
        best = jnp.argsort(-fitness)[: weights.size]
        y = (candidates[best] - mean[None]) / now.step_size
        moved = weights @ y
        generation = now.generation + 1
        length = math.sqrt(rates.c_sigma * (2.0 - rates.c_sigma) * rates.mu_eff)
        # Not divided by a root: of several devices XLA does that in another way, and rounds otherwise.
        step_path = (1.0 - rates.c_sigma) * now.step_path + length * moved * rsqrt(now.variance)
        norm = jnp.linalg.norm(step_path)
        begun = 1.0 - (1.0 - rates.c_sigma) ** (2.0 * generation.astype(jnp.float32))
        going = (norm * rsqrt(begun) < (1.4 + 2.0 / (n + 1.0)) * rates.chi_n).astype(jnp.float32)
        length = math.sqrt(rates.c_c * (2.0 - rates.c_c) * rates.mu_eff)
        variance_path = (1.0 - rates.c_c) * now.variance_path + going * length * moved
        kept = 1.0 - rates.c_1 - rates.c_mu + (1.0 - going) * rates.c_1 * rates.c_c * (2.0 - rates.c_c)
        variance = kept * now.variance + rates.c_1 * variance_path**2 + rates.c_mu * weights @ (y * y)
        step_size = now.step_size * jnp.exp(jnp.minimum(1.0, rates.c_sigma / rates.d_sigma * (norm / rates.chi_n - 1)))
        step_size, variance = jnp.maximum(step_size, LEAST), jnp.maximum(variance, LEAST**2)
        search = CMASearch(step_size, variance, step_path, variance_path, generation)
        metrics = {"step_size": now.step_size, "noise_std": now.step_size * jnp.mean(jnp.sqrt(now.variance))}
        return mean + now.step_size * moved, search, metrics


def rates_of(n: int, candidates: int) -> Rates:
    """Returns the strategy parameters for n parameters.

    References:
        Hansen, arXiv:1604.00772, table 1; Ros and Hansen (2008) for the factor (n + 2) / 3 of c_1 and c_mu.
    """
    mu = candidates // 2
    raw = math.log((candidates + 1) / 2.0) - np.log(np.arange(1, mu + 1))
    weights = raw / raw.sum()
    mu_eff = float(1.0 / np.sum(weights**2))
    c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n)
    faster = (n + 2.0) / 3.0
    c_1 = min(1.0, faster * 2.0 / ((n + 1.3) ** 2 + mu_eff))
    c_mu = min(1.0 - c_1, faster * 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) ** 2 + mu_eff))
    chi_n = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n))
    return Rates(weights.astype(np.float32), mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, chi_n)
