"""Learning from generations: whole episodes of candidates, each a policy of its own, and what they returned."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, UInt32

from ..compiler import backends, kernels_are_on
from ..core.agent_check import check_action, has_own_methods, tracing
from ..core.collector import Collector, EpisodeEnd, SlotFunctions, Steps, TrainState, largest_divisor
from ..core.env import EnvSpec
from ..core.errors import ConfigError, check_size, check_takes, error_line
from ..core.leaves import key_like, words
from ..core.ours import is_ours
from ..core.spaces import LARGEST
from ..core.update_check import check_leaves, check_state, checked_update, returned_parts
from ..core.words import plural
from ..nn.observation_stats import Statistics, begin_sums
from ..ops.normalisation import RunningMoments, add_counts
from .acting import begin_slots, slot_numbers
from .episodes import EpisodeResults, PlayEpisodes
from .streams import Stream

ASKED = {
    "ask": "(state, key) -> (candidates, state)",
    "policy": "(state, candidate) -> policy",
    "shared": "(state) -> what all policies share, or ()",
    "statistics": "(state) -> moments of observations, or None",
    "act_by": "(policy, shared, obs) -> action, a static method",
}
"""What an agent has beside what every agent has."""


class Clock(eqx.Module):
    """The clock of a member whose generations have any number of steps: [B, ...], the same for each of its slots.

    Attributes:
        due: environment steps that were asked for and have not been taken; below 0 for steps taken beyond that.
        generation: how many generations were made, as (high, low) words of 32 bits.
    """

    due: Int[Array, " B"]
    generation: UInt32[Array, "B 2"]


class GenerationKeys(eqx.Module):
    """The keys of one generation come from the member's key and its clock.

    Attributes:
        member: the member's key.
        slots: the numbers of the slots on this device.
    """

    member: PRNGKeyArray
    slots: Int[Array, " B"]


class Generation(eqx.Module):
    """One generation, as an agent learns from it: the same on all devices.

    Attributes:
        candidates: [P, ...] as the agent asked for them.
        episode_return: [P] undiscounted, the mean over a candidate's episodes.
        length: [P] steps of an episode, likewise.
        observed: moments of all that was observed, [B, ...] by slot, of the parts that the agent scales.
        steps: environment steps in all.
    """

    candidates: PyTree[Array]
    episode_return: Float[Array, " P"]
    length: Float[Array, " P"]
    observed: Statistics
    steps: Int[Array, ""]


class BlownUp(eqx.Module):
    """The info of an episode's end: whether its environment blew up."""

    diverged: Bool[Array, "..."]


class Generations(Collector):
    """Whole episodes of P candidates, an iteration each: the data of evolution strategies.

    Reset, policy, environment and episode end are one function of a slot, which the kernel compiles: the only one that
    runs while a generation is played. A slot plays P x `episodes` / B episodes, one after the other. An episode has the
    same key whatever slot or device plays it.

    The agent, beside what every agent has:
    - `ask(state, key) -> (candidates, state)`, the first a tree of arrays [P, ...];
    - `policy(state, candidate) -> policy`, a tree of arrays;
    - `shared(state)`, what all policies of a generation share, and `statistics(state)`, of observations;
    - `act_by(policy, shared, obs) -> action`, a static method;
    - `update(state, data, key, *, axis)` gets a `Generation`.

    Attributes:
        population_size: P, candidates of a generation.
        num_envs: B, slots that play at once: a divisor of P x `episodes`.
        episodes: of each candidate.
        max_episode_steps: where an episode is cut, if the environment's own time limit does not cut it before.
        starts: how many candidates begin their episodes in ways of their own: candidate i + starts begins as candidate
            i does. P/2 for antithetic pairs, 1 for all alike; None for P.
        candidates_by: the agent's field that says how many candidates there are, for messages.
        fewest: candidates that the agent needs at least, for messages.
        state_kind: the class of the agent's state; None for any.

    References:
        Salimans et al., Evolution strategies as a scalable alternative to reinforcement learning, arXiv:1703.03864.
        Spall, Multivariate stochastic approximation using a simultaneous perturbation gradient approximation, IEEE
        Transactions on Automatic Control 37 (1992): common random numbers in a pair.
    """

    population_size: int = eqx.field(static=True)
    num_envs: int = eqx.field(static=True)
    episodes: int = eqx.field(static=True, default=1)
    max_episode_steps: int = eqx.field(static=True, default=1000)
    starts: int | None = eqx.field(static=True, default=None)
    candidates_by: str = eqx.field(static=True, default="population_size")
    fewest: int = eqx.field(static=True, default=1)
    state_kind: type | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        for name in ("population_size", "num_envs", "episodes", "max_episode_steps"):
            check_size(name, getattr(self, name))
        played = f"{self.population_size} candidates x {plural(self.episodes, 'episode')}"
        if self.population_size * self.episodes % self.num_envs:
            most = largest_divisor(self.population_size * self.episodes, self.num_envs)
            raise ConfigError("num_envs", self.num_envs, f"{played} are to be shared out; use {most}")
        if self.starts is not None:
            check_size("starts", self.starts, high=self.population_size)
        if self.iteration_steps > LARGEST // 2:  # counts of steps are told in int32, twice as many at most
            fix = f"{played} may take {self.iteration_steps} steps; use shorter episodes or fewer candidates"
            raise ConfigError("max_episode_steps", self.max_episode_steps, fix)

    @property
    def episodes_of_slot(self) -> int:
        """K, the episodes that each slot plays in a generation."""
        return self.population_size * self.episodes // self.num_envs

    @property
    def num_steps(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.episodes_of_slot * self.max_episode_steps

    @property
    def steps_are_fixed(self) -> bool:
        return False

    @property
    def tells_steps(self) -> bool:
        return False

    def ask_for_steps(self, data: Clock, steps: Int[Array, ""]) -> Clock:
        return Clock(data.due + steps, data.generation)

    def steps_are_due(self, data: Clock) -> Bool[Array, ""]:
        return data.due[0] > 0

    @property
    def rounds_over_devices(self) -> bool:
        return False

    def num_devices(self, available: int) -> int:
        """Returns 1 of devices that are cores of one processor: in a kernel they share lanes and wait less."""
        shared = backends.current().divides_cores and kernels_are_on()
        return 1 if shared else super().num_devices(available)

    @property
    def steps_before_learning(self) -> int:
        return 1

    @property
    def samples_held(self) -> int:
        return self.num_envs

    @property
    def size(self) -> tuple[str, str]:
        candidates = f"{self.population_size} candidates"
        if self.episodes > self.population_size or self.population_size <= self.fewest:
            return "episodes", f"{plural(self.episodes, 'episode')} of each of {candidates}"
        return self.candidates_by, candidates

    @property
    def least_share(self) -> float:
        """The part that the fewest candidates of one episode each need: see `temporaries`, and the data count twice."""
        return self.fewest / self.population_size * (4 + 1) / (4 + self.episodes)

    def check_agent(self, agent: Any, spec: EnvSpec) -> None:
        if not has_own_methods(agent, self, ASKED):
            return
        kind = type(agent)
        check_takes(f"{kind.__name__}.act_by", kind.act_by, ("policy", "shared", "obs"))

        def played(key: Any) -> Any:
            state, obs = agent.init(spec, key), spec.observation_space.sample(key)
            if self.state_kind is not None and not isinstance(state, self.state_kind):
                fix = f"return one of {self.state_kind.__module__}.{self.state_kind.__name__}"
                raise ConfigError(f"{kind.__name__}.init", words(state), fix)
            with tracing(agent, "ask"):
                candidates, asked = self._asked(agent, state, key)
            with tracing(agent, "policy"):
                policy = agent.policy(asked, jax.tree.map(lambda x: x[0], candidates))
            with tracing(agent, "statistics"):
                _check_statistics(f"{kind.__name__}.statistics", agent.statistics(asked), obs)
            with tracing(agent, "shared"):
                shared = agent.shared(asked)
            _check_policy(kind, policy)
            check_leaves(f"{kind.__name__}.shared", shared, "what is shared")
            with tracing(agent, "act_by"):
                return _acted(kind, policy, shared, obs)

        action = eqx.filter_eval_shape(played, key_like())
        check_action(f"{kind.__name__}.act_by", action, spec.action_space)

    def _asked(self, agent: Any, state: Any, key: PRNGKeyArray) -> tuple[PyTree[Array], Any]:
        """Returns the candidates of a generation, [P, ...], and the agent's state, which is of the form of that before.

        Raises:
            ConfigError: for anything else that `ask` returns.
        """
        field = f"{type(agent).__name__}.ask"
        fix = "return two things: the candidates [P, ...], and the state"
        candidates, asked = returned_parts(field, agent.ask(state, key), 2, fix)
        check_state(field, state, asked)
        size = self.population_size
        for leaf in jax.tree.leaves(candidates):
            if not hasattr(leaf, "dtype") or jnp.shape(leaf)[:1] != (size,):
                raise ConfigError(field, words(candidates), f"give {size} candidates, arrays [{size}, ...]")
        return jax.tree.map(jnp.asarray, candidates), asked

    def init(self, agent: Any, agent_state: Any, slots: SlotFunctions, key: PRNGKeyArray) -> tuple[Any, Any, Any]:
        slot, carry = begin_slots(agent, agent_state, slots, key, self.num_envs)
        clock = Clock(jnp.zeros(self.num_envs, jnp.int32), jnp.zeros((self.num_envs, 2), jnp.uint32))
        return slot, carry, clock

    def keys(self, key: PRNGKeyArray, iteration: Int[Array, ""], num_slots: int, axis: str | None) -> GenerationKeys:
        return GenerationKeys(key, slot_numbers(num_slots, axis))

    def collect(
        self, agent: Any, slots: SlotFunctions, state: TrainState, keys: GenerationKeys, axis: str | None
    ) -> tuple[TrainState, Generation, Steps]:
        generation = state.data.generation[0]
        candidates, asked = self._asked(agent, state.agent, _key(keys.member, Stream.ACT, generation))
        policies = jax.vmap(lambda candidate: agent.policy(asked, candidate))(candidates)
        which = self._episodes_of(keys.slots)
        play = slots.compiled(PlayEpisodes(type(agent).act_by, self.episodes_of_slot, self.max_episode_steps))
        results, env_state = jax.vmap(play, (0, None, None, 0, 0))(
            jax.tree.map(lambda x: x[which // self.episodes], policies),
            agent.shared(asked),
            agent.statistics(asked),
            self._starts(_key(keys.member, Stream.ENV, generation), which),
            state.slots.env_state,
        )
        slot = eqx.tree_at(lambda slot: slot.env_state, state.slots, env_state)
        told = _gathered(results, axis)
        taken = jnp.sum(told.length, dtype=jnp.int32)
        clock = Clock(state.data.due - taken, _next(state.data.generation))
        data = Generation(
            candidates, self._of_candidates(told.episode_return), self._of_candidates(told.length), told.observed, taken
        )
        return dataclasses.replace(state, agent=asked, slots=slot, data=clock), data, _told(told, taken)

    def temporaries(self, data: Generation, kept: Any) -> PyTree[Any]:
        """Returns the shapes of each candidate as noise, as a policy, and once more for each of its episodes."""
        played = self.population_size * self.episodes
        of_slots = jax.tree.map(lambda x: jax.ShapeDtypeStruct((played, *x.shape[1:]), x.dtype), data.candidates)
        return data.candidates, data.candidates, of_slots

    def learn(
        self, agent: Any, state: TrainState, data: Generation, keys: GenerationKeys, axis: str | None
    ) -> tuple[TrainState, dict[str, Any], None]:
        key = _key(keys.member, Stream.UPDATE, state.data.generation[0])
        learned, metrics = checked_update(agent, state.agent, agent.update(state.agent, data, key, axis=axis), axis)
        return dataclasses.replace(state, agent=learned), metrics, None

    def _episodes_of(self, slots: Int[Array, " B"]) -> Int[Array, "B K"]:
        """Returns the numbers of the episodes that slots play, of the P x `episodes` of a generation."""
        places = jnp.arange(self.episodes_of_slot, dtype=jnp.int32)
        return slots[:, None] + self.num_envs * places[None, :]

    def _starts(self, key: PRNGKeyArray, which: Int[Array, "B K"]) -> Array:
        """Returns the episodes' keys: the same for candidates that begin alike."""
        candidate, episode = which // self.episodes, which % self.episodes
        number = candidate % (self.starts or self.population_size) * self.episodes + episode
        return jax.vmap(jax.vmap(lambda i: jax.random.fold_in(key, i)))(number)

    def _of_candidates(self, told: Array) -> Float[Array, " P"]:
        """Returns the mean over each candidate's episodes of what slots tell, [B, K]."""
        by_episode = jnp.swapaxes(told, 0, 1).reshape(self.population_size, self.episodes)
        return jnp.mean(by_episode.astype(jnp.float32), axis=1)


def _check_policy(kind: type, policy: Any) -> None:
    """Refuses a policy of no arrays, and one that an inherited `act_by` cannot call."""
    field = f"{kind.__name__}.policy"
    check_leaves(field, policy, "a policy")
    if is_ours(kind.act_by) and not callable(policy):
        fix = "give what can be called with an observation, as `network` builds it; or write act_by, too"
        raise ConfigError(field, words(policy), fix)


def _acted(kind: Any, policy: Any, shared: Any, obs: PyTree[Array]) -> Any:
    """Returns what `act_by` returns.

    Raises:
        ConfigError: for what is shared in another form than an inherited `act_by` takes.
    """
    try:
        return kind.act_by(policy, shared, obs)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        if not is_ours(kind.act_by) or is_ours(kind.shared):
            raise
        fix = f"the act_by that it inherits does not take it ({error_line(error)}); write that, too"
        raise ConfigError(f"{kind.__name__}.shared", words(shared), fix) from error


def _check_statistics(field: str, statistics: Any, obs: PyTree[Array]) -> None:
    """Refuses what are no moments of such observations."""
    fix = "give moments as kousoku.nn.observation_stats.init_obs_stats(space) makes them, or None"
    parts = jax.tree.leaves(statistics, is_leaf=lambda part: isinstance(part, RunningMoments))
    if not all(isinstance(part, RunningMoments) for part in parts):
        raise ConfigError(field, words(statistics), fix)
    try:
        begin_sums(statistics, obs)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ConfigError(field, words(statistics), fix) from error


def _key(member: PRNGKeyArray, stream: Stream, generation: UInt32[Array, "2"]) -> PRNGKeyArray:
    """Returns the key of one use in one generation."""
    high, low = generation
    return jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(member, stream), high), low)


def _next(generation: UInt32[Array, "B 2"]) -> UInt32[Array, "B 2"]:
    return jax.vmap(add_counts, (0, None))(generation, jnp.array([0, 1], jnp.uint32))


def _gathered(results: EpisodeResults, axis: str | None) -> EpisodeResults:
    """Returns the results of all slots, in their order: the same on every device."""
    if axis is None:
        return results
    return jax.tree.map(lambda x: jax.lax.all_gather(x, axis, tiled=True), results)


def _told(results: EpisodeResults, taken: Int[Array, ""]) -> Steps:
    """Returns the episodes of all slots as they are recorded: each with all of its reward."""
    ended = jnp.ones_like(results.length, dtype=bool)
    end = EpisodeEnd(ended, results.episode_return, results.length)
    info = None if results.diverged is None else BlownUp(results.diverged)
    return Steps(None, None, results.episode_return, info, end, taken)
