"""The parts that all evolution strategies share: a mean policy, candidates around it, observation statistics."""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...collectors.generations import Generation, Generations
from ...core.agent import Agent
from ...core.env import EnvSpec
from ...core.errors import ConfigError, check_flag, check_number, check_size
from ...core.leaves import words
from ...core.ours import is_ours
from ...core.overridden import check_overridden
from ...core.update_check import check_leaves, check_metrics, returned_parts
from ...nn.fits import check_builder, check_has_numbers
from ...nn.observation_stats import (
    Scalings,
    Statistics,
    init_obs_stats,
    merge_obs_stats,
    scale_obs,
    scalings_of,
)
from ...nn.policy_network import PolicyBuilder, PolicyConfig
from ...ops.schedules import counted

DEFAULT_EPISODE = 1000
"""Steps of an episode, where neither the agent nor the environment has a limit."""

Scalars = dict[str, Array]


class EvolutionState(eqx.Module):
    """The state of an evolution strategy: what it has learned.

    Attributes:
        policy: the mean policy, a tree; its arrays of floating point numbers are the parameters.
        search: what the strategy keeps beside the mean.
        observations: running moments of what was observed; None for parts that are not scaled.
        step: environment steps so far: the count that schedules are read at.
    """

    policy: Any
    search: Any
    observations: Statistics
    step: Int[Array, ""]


class EvolutionStrategy(Agent):
    """An agent that learns from the returns of whole episodes, each of another policy.

    A subclass tells how candidates are drawn (`ask`) and what is learned of their fitness (`tell`). Candidates are
    vectors of all of a policy's parameters, [P, n]; the fitness of one is its return, `alive_bonus_offset` added for
    each step.

    Attributes:
        num_envs: environments that play at once; None for as many as there are episodes in a generation.
        episodes: episodes of each candidate in a generation.
        max_episode_steps: steps after which an episode of training is cut; None for the environment's time limit.
        network: builds the policy: a `PolicyConfig`, or a function (observation space, action space, key).
        alive_bonus_offset: added to each step's reward in training, to take an alive bonus out; what is told as return
            is the environment's own.
        normalise_observations: whether floating point observations are centred and scaled by their running moments.
        observation_limit: scaled observations are clipped to +- this.
    """

    candidates_by: ClassVar[str] = "population_size"
    """The field that says how many candidates there are."""
    fewest: ClassVar[int] = 2
    """Candidates that there are at least."""

    num_envs: int | None = eqx.field(static=True, default=None)
    episodes: int = eqx.field(static=True, default=1)
    max_episode_steps: int | None = eqx.field(static=True, default=None)
    network: PolicyBuilder = eqx.field(static=True, default=PolicyConfig())
    alive_bonus_offset: float | Array = 0.0
    normalise_observations: bool = eqx.field(static=True, default=True)
    observation_limit: float | Array = 10.0

    def __check_init__(self) -> None:
        check_overridden(self, EvolutionStrategy)
        if not is_ours(getattr(type(self).candidates, "fget", None)):
            check_size(f"{type(self).__name__}.candidates", self.candidates)
        check_size("episodes", self.episodes)
        for name in ("num_envs", "max_episode_steps"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        check_builder(self.network, "a PolicyConfig", "a policy")
        check_number("alive_bonus_offset", self.alive_bonus_offset, open_low=True, open_high=True)
        check_flag("normalise_observations", self.normalise_observations)
        check_number("observation_limit", self.observation_limit, low=0, open_low=True)
        _ = self._generations(self.max_episode_steps or 1)  # checks what is known before the environment's time limit

    @property
    @abstractmethod
    def candidates(self) -> int:
        """P, the candidates of a generation."""

    @property
    @abstractmethod
    def starts(self) -> int:
        """How many candidates begin their episodes in ways of their own; see `Generations`."""

    @abstractmethod
    def begin_search(self, mean: Float[Array, " n"], key: PRNGKeyArray) -> Any:
        """Returns what the strategy keeps beside the mean, before the first generation."""

    @abstractmethod
    def ask(self, state: EvolutionState, key: PRNGKeyArray) -> tuple[Float[Array, "P n"], EvolutionState]:
        """Draws the candidates of a generation; the state is the one that they are told to."""

    @abstractmethod
    def tell(
        self, state: EvolutionState, candidates: Float[Array, "P n"], fitness: Float[Array, " P"], key: PRNGKeyArray
    ) -> tuple[Float[Array, " n"], Any, Scalars]:
        """Learns from the candidates' fitness: the mean after it, what is kept beside it, and metrics."""

    @property
    def learns_from(self) -> Generations:
        return self._generations(DEFAULT_EPISODE if self.max_episode_steps is None else self.max_episode_steps)

    def _generations(self, limit: int) -> Generations:
        most = self.candidates * self.episodes
        sizes = (self.candidates, self.num_envs or most, self.episodes, limit, self.starts)
        of_messages = {"candidates_by": self.candidates_by, "fewest": self.fewest}
        return Generations(*sizes, **of_messages, state_kind=EvolutionState)

    def for_env(self, spec: EnvSpec) -> "EvolutionStrategy":
        """Returns the strategy with the environment's time limit, where it has none of its own or a longer one."""
        limits = [limit for limit in (self.max_episode_steps, spec.time_limit) if limit is not None]
        return dataclasses.replace(self, max_episode_steps=min(limits, default=DEFAULT_EPISODE))

    def init(self, spec: EnvSpec, key: PRNGKeyArray) -> EvolutionState:
        check_has_numbers(spec)
        policy_key, search_key = jax.random.split(key)
        policy = self.network(spec.observation_space, spec.action_space, policy_key)
        check_leaves(f"{type(self).__name__}'s network", policy, "a policy")
        observations = init_obs_stats(spec.observation_space) if self.normalise_observations else None
        search = self.begin_search(parameters(policy), search_key)
        check_leaves(f"{type(self).__name__}.begin_search", search, "what is kept")
        return EvolutionState(policy, search, observations, jnp.int32(0))

    def act(
        self, state: EvolutionState, obs: PyTree[Array], carry: tuple[()], key: PRNGKeyArray, *, greedy: bool = False
    ) -> tuple[PyTree[Array], tuple[()], None]:
        """Chooses the action of the mean policy; candidates act by `act_by`."""
        del key, greedy
        return self.act_by(state.policy, self.shared(state), obs), carry, None

    @staticmethod
    def act_by(policy: Any, shared: Scalings, obs: PyTree[Array]) -> PyTree[Array]:
        """Chooses the action of a policy, which sees observations scaled."""
        return policy(scale_obs(shared, obs))

    def policy(self, state: EvolutionState, candidate: Any) -> Any:
        """Returns the policy with a candidate's parameters, [n].

        Raises:
            ConfigError: for anything else than as many numbers as it has.
        """
        learned, rest = eqx.partition(state.policy, eqx.is_inexact_array)
        vector, as_policy = ravel_pytree(learned)
        if not _is_like(candidate, vector):
            fix = f"each of the {self.candidates} has {vector.size} numbers, {words(vector)}"
            raise ConfigError(f"{type(self).__name__}.ask's candidates", words(candidate), fix)
        return eqx.combine(as_policy(candidate), rest)

    def shared(self, state: EvolutionState) -> Scalings:
        """Returns what scales the observations of all policies of a generation."""
        return scalings_of(state.observations, self.observation_limit)

    def statistics(self, state: EvolutionState) -> Statistics:
        """Returns the statistics that observations are collected for."""
        return state.observations

    def update(
        self, state: EvolutionState, data: Generation, key: PRNGKeyArray, *, axis: str | None = None
    ) -> tuple[EvolutionState, Scalars]:
        """Learns from a generation, which is whole on every device: nothing is left to sum over an axis."""
        del axis
        fitness = data.episode_return + self.alive_bonus_offset * data.length
        mean, search, metrics = self._told(state, data.candidates, fitness, key)
        moved = jnp.linalg.norm(mean - parameters(state.policy))
        spread = {
            "return_min": jnp.min(data.episode_return),
            "return_max": jnp.max(data.episode_return),
            "return_std": jnp.std(data.episode_return - data.episode_return[0]),  # exactly 0 where all are the same
            "update_norm": moved,
        }
        if jax.tree.structure(data.observed) != jax.tree.structure(state.observations):
            fix = "give state.observations, which update merges what was observed with; or write update, too"
            raise ConfigError(f"{type(self).__name__}.statistics", words(data.observed), fix)
        observations = merge_obs_stats(state.observations, data.observed)
        policy = self.policy(state, mean)
        return EvolutionState(policy, search, observations, counted(state.step, data.steps)), spread | metrics

    def _told(self, state: EvolutionState, candidates: Any, fitness: Any, key: Any) -> tuple[Any, Any, Scalars]:
        """Returns what `tell` returns.

        Raises:
            ConfigError: for anything else than a mean of as many numbers as before, a tree and scalars.
        """
        field, what = f"{type(self).__name__}.tell", "the mean, what is kept beside it, and a dict of scalars"
        made = self.tell(state, candidates, fitness, key)
        mean, search, metrics = returned_parts(field, made, 3, f"return three things: {what}")
        before = parameters(state.policy)
        if not _is_like(mean, before):
            raise ConfigError(f"{field}'s mean", words(mean), f"it has {before.size} numbers, {words(before)}")
        check_metrics(metrics)
        return jnp.asarray(mean), search, metrics

    def adopt(self, fresh: EvolutionState, trained: EvolutionState) -> EvolutionState:
        """Takes over the mean policy and the moments that scale its observations; the search around it begins anew.

        A search that begins at random, as that of a strategy of evosax which keeps a population, begins alike in all
        members: their generations differ.
        """
        search = self.begin_search(parameters(trained.policy), jax.random.key(0))
        return EvolutionState(trained.policy, search, trained.observations, fresh.step)


def _is_like(made: Any, vector: Float[Array, " n"]) -> bool:
    """Returns whether this is a vector of as many numbers, of the same dtype as programs have it."""
    return hasattr(made, "dtype") and jnp.shape(made) == vector.shape and jnp.result_type(made) == vector.dtype


def parameters(policy: Any) -> Float[Array, " n"]:
    """Returns all parameters of a policy, its arrays of floating point numbers, as one vector."""
    return ravel_pytree(eqx.filter(policy, eqx.is_inexact_array))[0]


def draw_noise(key: PRNGKeyArray, count: int, size: int) -> Float[Array, "count size"]:
    """Draws standard normal vectors, each from a key of its own."""
    return jax.vmap(lambda i: _normal(jax.random.fold_in(key, i), size))(jnp.arange(count, dtype=jnp.uint32))


def _normal(key: PRNGKeyArray, size: int) -> Float[Array, " n"]:
    return jax.random.normal(key, (size,), jnp.float32)
