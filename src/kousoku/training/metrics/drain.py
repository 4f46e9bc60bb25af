"""Reports: what was recorded is read and begun anew, in one program and few transfers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from ...core.collector import TrainState
from ..guards.finite_check import is_finite
from .metric_sums import MetricSums, in_one


@dataclass(frozen=True)
class Placement:
    """The devices on which training states lie.

    Attributes:
        mesh: the devices, along one axis; None for one.
        specs: which axes of a state's arrays they share: one spec for each field; None for one device.
    """

    mesh: Mesh | None = None
    specs: TrainState | None = None


class Drained(NamedTuple):
    """The metrics that were recorded since the last report.

    Attributes:
        sums: as NumPy arrays [N, ...] of 64 bits; without visits, which count on.
        finite: whether all that is watched of the state is finite, in each member, [N].
        state: with emptied sums, placed as the program leaves it.
    """

    sums: MetricSums
    finite: np.ndarray
    state: TrainState


def drain_metrics(placement: Placement, watched: tuple[int, ...]) -> Callable[[TrainState], Drained]:
    """Returns what drains a training state.

    Args:
        placement: where it lies.
        watched: the numbers of its leaves that are to be finite.
    """
    return functools.partial(_read, _program(placement, watched))


def _read(program: Callable[[Any], Any], state: TrainState) -> Drained:
    packs, whole, finite, zeros = program(state)
    packs, whole, finite = jax.device_get((packs, whole, finite))
    rows = {np.dtype(name): iter(pack) for name, pack in packs.items()}
    larger, begun = iter(whole), iter(zeros)
    visits = state.metrics.visits

    def number(leaf: Any) -> Any:
        if leaf is visits:
            return None
        return next(rows[leaf.dtype]) if leaf.ndim == 1 else next(larger)

    sums = jax.tree.map(number, state.metrics)
    emptied = jax.tree.map(lambda leaf: visits if leaf is visits else next(begun), state.metrics)
    return Drained(in_one(sums), finite, dataclasses.replace(state, metrics=emptied))


@functools.lru_cache(maxsize=64)
def _program(placement: Placement, watched: tuple[int, ...]) -> Callable[[Any], Any]:
    if placement.mesh is None or placement.specs is None:
        return jax.jit(functools.partial(_drain, None, watched))
    spec = placement.specs.metrics
    shared = None if len(spec) else placement.mesh.axis_names[0]
    stacked = P(None, *spec)
    return jax.jit(
        jax.shard_map(
            functools.partial(_drain, shared, watched),
            mesh=placement.mesh,
            in_specs=(placement.specs,),
            out_specs=(stacked, spec, spec, spec),
            check_vma=False,
        )
    )


def _drain(axis: str | None, watched: tuple[int, ...], state: TrainState) -> tuple[Any, ...]:
    """Returns, on one device, numbers of each dtype stacked, larger arrays, whether all is finite, and zeros.

    Args:
        axis: of devices that each hold a part of every member.
        watched: the numbers of the leaves to look at.
        state: its part.
    """
    counted = [leaf for leaf in jax.tree.leaves(state.metrics) if leaf is not state.metrics.visits]
    packs: dict[str, list[Any]] = {}
    whole = []
    for leaf in counted:
        (packs.setdefault(str(leaf.dtype), []) if leaf.ndim == 1 else whole).append(leaf)
    leaves = jax.tree.leaves(state)
    finite = is_finite([leaves[i] for i in watched], leaves[0].shape[0])
    if axis is not None:
        finite = jax.lax.pmin(finite.astype(jnp.int32), axis).astype(bool)
    stacks = {dtype: jnp.stack(parts) for dtype, parts in packs.items()}
    return stacks, whole, finite, list(map(jnp.zeros_like, counted))
