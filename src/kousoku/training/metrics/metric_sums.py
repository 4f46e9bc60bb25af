"""Metric sums: running sums of one member, recorded while training, read and emptied at every report."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...core.collector import Steps
from ...core.env import Env
from ...core.errors import ConfigError, check_choice
from ...core.spaces import Discrete
from ...ops import tables
from ...ops.across import sum_over
from . import wide_sums
from .wide_sums import WideSums, sum_of, wide_zeros

RECORDABLE = ("returns", "metrics", "visits", "q_values", "info")
FORMER = {"td_errors": "metrics"}
"""Names that runs of earlier versions were made with."""
RESERVED = (
    "return", "length", "reward", "episodes", "blown_up", "step", "seconds", "eval_step", "eval_return", "eval_length",
)  # fmt: skip
UNCARRIED = ("visits", "iterations", "finite_iterations")
"""What is counted on: a table, and counts that are compared."""


@dataclass(frozen=True)
class Recording:
    """The metrics to record.

    Attributes:
        returns: return and length of finished episodes, reward per step: a few numbers a member.
        metrics: the mean of every scalar that an agent's update returns.
        visits: how often each state and action was visited, one table a member over the whole run.
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


class MetricSums(eqx.Module):
    """Running sums; an entry is None where it is not recorded. They are of a few steps, and all others in `carried`.

    Attributes:
        episodes: episodes finished since the last report.
        return_sum, length_sum: over those episodes.
        reward_sum: over all steps since the last report.
        info_sum: of each number in the environment's info.
        blown_up: of those episodes, how many ended with a flag `diverged` in the environment's info; None without one.
        visits: since the beginning, [S, A].
        metric_sums: of each metric, over the updates since the last report.
        updates: how many these were; None where every step is one.
        iterations: iterations since the last report; None where every step is one.
        finite_iterations: how many of them were made before the first in which a reward or a metric was not finite.
        carried: wide sums of all that is summed here, but of visits and iterations; None once everything is in one.
    """

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
    carried: WideSums | None = None


def carry_over(sums: MetricSums) -> MetricSums:
    """Carries the sums over to the wide ones, where they keep their digits: to be done every few steps."""
    assert sums.carried is not None
    zeros, carried = wide_sums.carry_over(_carrying(sums), sums.carried)
    return _replaced(zeros, _uncarried(sums) | {"carried": carried})


def in_one(sums: MetricSums) -> MetricSums:
    """Returns sums (NumPy) with what was carried over, as float64 and int64."""
    assert sums.carried is not None
    return _replaced(wide_sums.total(_carrying(sums), sums.carried), _uncarried(sums))


def _carrying(sums: MetricSums) -> MetricSums:
    """Returns the sums without what is not carried over."""
    return _replaced(sums, dict.fromkeys((*UNCARRIED, "carried")))


def _uncarried(sums: MetricSums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in UNCARRIED}


def _replaced(sums: MetricSums, values: dict[str, Any]) -> MetricSums:
    """Returns sums, of JAX or NumPy, with other values of some fields."""
    names = list(values)
    return eqx.tree_at(
        lambda each: [getattr(each, name) for name in names], sums, [values[name] for name in names], is_leaf=_is_none
    )


def _is_none(node: Any) -> bool:
    return node is None


def zero_sums(recording: Recording, env: Env, steps: Steps, metrics: dict[str, Any], stepwise: bool) -> MetricSums:
    """Makes the sums before the first step.

    Args:
        recording: what is recorded.
        env: the environment.
        steps, metrics: the shapes of what one iteration gives.
        stepwise: whether an iteration is a single step, whose number says all that counters would.

    Raises:
        ConfigError: for a metric that is no scalar, or has the name of what training records itself.
    """
    for name, value in metrics.items():
        if name in RESERVED or name.startswith("info."):
            raise ConfigError(f"metric {name!r}", ..., f"training records {', '.join(RESERVED)} itself; rename it")
        if jnp.shape(value) != ():
            raise ConfigError(f"metric {name!r}", list(jnp.shape(value)), "an update returns scalars; take a mean")
    zero, none = jnp.float32(0.0), jnp.int32(0)
    returns, shape = recording.returns, table_shape(env)
    per_metric = {name: jnp.float32(0.0) for name in sorted(metrics)}
    axes = steps.end.ended.ndim
    sums = MetricSums(
        episodes=none,
        return_sum=zero if returns else None,
        length_sum=none if returns else None,
        reward_sum=zero if returns else None,
        info_sum=_zeros(steps.info, axes) if recording.info else None,
        blown_up=none if _can_blow_up(steps.info, axes) else None,
        visits=jnp.zeros(shape, jnp.int32) if recording.visits and shape else None,
        metric_sums=per_metric if recording.metrics else None,
        updates=None if stepwise else none,
        iterations=None if stepwise else none,
        finite_iterations=None if stepwise else none,
    )
    return dataclasses.replace(sums, carried=wide_zeros(_carrying(sums)))


def add_iteration(
    sums: MetricSums, steps: Steps, metrics: dict[str, Any], updates: Int[Array, ""] | None, axis: str | None
) -> MetricSums:
    """Adds one more iteration.

    Args:
        sums: so far.
        steps: of the iteration, [T, B, ...] or without axes.
        metrics: sums over the updates that it made.
        updates: how many; None for one.
        axis: of the devices that share the environments; sums are over all of them, metrics are so already.
    """
    added = _add_steps(sums, steps, metrics) if axis is None else _add_shares(sums, steps, metrics, axis)
    if sums.iterations is None or sums.finite_iterations is None or sums.updates is None:
        return added
    told = [*metrics.values(), *([] if added.reward_sum is None else [added.reward_sum])]
    is_finite = functools.reduce(
        jnp.logical_and, map(jnp.isfinite, map(jnp.asarray, told)), sums.finite_iterations == sums.iterations
    )
    return dataclasses.replace(
        added,
        updates=sums.updates + (1 if updates is None else updates),
        iterations=sums.iterations + 1,
        finite_iterations=sums.finite_iterations + is_finite.astype(jnp.int32),
    )


def _add_steps(sums: MetricSums, steps: Steps, metrics: dict[str, Any]) -> MetricSums:
    """Adds the steps and the metrics of an iteration to what is recorded."""
    ended = steps.end.ended

    def plus(so_far: Any, values: Any) -> Any:
        return None if so_far is None else so_far + sum_of(values.astype(so_far.dtype), ended.ndim)

    return dataclasses.replace(
        sums,
        info_sum=None if sums.info_sum is None else jax.tree.map(plus, sums.info_sum, steps.info),
        episodes=plus(sums.episodes, ended),
        return_sum=plus(sums.return_sum, jnp.where(ended, steps.end.episode_return, 0.0)),
        length_sum=plus(sums.length_sum, jnp.where(ended, steps.end.length, 0)),
        reward_sum=plus(sums.reward_sum, steps.reward),
        metric_sums=_add_metrics(sums.metric_sums, metrics),
        visits=_add_visits(sums.visits, steps),
        blown_up=plus(sums.blown_up, blew_up(sums, steps)),
    )


def _add_shares(sums: MetricSums, steps: Steps, metrics: dict[str, Any], axis: str) -> MetricSums:
    """Adds this device's steps and those of the other devices of an axis; metrics are the same on all of them."""
    counted = dataclasses.replace(
        sums, metric_sums=None, updates=None, iterations=None, finite_iterations=None, carried=None
    )
    here = _add_steps(jax.tree.map(jnp.zeros_like, counted), steps, {})
    added = jax.tree.map(jnp.add, counted, sum_over(here, axis))
    return dataclasses.replace(
        added,
        metric_sums=_add_metrics(sums.metric_sums, metrics),
        updates=sums.updates,
        iterations=sums.iterations,
        finite_iterations=sums.finite_iterations,
        carried=sums.carried,
    )


def _add_metrics(sums: dict[str, Array] | None, metrics: dict[str, Any]) -> dict[str, Array] | None:
    return None if sums is None else {name: so_far + _recorded(name, metrics[name]) for name, so_far in sums.items()}


def _add_visits(visits: Int[Array, "S A"] | None, steps: Steps) -> Int[Array, "S A"] | None:
    if visits is None:
        return None
    if not steps.end.ended.ndim:
        return tables.add(visits, steps.obs, steps.action, jnp.int32(1))
    return visits.at[jnp.ravel(steps.obs), jnp.ravel(steps.action)].add(1)


def _recorded(name: str, value: Any) -> Float[Array, ""]:
    """Returns a metric as it is summed; an error without its sign, which would cancel."""
    value = jnp.asarray(value).astype(jnp.float32)
    return jnp.abs(value) if name.endswith("error") else value


def table_shape(env: Env) -> tuple[int, int] | None:
    """Returns (states, actions) where both are Discrete, so that a table over them makes sense."""
    states, actions = env.observation_space, env.action_space
    return (states.n, actions.n) if isinstance(states, Discrete) and isinstance(actions, Discrete) else None


def _zeros(info: Any, axes: int) -> Any:
    """Returns zeros for the info of one step, given the shapes of an iteration's."""
    return jax.tree.map(lambda x: jnp.zeros(x.shape[axes:], jnp.float32), info)


def _can_blow_up(info: Any, axes: int) -> bool:
    """Tells whether the shapes of an environment's info have a flag `diverged`."""
    flag = getattr(info, "diverged", None)
    return isinstance(flag, jax.ShapeDtypeStruct) and len(flag.shape) == axes and flag.dtype == bool


def blew_up(sums: MetricSums, steps: Steps) -> Bool[Array, "..."]:
    """Tells of which steps the episode ended because its environment blew up."""
    ended = steps.end.ended
    return jnp.zeros_like(ended) if sums.blown_up is None else ended & jnp.asarray(steps.info.diverged)
