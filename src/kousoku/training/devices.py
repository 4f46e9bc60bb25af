"""Which devices there are."""

from __future__ import annotations

import os

import jax


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
