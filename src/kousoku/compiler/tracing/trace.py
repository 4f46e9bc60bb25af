"""Traces a function of one lane, or finds on disk what an earlier process traced it to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer, eval_jaxpr

from ..frontend.collectives import is_named_axis
from ..ir import Devices
from ..no_gc import no_gc
from .devices import of_one_device, varying_axes
from .fingerprint import modules
from .trace_cache import TraceCacheEntry
from .traced import Traced, struct

WORTH_SECONDS = 0.05  # of tracing, from which on it is kept


def trace_like(function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Traced:
    """Traces the function for arguments like these, which may be shapes."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    dynamic = [leaf for leaf in leaves if is_array(leaf)]
    static = tuple(None if is_array(leaf) else leaf for leaf in leaves)
    structs = [jax.ShapeDtypeStruct(jnp.shape(x), jax.typeof(x).dtype) for x in dynamic]
    return _trace(function, name, tree, static, structs)[0]


def trace_among(
    function: Callable[..., Any], name: str, tree: Any, static: tuple[Any, ...], dynamic: list[Any], axis_name: str
) -> tuple[Traced, Any, list[Any]]:
    """Traces as `_trace` does a function of several devices: within `jax.shard_map` over that axis."""
    traced, out_tree, consts = _trace(function, name, tree, static, dynamic, among=True)
    traced.devices = Devices(axis_name, jax.lax.axis_size(axis_name))
    return traced, out_tree, consts


def is_array(leaf: Any) -> bool:
    """Returns whether a leaf of the arguments is traced: an array, a number, or the shape of one."""
    kinds = jax.Array | np.ndarray | np.generic | bool | int | float | Tracer | jax.ShapeDtypeStruct
    return isinstance(leaf, kinds)


def _as_on_one_device(value: Any) -> Any:
    """Returns a value, or its type on one device if it is one of several's own."""
    aval = jax.typeof(value)
    alone = of_one_device(aval)
    return value if alone is aval else struct(alone)


def recall_or_trace(
    function: Callable[..., Any],
    name: str,
    tree: Any,
    static: tuple[Any, ...],
    dynamic: list[Any],
    avals: Sequence[Any],
) -> tuple[Traced, Any, list[Any]]:
    """Traces as `_trace` does; but a function that an earlier process has traced is not traced again."""
    types = list(map(struct, avals))
    memory = TraceCacheEntry.of(function, name, tree, static, types)
    if memory is not None:
        found = memory.recall(name, avals, lambda: _trace(function, name, tree, static, types)[0].jaxpr)
        if found is not None:
            return *found, []
    began = time.perf_counter()
    traced, out_tree, consts = _trace(function, name, tree, static, dynamic)
    if memory is not None and not consts and time.perf_counter() - began >= WORTH_SECONDS:
        results = jax.tree.unflatten(out_tree, map(struct, traced.out_avals))
        traced.on_summary = partial(memory.keep, results, modules())
    return traced, out_tree, consts


def _trace(
    function: Callable[..., Any],
    name: str,
    tree: Any,
    static: tuple[Any, ...],
    dynamic: list[Any],
    among: bool = False,
) -> tuple[Traced, Any, list[Any]]:
    """Traces the function: returns it, the structure of its result, and values of outer traces that it uses.

    Args:
        function, name: what is traced, and what it is called.
        tree, static, dynamic: its arguments: how they are put together, and the leaves that are no arrays and are.
        among: whether types say on which devices values differ; else they are as on one device.
    """
    out_tree = None

    def flat(*values: Any) -> list[Any]:
        nonlocal out_tree
        given = iter(values)
        leaves = [next(given) if s is None else s for s in static]
        args, kwargs = jax.tree.unflatten(tree, leaves)
        results, out_tree = jax.tree.flatten(function(*args, **kwargs))
        return results

    with no_gc():
        jaxpr = jax.make_jaxpr(flat)(*(dynamic if among else map(_as_on_one_device, dynamic)))
        if not among and any(isinstance(c, Tracer) and varying_axes(jax.typeof(c)) for c in jaxpr.consts):
            jaxpr = jax.make_jaxpr(flat)(*dynamic)  # the types of what it uses name the devices: so all have to
        if not among and (axes := _named_axes(jaxpr)):
            raise LanesMeet(axes)
    jaxpr, consts = _lift_tracers(jaxpr)
    return Traced.of(jaxpr, name), out_tree, consts


class LanesMeet(Exception):
    """The refusal of a function that names axes of its caller's, over which its lanes meet: a kernel's lanes do not."""


def _named_axes(closed: Any) -> str:
    """Returns the names of the axes that operations of a jaxpr reduce over, or ask for their place in."""
    return ", ".join(sorted(repr(effect.name) for effect in closed.effects if is_named_axis(effect)))


def _lift_tracers(closed: Any) -> tuple[Any, list[Any]]:
    """Makes constants that are values of an outer trace the first inputs."""
    lifted = [isinstance(c, Tracer) for c in closed.consts]
    if not any(lifted):
        return closed, []
    moved = [c for c, yes in zip(closed.consts, lifted, strict=True) if yes]

    def opened(*values: Any) -> list[Any]:
        given = iter(values[: len(moved)])
        consts = [next(given) if yes else c for c, yes in zip(closed.consts, lifted, strict=True)]
        return eval_jaxpr(closed.jaxpr, consts, *values[len(moved) :])

    avals = [*map(jax.typeof, moved), *closed.in_avals]
    return jax.make_jaxpr(opened)(*map(struct, avals)), moved
