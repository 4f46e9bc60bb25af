"""Which devices there are, and equal shares for them."""

from __future__ import annotations

import os
from typing import Any

import jax
import jax.numpy as jnp

from ..core.errors import ConfigError


def use_all_cores() -> int:
    """Show each processor core to JAX as a device of its own, so that lanes are spread over all of them.

    Call it before anything else touches JAX: the number of devices is fixed when JAX starts its back end. It changes
    nothing where JAX has started already, where there is a GPU, or where XLA_FLAGS says how many devices to make.

    Returns:
        The number of devices that JAX has now.
    """
    forced = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not forced:
        try:
            jax.config.update("jax_num_cpu_devices", cores)
        except RuntimeError:
            return jax.device_count()
    return jax.device_count()


def usable(given: Any) -> list[Any]:
    """So many of the devices that JAX has here; all by default.

    Raises:
        ConfigError: for what is no number of them.
    """
    available = jax.devices()
    if given is None:
        return available
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= len(available):
        raise ConfigError("devices", given, f"use 1 to {len(available)}, the devices that JAX has here")
    return available[:given]


def filled(tree: Any, parts: int) -> Any:
    """A tree of [N, ...] arrays, the last row repeated until so many parts are equal."""

    def leaf(leaf: Any) -> Any:
        padding = -leaf.shape[0] % parts
        return jnp.concatenate([leaf, jnp.repeat(leaf[-1:], padding, axis=0)]) if padding else leaf

    return jax.tree.map(leaf, tree)
