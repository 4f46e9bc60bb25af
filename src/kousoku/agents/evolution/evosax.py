"""Strategies of the library evosax, by their protocol of ask and tell."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...core.errors import ConfigError, check_choice, check_number, check_size, error_text
from ...core.plain_number import plain_number
from ...core.promotion import their_promotion
from .strategy import EvolutionState, EvolutionStrategy, Scalars, parameters

FIRST_STD = 0.05
"""Of the first population, where the strategy keeps one and has no mean to draw it around."""
UNTRIED = 2.0**50
"""What evosax is told that a first population costs, which nobody has tried: more than any policy does.

Infinity would be NaN as soon as a strategy takes a mean of it; of a power of two the mean is exact.
"""
MOST = 200
"""Characters of an error of evosax's that a message has."""


def _pairs(given: Any) -> Any:
    """Returns pairs as tuples of what is Python's own, also where they are lists, as JSON has them; else as it is."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, (list, tuple)) for each in given):
        return given
    return tuple(tuple(map(plain_number, each)) for each in given)


class Evosax(EvolutionStrategy):
    """Any strategy of evosax (0.3 or later), which has to be installed.

    Attributes:
        strategy: class of the strategy, or its name in `evosax.algorithms`, such as "CMA_ES".
        population_size: candidates P of a generation.
        strategy_params: (name, number) of each of the strategy's parameters that is not to be its default,
            such as (("std_init", 0.1),).
        num_envs, episodes, max_episode_steps, network, alive_bonus_offset, normalise_observations, observation_limit:
            as of `EvolutionStrategy`.

    Metrics: "return_min", "return_max", "return_std" (over a generation's candidates), "update_norm".

    Where the strategy keeps a population instead of a distribution, what acts greedily is the best candidate so far,
    whose return may have been luck.

    References:
        Lange, evosax: JAX-based evolution strategies, arXiv:2212.04180.
    """

    strategy: str | type = eqx.field(static=True, default="CMA_ES")
    population_size: int = eqx.field(static=True, default=64)
    strategy_params: tuple[tuple[str, float], ...] = eqx.field(static=True, default=(), converter=_pairs)

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, low=self.fewest)
        name = self.strategy
        if not isinstance(name, type) and not (isinstance(name, str) and name.isidentifier() and not name.islower()):
            raise ConfigError("strategy", name, "use a class of evosax.algorithms, or its name, such as 'CMA_ES'")
        params = self.strategy_params
        pairs = isinstance(params, tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in params)
        if not pairs or not all(isinstance(name, str) for name, _ in params):
            fix = 'give pairs of a name and a number, such as (("std_init", 0.1),)'
            raise ConfigError("strategy_params", params, fix)
        for name, number in params:
            check_number(f"strategy_params[{name!r}]", number)

    @property
    def candidates(self) -> int:
        return self.population_size

    @property
    def starts(self) -> int:
        return 1

    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> Any:
        strategy, params = self._made(mean)
        init_key, noise_key = jax.random.split(key)
        noise = FIRST_STD * jax.random.normal(noise_key, (self.population_size, mean.size))
        begun = mean[None] + noise, jnp.full(self.population_size, UNTRIED)
        with _theirs(self.strategy):
            return strategy.init(init_key, *((mean,) if keeps_mean(strategy) else begun), params)

    def ask(self, state: EvolutionState, key: PRNGKeyArray) -> tuple[Float[Array, "P n"], EvolutionState]:
        strategy, params = self._made(parameters(state.policy))
        with _theirs(self.strategy):
            candidates, search = strategy.ask(key, state.search, params)
        return candidates, EvolutionState(state.policy, search, state.observations, state.step)

    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], Any, Scalars]:
        """Tells the strategy the negative fitness, as evosax minimises."""
        strategy, params = self._made(parameters(state.policy))
        with _theirs(self.strategy):
            search, _ = strategy.tell(key, candidates, -fitness, state.search, params)
        return strategy.get_mean(search) if keeps_mean(strategy) else search.best_solution, search, {}

    def _made(self, mean: Float[Array, " n"]) -> tuple[Any, Any]:
        """Returns the strategy for so many parameters, and its own parameters."""
        with _theirs(self.strategy):
            strategy = named(self.strategy)(population_size=self.population_size, solution=jnp.zeros_like(mean))
            params = strategy.default_params
        for name, _ in self.strategy_params:
            if not vars(params):
                raise ConfigError("strategy_params", name, "this strategy has none; leave it out")
            check_choice("strategy_params", name, vars(params))
        return strategy, params.replace(**dict(self.strategy_params))


@contextlib.contextmanager
def _theirs(strategy: str | type) -> Iterator[None]:
    """Runs code of evosax.

    Raises:
        ConfigError: where that code fails, as that of strategies that need another population or other arguments does.
    """
    try:
        with their_promotion():
            yield
    except ConfigError:
        raise
    except Exception as error:  # another library's, of any kind
        name = strategy if isinstance(strategy, str) else strategy.__name__
        raise ConfigError(
            "strategy", name, f"its own code raises {type(error).__name__}: {error_text(error)}"
        ) from error


def named(strategy: str | type) -> Callable[..., Any]:
    """Returns a strategy's class.

    Raises:
        ConfigError: if evosax is not installed, or has none of that name.
    """
    if isinstance(strategy, type):
        return strategy
    algorithms = _algorithms(strategy)
    check_choice("strategy", strategy, [name for name, held in vars(algorithms).items() if hasattr(held, "tell")])
    return getattr(algorithms, strategy)


def keeps_mean(strategy: Any) -> bool:
    """Returns whether a strategy is a distribution with a mean; otherwise it is a population."""
    return callable(getattr(strategy, "get_mean", None))


def _algorithms(strategy: str) -> Any:
    try:
        return importlib.import_module("evosax.algorithms")
    except ImportError as error:
        raise ConfigError("strategy", strategy, "it needs evosax: pip install 'kousoku[evosax]'") from error
