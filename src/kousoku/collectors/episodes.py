"""Whole episodes of one slot, each of another policy: a function that the kernel compiles as a whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from ..core.env import Env
from ..core.leaves import key_like
from ..core.spaces import element_like
from ..core.timestep import has_divergence_flag
from ..nn import clip_to
from ..nn.observation_stats import Statistics, Sums, add_to_sums, begin_sums, moments_of_sums
from ..ops.long_sums import add, rest_for


class EpisodeResults(eqx.Module):
    """The results of K episodes that one slot played.

    Attributes:
        episode_return, length: [K] of each.
        diverged: [K] whether each ended with a flag `diverged` in its environment's info: whether that blew up; None
            where steps have no such flag.
        observed: moments of all that was observed, of the parts that are scaled.
    """

    episode_return: Float[Array, " K"]
    length: Int[Array, " K"]
    diverged: Bool[Array, " K"] | None
    observed: Statistics


class _Walk(eqx.Module):
    """An episode on its way; it has what rounding took from its return where it may be long (see `ops.long_sums`)."""

    env_state: Any
    obs: PyTree[Array]
    episode_return: Float[Array, ""]
    length: Int[Array, ""]
    ended: Bool[Array, ""]
    diverged: Bool[Array, ""] | None
    return_rest: Float[Array, ""] | None


@dataclass(frozen=True)
class PlayEpisodes:
    """A function that plays K episodes in one slot, one after the other: equal ones are compiled once.

    Attributes:
        act: (policy, what all policies share, observation) -> action.
        count: K.
        limit: steps after which an episode is cut; the environment's own time limit may cut it before.
    """

    act: Callable[[Any, Any, Any], Any]
    count: int
    limit: int

    def __call__(
        self,
        env: Env,
        policies: PyTree[Array],
        shared: Any,
        statistics: Statistics,
        keys: Key[Array, " K"],
        env_state: Any,
    ) -> tuple[EpisodeResults, Any]:
        """Plays the episodes.

        Args:
            env: the environment.
            policies: [K, ...] one for each episode.
            shared: what `act` gets of all of them.
            statistics: of observations: which of their parts are to be told of.
            keys: of each episode.
            env_state: of the slot, in which the first episode restarts.

        Returns:
            The results, and the environment's state after the last episode.
        """
        first, info = self._begin(env, keys[0], env_state, None)
        if _can_diverge(env, first.env_state, info):
            first = dataclasses.replace(first, diverged=jnp.array(False))
        sums = begin_sums(statistics, first.obs)
        if self.count == 1:  # half of the code, without a branch to the next episode at every step
            walk, sums = self._one(env, jax.tree.map(lambda x: x[0], policies), shared, keys[0], first, sums)
            observed = moments_of_sums(sums, walk.length)
            diverged = None if walk.diverged is None else walk.diverged[None]
            return EpisodeResults(walk.episode_return[None], walk.length[None], diverged, observed), walk.env_state
        return self._queue(env, policies, shared, keys, first, sums)

    def _begin(
        self, env: Env, key: PRNGKeyArray, env_state: Any, diverged: Bool[Array, ""] | None
    ) -> tuple[_Walk, Any]:
        """Returns an episode before its first step, and the environment's info of it."""
        reset_key, _ = jax.random.split(key)
        env_state, timestep = env.restart(reset_key, env_state)
        rest = rest_for(self._limit(env))
        walk = _Walk(env_state, timestep.obs, jnp.float32(0), jnp.int32(0), jnp.array(False), diverged, rest)
        return walk, timestep.info

    def _limit(self, env: Env) -> int:
        return self.limit if env.time_limit is None else min(self.limit, env.time_limit)

    def _step(self, env: Env, policy: Any, shared: Any, key: PRNGKeyArray, walk: _Walk) -> _Walk:
        _, walk_key = jax.random.split(key)
        action = clip_to(env.action_space, self.act(policy, shared, walk.obs))
        env_state, timestep = env.step(jax.random.fold_in(walk_key, walk.length), walk.env_state, action)
        length = walk.length + 1
        episode_return, rest = add(walk.episode_return, walk.return_rest, timestep.reward)
        ended = timestep.terminated | timestep.truncated | (length >= self._limit(env))
        diverged = None if walk.diverged is None else jnp.asarray(timestep.info.diverged)
        return _Walk(env_state, timestep.obs, episode_return, length, ended, diverged, rest)

    def _one(
        self, env: Env, policy: Any, shared: Any, key: PRNGKeyArray, first: _Walk, sums: Sums
    ) -> tuple[_Walk, Sums]:
        def step(now: tuple[_Walk, Sums]) -> tuple[_Walk, Sums]:
            walk, sums = now
            return self._step(env, policy, shared, key, walk), add_to_sums(sums, walk.obs)

        return jax.lax.while_loop(lambda now: ~now[0].ended, step, (first, sums))

    def _queue(
        self, env: Env, policies: PyTree[Array], shared: Any, keys: Key[Array, " K"], first: _Walk, sums: Sums
    ) -> tuple[EpisodeResults, Any]:
        """Plays one episode after the other in one loop over steps, so that a lane whose episode ends goes on."""
        places = jnp.arange(self.count, dtype=jnp.int32)

        def step(now: tuple[Any, ...]) -> tuple[Any, ...]:
            k, policy, walk, sums, told, steps = now
            sums = add_to_sums(sums, walk.obs)
            walk = self._step(env, policy, shared, keys[jnp.minimum(k, self.count - 1)], walk)
            here = walk.ended & (places == k)
            now_told = (walk.episode_return, walk.length, walk.diverged)
            told = jax.tree.map(lambda old, new: jnp.where(here, new, old), told, now_told)
            k = k + walk.ended.astype(jnp.int32)

            def next_episode(_: Any) -> tuple[Any, _Walk]:
                i = jnp.minimum(k, self.count - 1)
                begun, _ = self._begin(env, keys[i], walk.env_state, first.diverged)
                return jax.tree.map(lambda x: x[i], policies), begun

            policy, walk = jax.lax.cond(walk.ended & (k < self.count), next_episode, lambda _: (policy, walk), None)
            return k, policy, walk, sums, told, steps + 1

        count = self.count
        told = jax.tree.map(lambda x: jnp.zeros(count, x.dtype), (first.episode_return, first.length, first.diverged))
        start = jnp.int32(0), jax.tree.map(lambda x: x[0], policies), first, sums, told, jnp.int32(0)
        _, _, walk, sums, told, steps = jax.lax.while_loop(lambda now: now[0] < self.count, step, start)
        return EpisodeResults(told[0], told[1], told[2], moments_of_sums(sums, steps)), walk.env_state


def _can_diverge(env: Env, env_state: Any, first: Any) -> bool:
    """Returns whether steps say with a flag `diverged` that the environment blew up.

    The info of an episode's first timestep shows it where it has the flag; where not, a step is traced once more, which
    would take a robot seconds.
    """
    if has_divergence_flag(first):
        return True
    after = jax.eval_shape(env.step, key_like(), env_state, element_like(env.action_space))[1]
    return has_divergence_flag(after.info)
