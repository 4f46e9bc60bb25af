"""Devices: which there are, and equal shares for them."""

from __future__ import annotations

import os
import warnings
from typing import Any

import jax
import jax.numpy as jnp

from ..core.errors import ConfigError


def use_all_cores() -> int:
    """Shows each processor core to JAX as a device of its own, so that a population is spread over all of them.

    Call it before anything else touches JAX: the number of devices is fixed when JAX starts its back end. It changes
    nothing where JAX has started already, where there is a GPU, or where XLA_FLAGS says how many devices to make. There
    is a warning if it comes too late to spread anything: JAX has started with one device for several cores.

    Returns:
        The number of devices that JAX has now.
    """
    forced = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not forced:
        try:
            jax.config.update("jax_num_cpu_devices", cores)
        except RuntimeError:
            _tell_too_late(cores)
    return jax.device_count()


def _tell_too_late(cores: int) -> None:
    """Warns that one device is all there will be for several cores; other numbers were chosen by somebody."""
    if cores > 1 and jax.device_count() == 1 and jax.default_backend() == "cpu":
        fix = "call use_all_cores() before anything else uses JAX, in a notebook in a new kernel"
        warnings.warn(f"JAX has started already, with one device for {cores} cores: {fix}", stacklevel=3)


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


def without_padding(tree: Any, count: int) -> Any:
    """Returns the first `count` rows of the arrays of a tree; an array without more is itself."""
    return jax.tree.map(lambda leaf: leaf if leaf.shape[0] == count else leaf[:count], tree)


def pad_to(tree: Any, parts: int) -> Any:
    """Pads the arrays [N, ...] of a tree with their last row, until they divide into so many equal parts."""

    def leaf(leaf: Any) -> Any:
        padding = -leaf.shape[0] % parts
        return jnp.concatenate([leaf, jnp.repeat(leaf[-1:], padding, axis=0)]) if padding else leaf

    return jax.tree.map(leaf, tree)
