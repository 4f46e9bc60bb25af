"""Metric sums: running sums of one member, recorded while training, read and emptied at every report."""

from __future__ import annotations

import dataclasses
import functools
import operator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...core.collector import Collector, Steps
from ...core.env import Env
from ...core.errors import ConfigError, check_choice
from ...core.spaces import Discrete
from ...core.timestep import divergence_flag, has_divergence_flag
from ...core.update_check import check_metrics
from ...ops import tables
from ...ops.across import sum_over
from ...ops.trees import select, with_fields
from . import wide_sums
from .wide_sums import sum_of

RECORDABLE = ("returns", "metrics", "visits", "q_values", "info")
RECORDED = ("returns", "metrics", "visits")
"""What is recorded by default."""
FORMER = {"td_errors": "metrics"}
"""Names that runs of earlier versions were made with."""
RESERVED = (
    "return", "length", "reward", "episodes", "blown_up", "step", "seconds", "eval_step", "eval_return", "eval_length",
    "eval_held_out", "value_estimate", "discounted_return", "value_bias", "value_error", "reward_per_episode",
)  # fmt: skip
SUMMED = (
    "steps",
    "episodes",
    "return_sum",
    "length_sum",
    "reward_sum",
    "compared_states",
    "estimate_sum",
    "followed_sum",
    "info_sum",
    "blown_up",
    "metric_sums",
    "updates",
)
"""The sums that have rests. Visits are counted on, and numbers of iterations are compared with each other."""


@dataclass(frozen=True)
class Recording:
    """The metrics to record.

    Attributes:
        returns: return and length of finished episodes, reward per step: a few numbers per member.
        metrics: the mean of every scalar that an agent's update returns.
        visits: how often each state and action was visited, one table per member over the whole run.
        q_values: the agent's table at every report.
        info: means of the scalars in the environment's info.
    """

    returns: bool = True
    metrics: bool = False
    visits: bool = False
    q_values: bool = False
    info: bool = False

    @staticmethod
    def of(names: tuple[str, ...] | list[str]) -> Recording:
        """Makes a recording from names; raises ConfigError for a name that cannot be recorded."""
        known = [FORMER.get(name, name) for name in names]
        for i, name in enumerate(known):
            check_choice(f"record[{i}]", name, RECORDABLE)
        return Recording(**{name: name in known for name in RECORDABLE})


def recorded_by_default(collector: Collector, env: Env) -> tuple[str, ...]:
    """Returns the names of what is recorded of an environment where nothing is asked for."""
    return (*RECORDED, "info") if env.records_info and collector.tells_steps else RECORDED


class MetricSums(eqx.Module):
    """Running sums; an entry is None where it is not recorded.

    Attributes:
        steps: environment steps since the last report; None where their number is fixed.
        episodes: whole episodes finished since the last report; see `EpisodeEnd`.
        return_sum, length_sum: over those episodes.
        reward_sum: over all steps since the last report.
        compared_states: how many states of those episodes can tell whether the agent expects too much; None where it
            expects nothing.
        estimate_sum, followed_sum: over these states, of what it expected and of the discounted return that followed.
        info_sum: of each number in the environment's info.
        blown_up: how many episodes, whole or not, ended with a flag `diverged` in the environment's info; None without
            one.
        visits: since the beginning, [S, A].
        metric_sums: of each metric, over the updates since the last report.
        updates: how many these were; None where every step is followed by one.
        iterations: iterations since the last report; None where every step is one.
        finite_iterations: how many of them were made before the first in which a reward or a metric was not finite.
        block: of the block of steps that is under way, what it will add to the sums, by name.
        rests: of the sums, by name; see `wide_sums`. This and the block are None once all is in one.
    """

    steps: Int[Array, ""] | None
    episodes: Int[Array, ""]
    return_sum: Float[Array, ""] | None
    length_sum: Int[Array, ""] | None
    reward_sum: Float[Array, ""] | None
    info_sum: Any
    blown_up: Int[Array, ""] | None
    visits: Int[Array, "S A"] | None
    metric_sums: dict[str, Float[Array, ""]] | None
    updates: Int[Array, ""] | None
    iterations: Int[Array, ""] | None
    finite_iterations: Int[Array, ""] | None
    compared_states: Int[Array, ""] | None = None
    estimate_sum: Float[Array, ""] | None = None
    followed_sum: Float[Array, ""] | None = None
    block: dict[str, Any] | None = None
    rests: dict[str, Any] | None = None


def end_block(sums: MetricSums, ends: Bool[Array, ""] | None = None) -> MetricSums:
    """Adds the block that is under way to the sums, if it `ends`; None if so.

    It is to end after about `wide_sums.BLOCK` steps: then it is rounded little, and counts have room for more.
    """
    before = _summed(sums), sums.rests, sums.block
    after = *wide_sums.carry_over(*wide_sums.add(*before)), jax.tree.map(jnp.zeros_like, sums.block)
    values, rests, block = after if ends is None else select(ends, after, before)
    return dataclasses.replace(sums, **values, rests=rests, block=block)


def in_one(sums: MetricSums) -> MetricSums:
    """Returns sums (NumPy) with their rests and the block that is under way, as float64 and int64."""
    values = jax.tree.map(np.add, wide_sums.total(_summed(sums), sums.rests), sums.block)
    return with_fields(sums, **values, rests=None, block=None)


def _summed(sums: MetricSums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in SUMMED}


def zero_sums(
    recording: Recording, env: Env, steps: Steps, metrics: dict[str, Any], each_is_an_update: bool
) -> MetricSums:
    """Makes the sums before the first step.

    Args:
        recording: what is recorded.
        env: the environment.
        steps, metrics: the shapes of what one iteration gives.
        each_is_an_update: whether each iteration is one step and one update, whose number says all that counters would.

    Raises:
        ConfigError: for a metric that is no real scalar, or has the name of what training records itself.
    """
    check_metrics(metrics)
    _check_names(metrics)
    if recording.info and steps.obs is None:
        fix = "the agent's collector tells no single steps, of which there would be info; leave it out"
        raise ConfigError("record", "info", fix)
    zero, none = jnp.float32(0.0), jnp.int32(0)
    returns, shape = recording.returns, table_shape(env)
    compared = returns and steps.estimates is not None
    per_metric = {name: jnp.float32(0.0) for name in sorted(metrics)}
    axes = steps.end.ended.ndim
    sums = MetricSums(
        steps=None if steps.taken is None else none,
        episodes=none,
        return_sum=zero if returns else None,
        length_sum=none if returns else None,
        reward_sum=zero if returns else None,
        info_sum=_zeros(steps.info, axes) if recording.info else None,
        blown_up=none if has_divergence_flag(steps.info, axes) else None,
        visits=jnp.zeros(shape, jnp.int32) if recording.visits and shape and steps.obs is not None else None,
        metric_sums=per_metric if recording.metrics else None,
        updates=None if each_is_an_update else none,
        iterations=None if each_is_an_update else none,
        finite_iterations=None if each_is_an_update else none,
        compared_states=none if compared else None,
        estimate_sum=zero if compared else None,
        followed_sum=zero if compared else None,
    )
    zeros = wide_sums.rests_of(_summed(sums))
    return dataclasses.replace(sums, block=zeros, rests=zeros)


def _check_names(metrics: dict[str, Any]) -> None:
    for name in metrics:
        if name in RESERVED or name.startswith("info."):
            itself = ", ".join(RESERVED) if name in RESERVED else "the environment's info under info.NAME"
            raise ConfigError("name of a metric", name, f"training records {itself} itself; rename it")


def add_iteration(
    sums: MetricSums, steps: Steps, metrics: dict[str, Any], updates: Int[Array, ""] | None, axis: str | None
) -> MetricSums:
    """Adds one more iteration to the block that is under way.

    Args:
        sums: so far.
        steps: of the iteration, [T, B, ...] or without axes.
        metrics: sums over the updates that it made.
        updates: how many; None for one.
        axis: of the devices that share the environments; sums are over all of them, metrics are so already.
    """
    values, visits = _values(sums, steps), _add_visits(sums.visits, steps)
    if axis is not None:
        values = sum_over(values, axis)
        if sums.visits is not None and visits is not None:
            visits = sums.visits + sum_over(visits - sums.visits, axis)
    values["metric_sums"] = None if sums.metric_sums is None else _recorded(metrics)
    if sums.metric_sums is not None and values["metric_sums"].keys() != sums.metric_sums.keys():
        names = [", ".join(sorted(each)) or "none" for each in (values["metric_sums"], sums.metric_sums)]
        raise ConfigError("metrics", names[0], f"the first update had {names[1]}; their names may not change")
    values["updates"] = (
        None if sums.updates is None else jnp.int32(1) if updates is None else jnp.asarray(updates, jnp.int32)
    )
    sums = dataclasses.replace(sums, block=jax.tree.map(operator.add, sums.block, values), visits=visits)
    if sums.iterations is None or sums.finite_iterations is None:
        return sums
    told = [*metrics.values(), *([] if values["reward_sum"] is None else [values["reward_sum"]])]
    is_finite = functools.reduce(
        jnp.logical_and, map(jnp.isfinite, map(jnp.asarray, told)), sums.finite_iterations == sums.iterations
    )
    return dataclasses.replace(
        sums,
        iterations=sums.iterations + 1,
        finite_iterations=sums.finite_iterations + is_finite.astype(jnp.int32),
    )


def _values(sums: MetricSums, steps: Steps) -> dict[str, Any]:
    """Returns what the steps of an iteration add to the sums, by name; None where that is not recorded."""
    ended = steps.end.ended_whole

    def of(so_far: Any, values: Any) -> Any:
        return None if so_far is None else sum_of(jnp.asarray(values).astype(so_far.dtype), ended.ndim)

    return {
        "steps": steps.taken,
        "episodes": of(sums.episodes, ended),
        "return_sum": of(sums.return_sum, jnp.where(ended, steps.end.episode_return, 0.0)),
        "length_sum": of(sums.length_sum, jnp.where(ended, steps.end.length, 0)),
        "reward_sum": of(sums.reward_sum, steps.reward),
        **_compared(sums, steps),
        "info_sum": None if sums.info_sum is None else jax.tree.map(of, sums.info_sum, steps.info),
        "blown_up": of(sums.blown_up, blew_up(sums, steps)),
    }


def _compared(sums: MetricSums, steps: Steps) -> dict[str, Any]:
    """Returns what the whole episodes that ended add to the sums of estimates and of what followed."""
    if sums.compared_states is None or steps.estimates is None:
        return {"compared_states": None, "estimate_sum": None, "followed_sum": None}
    ended, compared = steps.end.ended_whole, steps.estimates
    each = {"compared_states": compared.states, "estimate_sum": compared.estimate, "followed_sum": compared.followed}
    added = {name: sum_of(jnp.where(ended, values, 0.0), ended.ndim) for name, values in each.items()}
    return added | {"compared_states": added["compared_states"].astype(jnp.int32)}


def _add_visits(visits: Int[Array, "S A"] | None, steps: Steps) -> Int[Array, "S A"] | None:
    if visits is None:
        return None
    if not steps.end.ended.ndim:
        return tables.add(visits, steps.obs, steps.action, jnp.int32(1))
    return visits.at[jnp.ravel(steps.obs), jnp.ravel(steps.action)].add(1)


def _recorded(metrics: dict[str, Any]) -> dict[str, Float[Array, ""]]:
    """Returns metrics as they are summed; an error without its sign, which would cancel."""
    values = {name: jnp.asarray(value).astype(jnp.float32) for name, value in metrics.items()}
    return {name: jnp.abs(value) if name.endswith("error") else value for name, value in sorted(values.items())}


def table_shape(env: Env) -> tuple[int, int] | None:
    """Returns (states, actions) where both are Discrete, so that a table over them makes sense."""
    states, actions = env.observation_space, env.action_space
    return (states.n, actions.n) if isinstance(states, Discrete) and isinstance(actions, Discrete) else None


def _zeros(info: Any, axes: int) -> Any:
    """Returns zeros for the info of one step, given the shapes of an iteration's."""
    return jax.tree.map(lambda x: jnp.zeros(x.shape[axes:], jnp.float32), info)


def blew_up(sums: MetricSums, steps: Steps) -> Bool[Array, "..."]:
    """Tells of which steps the episode ended because its environment blew up."""
    ended = steps.end.ended
    return jnp.zeros_like(ended) if sums.blown_up is None else ended & jnp.asarray(divergence_flag(steps.info))
