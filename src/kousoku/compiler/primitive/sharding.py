"""Divides a kernel in a program of several devices: each device does its own lanes.

XLA's partitioner knows nothing of a custom call and would give every device all lanes. It is told that the axis of
lanes may be split, and that nothing else may.

References:
    Shardy's sharding rules: https://openxla.org/shardy/sharding_representation
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule, custom_partitioning
from jax.extend.core import Primitive
from jax.sharding import NamedSharding, PartitionSpec

from ..tracing.devices import varying_axes

LANES = "lanes"


def needs_devices(primitive: Primitive) -> None:
    """Has JAX say, when it lowers the primitive, which devices the program will run on.

    JAX has no public way to ask for it. Without it, every device does all lanes: slower, and as right.
    """
    with contextlib.suppress(ImportError):
        from jax._src.dispatch import prim_requires_devices_during_lowering as asked

        asked.add(primitive)


def spans_devices(ctx: Any) -> bool:
    """Returns whether XLA is to divide the program that is being lowered among devices, and says among which."""
    context = ctx.module_context.axis_context
    manual = getattr(context, "manual_axes", frozenset())
    if manual:
        return set(manual) != set(context.mesh.axis_names)
    return len(getattr(context, "device_assignment", None) or ()) > 1


def is_of_several_devices(ctx: Any) -> bool:
    """Returns whether each of several devices runs what is lowered, for itself: within `jax.shard_map`."""
    context = ctx.module_context.axis_context
    manual = getattr(context, "manual_axes", frozenset())
    return bool(manual) and context.mesh.size > 1


def among(args: Sequence[Any], aval: Any, shape: tuple[int, ...], used: Sequence[Any] = ()) -> Any:
    """Returns the type of a result of that shape, on the devices that the arguments' types say.

    Args:
        args: types of all arguments.
        aval: of the result in one lane.
        shape: with lanes.
        used: types of those that the result depends on: it varies along the same axes.
    """
    axes = frozenset[Any]().union(*map(varying_axes, used))
    more = {"manual_axis_type": type(used[0].manual_axis_type)(varying=axes)} if axes else {}
    meshes = [arg.sharding.mesh for arg in args if not arg.sharding.mesh.empty]
    if not meshes or meshes[0] == aval.sharding.mesh:
        return aval.update(shape=shape, **more)
    sharding = NamedSharding(meshes[0], PartitionSpec(*[None] * len(shape)))
    return aval.update(shape=shape, sharding=sharding, **more)


def over_devices(function: Callable[..., list[Any]], batched: Sequence[bool], shapes: Any) -> Callable[..., list[Any]]:
    """Divides the function by lanes.

    Args:
        function: of arrays to a list of arrays that all begin with the axis of lanes.
        batched: which arguments begin with that axis.
        shapes: of the arguments.
    """
    divided = custom_partitioning(lambda *args: function(*args))
    results = jax.eval_shape(function, *shapes)

    def partition(mesh: Any, args: Any, outs: Any) -> Any:
        spec = _spec(outs)
        given = tuple(NamedSharding(mesh, PartitionSpec(spec) if along else PartitionSpec()) for along in batched)
        made = [NamedSharding(mesh, PartitionSpec(spec)) for _ in outs]
        return mesh, function, made, given

    def infer(mesh: Any, args: Any, outs: Any) -> Any:
        spec = _spec([arg for arg, along in zip(args, batched, strict=True) if along])
        return [NamedSharding(mesh, PartitionSpec(spec)) for _ in outs]

    divided.def_partition(partition, infer_sharding_from_operands=infer, sharding_rule=_rule(batched, shapes, results))
    return divided


def _spec(arrays: Sequence[Any]) -> Any:
    """Returns the mesh axes along which the first array that is divided has its lanes."""
    specs = [array.sharding.spec[0] for array in arrays if array.sharding is not None and len(array.sharding.spec)]
    return next((spec for spec in specs if spec is not None), None)


def _rule(batched: Sequence[bool], shapes: Any, results: Any) -> SdyShardingRule:
    """Writes Shardy's rule: lanes may be split; every other axis is needed whole."""
    whole: list[str] = []

    def mapping(shape: Sequence[int], along: bool) -> ArrayMapping:
        names = [f"axis{len(whole) + i}" for i in range(len(shape) - along)]
        whole.extend(names)
        return ArrayMapping(*([LANES] if along else []), *names)

    operands = tuple(mapping(s.shape, along) for s, along in zip(shapes, batched, strict=True))
    outs = tuple(mapping(s.shape, True) for s in results)
    return SdyShardingRule(operands, outs, need_replication_factors=tuple(whole))
