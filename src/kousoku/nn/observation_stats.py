"""Observations as a network sees them: every floating point part scaled by its running moments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from ..core.action_mask import ACTION_MASK
from ..core.spaces import Box, Dict, Space
from ..ops.normalisation import (
    RunningMoments,
    SampleSums,
    Scaling,
    merge,
    merge_all,
    no_moments,
    no_sums,
    normalise,
    observe,
    scaling_of,
)

Statistics = PyTree[RunningMoments | None]
Scalings = PyTree[Scaling | None]
Sums = PyTree[SampleSums | None]


def init_obs_stats(space: Space) -> Statistics:
    """Makes moments of nothing for each floating point Box in a space, None for its other parts and an action mask."""
    if isinstance(space, Dict):
        parts = sorted(space.spaces.items())
        return {name: None if name == ACTION_MASK else init_obs_stats(part) for name, part in parts}
    if isinstance(space, Box) and space.dtype.kind == "f":
        return no_moments(space.shape)
    return None


def normalise_obs(statistics: Statistics, obs: PyTree[Array], limit: Any) -> PyTree[Array]:
    """Scales one observation, each part to (x - mean) / std clipped to +-limit where there are statistics of it."""
    return _each(lambda moments, x: normalise(moments, jnp.asarray(x, jnp.float32), limit), statistics, obs, _as_it_is)


def update_obs_stats(statistics: Statistics, obs: PyTree[Array], axis: str | None) -> Statistics:
    """Returns the statistics after a batch of observations [N, ...]; with `axis`, after those of all its devices."""

    def after(moments: RunningMoments, x: Array) -> RunningMoments:
        return observe(moments, x.astype(jnp.float32), axis_name=axis)

    return _each(after, statistics, obs)


def scalings_of(statistics: Statistics, limit: Any) -> Scalings:
    """Returns what scales observations as `normalise_obs` does, up to rounding: made once for many observations."""
    return _map(lambda moments: scaling_of(moments, limit), statistics)


def scale_obs(scalings: Scalings, obs: PyTree[Array]) -> PyTree[Array]:
    """Scales one observation, each part that there is a scaling of."""
    return _each(lambda scaling, x: scaling(jnp.asarray(x, jnp.float32)), scalings, obs, _as_it_is)


def begin_sums(statistics: Statistics, first: PyTree[Array]) -> Sums:
    """Returns the sums of observations before the first one, which they are taken about."""
    return _each(lambda _, x: no_sums(jnp.asarray(x, jnp.float32)), statistics, first)


def add_to_sums(sums: Sums, obs: PyTree[Array]) -> Sums:
    """Returns the sums with one more observation."""
    return _each(lambda each, x: each.add(jnp.asarray(x, jnp.float32)), sums, obs)


def moments_of_sums(sums: Sums, count: Int[Array, ""]) -> Statistics:
    """Returns the moments of so many observations, whose sums these are."""
    return _map(lambda each: each.moments(count), sums)


def merge_obs_stats(statistics: Statistics, stacked: Statistics) -> Statistics:
    """Returns the statistics with those of a stack of samples, [N, ...] each, merged into them."""
    return _each(lambda moments, new: merge(moments, merge_all(new)), statistics, stacked)


def _map(function: Any, tree: Any) -> Any:
    return jax.tree.map(function, tree, is_leaf=lambda node: isinstance(node, (RunningMoments, SampleSums)))


def _as_it_is(_: None, obs: PyTree[Array]) -> PyTree[Array]:
    """Returns a part that there are no statistics of."""
    return obs


def _each(function: Any, statistics: Any, obs: Any, otherwise: Any = lambda kept, _: kept) -> Any:
    """Returns what a function makes of each part that there are statistics of, and of its observation."""
    if isinstance(statistics, dict):
        return {name: _each(function, part, obs[name], otherwise) for name, part in statistics.items()}
    return (otherwise if statistics is None else function)(statistics, obs)
