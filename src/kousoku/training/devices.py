"""Devices: which there are, and equal shares for them."""

from __future__ import annotations

import os
from typing import Any

import jax
import jax.numpy as jnp

from ..core.errors import ConfigError


def use_all_cores() -> int:
    """Shows each processor core to JAX as a device of its own, so that a population is spread over all of them.

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


def select_devices(count: Any) -> list[Any]:
    """Selects the first `count` devices that JAX has here; all by default.

    Raises:
        ConfigError: for what is no number of them.
    """
    available = jax.devices()
    if count is None:
        return available
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= len(available):
        raise ConfigError("devices", count, f"use 1 to {len(available)}, the devices that JAX has here")
    return available[:count]


def pad_to(tree: Any, parts: int) -> Any:
    """Pads the arrays [N, ...] of a tree with their last row, until they divide into so many equal parts."""

    def leaf(leaf: Any) -> Any:
        padding = -leaf.shape[0] % parts
        return jnp.concatenate([leaf, jnp.repeat(leaf[-1:], padding, axis=0)]) if padding else leaf

    return jax.tree.map(leaf, tree)
