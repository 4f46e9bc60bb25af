"""Devices: which there are, and equal shares for them."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..core.errors import ConfigError

FLAGS, FORCED = "XLA_FLAGS", "xla_force_host_platform_device_count"


def use_all_cores() -> int:
    """Shows each processor core to JAX as a device of its own, so that a population is spread over all of them.

    Call it before anything else touches JAX: the number of devices is fixed when JAX starts its back end. It changes
    nothing where JAX has started already, where there is a GPU, or where XLA_FLAGS says how many devices to make. There
    is a warning if it comes too late to spread anything: JAX has started with one device for several cores.

    Returns:
        The number of devices that JAX has now.
    """
    cores = _cores()
    if FORCED not in os.environ.get(FLAGS, ""):
        try:
            jax.config.update("jax_num_cpu_devices", cores)
        except RuntimeError:
            _warn_too_late(cores)
    return jax.device_count()


@contextlib.contextmanager
def all_cores_if_started() -> Iterator[None]:
    """Gives JAX all cores if the code within starts it, such as a person's file whose arrays are made at its top.

    The code may set it up otherwise, by XLA_FLAGS or `jax.config`: what it says counts.
    """
    before = os.environ.get(FLAGS)
    if FORCED in (before or ""):
        yield
        return
    ours = f"--{FORCED}={_cores()}"
    os.environ[FLAGS] = f"{before or ''} {ours}".strip()
    try:
        yield
    finally:
        left = os.environ.get(FLAGS, "").replace(ours, "", 1).strip()
        os.environ.pop(FLAGS, None)
        if left or before is not None:
            os.environ[FLAGS] = left


def _cores() -> int:
    """Returns how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _warn_too_late(cores: int) -> None:
    """Warns that one device is all there will be for several cores; other numbers were chosen by somebody."""
    from ..compiler import backends  # here, as a command that asks for its cores need not have a compiler

    if cores > 1 and jax.device_count() == 1 and backends.current().divides_cores:
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
    """Returns the first `count` rows of the arrays of a tree, all NumPy's or all JAX's; of no more rows, the same."""
    leaves = jax.tree.leaves(tree)
    if all(leaf.shape[0] == count for leaf in leaves):
        return tree
    if isinstance(leaves[0], np.ndarray):
        return jax.tree.map(lambda leaf: leaf[:count], tree)
    return jax.block_until_ready(_first_rows(tree, count))


def pad_to(tree: Any, parts: int) -> Any:
    """Pads JAX's arrays [N, ...] of a tree with their last row, until they divide into so many equal parts."""
    if all(leaf.shape[0] % parts == 0 for leaf in jax.tree.leaves(tree)):
        return tree
    return jax.block_until_ready(_padded(tree, parts))


# Each is one program for all arrays, which is waited for: of many small ones on their way at once, each with arrays
# from several devices, some wait for threads of a processor that others hold while they wait for them.


@partial(jax.jit, static_argnums=1)
def _first_rows(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[:count], tree)


@partial(jax.jit, static_argnums=1)
def _padded(tree: Any, parts: int) -> Any:
    def padded(leaf: Array) -> Array:
        return jnp.concatenate([leaf, jnp.repeat(leaf[-1:], -leaf.shape[0] % parts, axis=0)])

    return jax.tree.map(padded, tree)
