"""Observations as a network sees them: every floating point part scaled by its running moments."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...core.spaces import Box, Dict, Space
from ...ops.normalisation import RunningMoments, no_moments, normalise, observe

Statistics = PyTree[RunningMoments | None]


def init_obs_stats(space: Space) -> Statistics:
    """Makes moments of nothing for each floating point Box in a space, None for its other parts."""
    if isinstance(space, Dict):
        return {name: init_obs_stats(part) for name, part in sorted(space.spaces.items())}
    if isinstance(space, Box) and space.dtype.kind == "f":
        return no_moments(space.shape)
    return None


def normalise_obs(statistics: Statistics, obs: PyTree[Array], limit: Any) -> PyTree[Array]:
    """Scales one observation, each part to (x - mean) / std clipped to +-limit where there are statistics of it."""
    return _each(lambda moments, x: normalise(moments, jnp.asarray(x, jnp.float32), limit), statistics, obs)


def update_obs_stats(statistics: Statistics, obs: PyTree[Array], axis: str | None) -> Statistics:
    """Returns the statistics after a batch of observations [N, ...]; with `axis`, after those of all its devices."""

    def after(moments: RunningMoments, x: Array) -> RunningMoments:
        return observe(moments, x.astype(jnp.float32), axis_name=axis)

    return _each(after, statistics, obs, otherwise=lambda moments, _: moments)


def _each(function: Any, statistics: Any, obs: Any, otherwise: Any = lambda _, x: x) -> Any:
    if isinstance(statistics, dict):
        return {name: _each(function, part, obs[name], otherwise) for name, part in statistics.items()}
    return (otherwise if statistics is None else function)(statistics, obs)
