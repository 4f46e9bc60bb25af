"""Strategies whose candidates are mirrored pairs, mean + sigma epsilon and mean - sigma epsilon."""

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError, check_size
from .strategy import EvolutionState, EvolutionStrategy, draw_noise, parameters

LEAST_STD = 1e-30
"""Noise that has decayed to nothing makes directions of length 0, and no step."""


class MirroredStrategy(EvolutionStrategy):
    """A strategy that asks for mirrored pairs: candidates i and i + P/2, whose episodes begin alike.

    A subclass tells how many candidates there are, how far they are from the mean, and what is learned (`tell`).
    """

    @abstractmethod
    def noise(self, state: EvolutionState) -> Array:
        """Returns sigma, a number or one for each parameter, [n]."""

    @property
    def starts(self) -> int:
        return self.candidates // 2

    def ask(self, state: EvolutionState, key: PRNGKeyArray) -> tuple[Float[Array, "P n"], EvolutionState]:
        mean = parameters(state.policy)
        return mirrored_candidates(mean, draw_noise(key, self.starts, mean.size), self.noise(state)), state


def mirrored_candidates(mean: Float[Array, " n"], noise: Float[Array, "h n"], noise_std: Any) -> Float[Array, "P n"]:
    """Returns mean + sigma epsilon for each epsilon, then mean - sigma epsilon; sigma is a number or [n]."""
    offsets = jnp.broadcast_to(noise_std, mean.shape)[None] * noise
    return jnp.concatenate([mean[None] + offsets, mean[None] - offsets])


def directions_of(candidates: Float[Array, "P n"], noise_std: Any) -> Float[Array, "P/2 n"]:
    """Returns epsilon of each mirrored pair of candidates; sigma is a number or [n]."""
    plus, minus = jnp.split(candidates, 2)
    std = jnp.maximum(jnp.broadcast_to(noise_std, plus.shape[1:]), LEAST_STD)
    return (plus - minus) / (2.0 * std[None])


def check_pairs(population_size: Any) -> None:
    """Refuses a number of candidates that are no pairs.

    Raises:
        ConfigError: naming it.
    """
    if check_size("population_size", population_size, low=2) % 2:
        raise ConfigError("population_size", population_size, "candidates come in pairs; use an even number")
