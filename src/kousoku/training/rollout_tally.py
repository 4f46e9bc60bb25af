"""What is recorded of rollouts: the same running sums, over all environments of an agent."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..core.agent import RolloutAgent
from ..core.timestep import Rollout
from ..ops.across import sum_over
from .rollout import EpisodeEnd, Lane
from .tally import Record, Tally, blew_up, zeros


def empty_rollout_tally(agent: RolloutAgent, learner: tuple[Any, Any, Lane], info: Any, record: Record) -> Tally:
    """Zeros for what is recorded of rollouts.

    Args:
        agent: which learns.
        learner: its state, memory and environments.
        info: the shapes of the environment's info.
        record: what is recorded.
    """
    sums: dict[str, Any] = dict.fromkeys(_metric_names(agent, *learner), jnp.float32(0.0))
    return zeros(info, record, updates=jnp.int32(0), sound=jnp.int32(0), metric_sums=sums)


def count_rollout(
    tally: Tally, rollout: Rollout, info: Any, end: EpisodeEnd, metrics: dict[str, Array], axis: str | None
) -> Tally:
    """The tally after one more rollout and its update.

    Args:
        tally: so far.
        rollout: [T, B] steps.
        info: of the environment, [T, B, ...].
        end: of episodes, [T, B].
        metrics: of the update.
        axis: of the devices that share the environments; sums are over all of them.
    """
    assert tally.updates is not None
    assert tally.sound is not None
    assert tally.metric_sums is not None

    def total(now: Any, values: Any) -> Any:
        return None if now is None else jnp.sum(values, axis=(0, 1), dtype=now.dtype)

    new = Tally(
        episodes=total(tally.episodes, end.ended),
        return_sum=total(tally.return_sum, jnp.where(end.ended, end.episode_return, 0.0)),
        length_sum=total(tally.length_sum, jnp.where(end.ended, end.length, 0)),
        reward_sum=total(tally.reward_sum, rollout.reward),
        info_sum=None if tally.info_sum is None else jax.tree.map(total, tally.info_sum, info),
        blown_up=total(tally.blown_up, blew_up(tally, info, end.ended)),
    )
    new = sum_over(new, axis)
    told = [*metrics.values(), *([] if new.reward_sum is None else [new.reward_sum])]
    still_sound = functools.reduce(jnp.logical_and, map(jnp.isfinite, told), tally.sound == tally.updates)
    before = dataclasses.replace(tally, updates=None, sound=None, metric_sums=None)
    return dataclasses.replace(
        jax.tree.map(jnp.add, before, new),
        updates=tally.updates + 1,
        sound=tally.sound + still_sound.astype(jnp.int32),
        metric_sums={name: so_far + metrics[name] for name, so_far in tally.metric_sums.items()},
    )


def _metric_names(agent: RolloutAgent, state: Any, memory: Any, lane: Lane) -> list[str]:
    """What an update reports, sorted."""

    def metrics(state: Any, memory: Any, lane: Lane) -> dict[str, Array]:
        act_key, update_key = jax.random.split(jax.random.key(0))
        action, _, extras = jax.vmap(lambda obs, memory: agent.act(state, obs, memory, act_key))(lane.obs, memory)
        flags = jnp.zeros(lane.episode_step.shape, bool)
        now = (lane.obs, action, extras, lane.episode_return, flags, flags, lane.obs)
        steps = jax.tree.map(lambda x: jnp.broadcast_to(x, (agent.num_steps, *x.shape)), now)
        obs, action, extras, reward, terminated, truncated, next_obs = steps
        rollout = Rollout(obs, action, extras, reward, terminated, truncated, next_obs, memory)
        return agent.update(state, memory, rollout, update_key)[2]

    return sorted(jax.eval_shape(metrics, state, memory, lane))
