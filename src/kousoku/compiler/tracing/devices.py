"""Types values within `jax.shard_map` as they are on one device."""

from __future__ import annotations

from typing import Any

import jax


def of_one_device(aval: Any) -> Any:
    """Returns the type of a value that each device has its own of (within `jax.shard_map`), as it would be on
    one device.

    What was traced before serves there too: a function of one lane knows nothing of devices.
    """
    mesh = aval.sharding.mesh
    alone = not mesh.empty and set(mesh.manual_axes) == set(mesh.axis_names)
    return jax.typeof(jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)) if alone else aval


def varying_axes(aval: Any) -> frozenset[Any]:
    """Returns the axes of devices along which values of a type differ, as `jax.shard_map` keeps track of them."""
    return getattr(getattr(aval, "manual_axis_type", None), "varying", frozenset())


def is_traced_for_several_devices() -> bool:
    """Returns whether what is traced here and now is to run on each of several devices: within `jax.shard_map`."""
    mesh = jax.sharding.get_abstract_mesh()
    return bool(mesh.manual_axes) and mesh.size > 1
