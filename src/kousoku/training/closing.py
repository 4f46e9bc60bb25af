"""The end of a stretch of training: what was recorded is read and begun anew, in one program and few transfers."""

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

from .health import finite
from .tally import Tally


@dataclass(frozen=True)
class Layout:
    """Where a learner lies.

    Attributes:
        mesh: the devices, along one axis; None for one.
        specs: which axes of a learner's arrays they share: a prefix tree of it.
    """

    mesh: Mesh | None
    specs: Any

    @property
    def tally(self) -> P:
        """Of the tally: the axis of lanes, or none where every device has all of it."""
        return self.specs if isinstance(self.specs, P) else self.specs.tally


class Closed(NamedTuple):
    """A stretch that has ended.

    Attributes:
        tally: what was recorded, as NumPy arrays [N, ...]; without visits, which count on.
        well: whether all that is watched of the learner is finite, in each lane, [N].
        learner: with an emptied tally, placed as the blocks of a loop leave it.
    """

    tally: Tally
    well: np.ndarray
    learner: Any


def closing(layout: Layout, watched: tuple[int, ...]) -> Callable[[Any], Closed]:
    """What ends a stretch of a learner that lies so.

    Args:
        layout: where it lies.
        watched: the numbers of its leaves that are to be finite.
    """
    return functools.partial(_read, _program(layout, watched))


def _read(program: Callable[[Any], Any], learner: Any) -> Closed:
    packs, whole, well, zeros = program(learner)
    rows = {dtype: iter(np.asarray(pack)) for dtype, pack in packs.items()}
    larger, begun = iter(whole), iter(zeros)
    visits = learner.tally.visits

    def number(leaf: Any) -> Any:
        if leaf is visits:
            return None
        return next(rows[str(leaf.dtype)]) if leaf.ndim == 1 else np.asarray(next(larger))

    tally = jax.tree.map(number, learner.tally)
    emptied = jax.tree.map(lambda leaf: visits if leaf is visits else next(begun), learner.tally)
    return Closed(tally, np.asarray(well), dataclasses.replace(learner, tally=emptied))


@functools.lru_cache(maxsize=64)
def _program(layout: Layout, watched: tuple[int, ...]) -> Callable[[Any], Any]:
    if layout.mesh is None:
        return jax.jit(functools.partial(_close, None, watched))
    spec = layout.tally
    shared = None if len(spec) else layout.mesh.axis_names[0]
    stacked = P(None, *spec)
    return jax.jit(
        jax.shard_map(
            functools.partial(_close, shared, watched),
            mesh=layout.mesh,
            in_specs=(layout.specs,),
            out_specs=(stacked, spec, spec, spec),
            check_vma=False,
        )
    )


def _close(axis: str | None, watched: tuple[int, ...], learner: Any) -> tuple[Any, ...]:
    """On one device: numbers of each dtype stacked, larger arrays, whether all is finite, zeros.

    Args:
        axis: of devices that each hold a part of every lane.
        watched: the numbers of the leaves to look at.
        learner: its part.
    """
    counted = [leaf for leaf in jax.tree.leaves(learner.tally) if leaf is not learner.tally.visits]
    packs: dict[str, list[Any]] = {}
    whole = []
    for leaf in counted:
        (packs.setdefault(str(leaf.dtype), []) if leaf.ndim == 1 else whole).append(leaf)
    leaves = jax.tree.leaves(learner)
    well = finite([leaves[i] for i in watched], leaves[0].shape[0])
    if axis is not None:
        well = jax.lax.pmin(well.astype(jnp.int32), axis).astype(bool)
    stacks = {dtype: jnp.stack(parts) for dtype, parts in packs.items()}
    return stacks, whole, well, list(map(jnp.zeros_like, counted))
