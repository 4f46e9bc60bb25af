"""Provenance: the machine, the devices and the versions that a run ran on."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import jax


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that decide about bits."""
    names = ("kousoku", "jax", "jaxlib", "numpy", "equinox", "optax")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def device() -> dict[str, Any]:
    """Describes the devices that JAX uses, and the machine around them."""
    devices = jax.devices()
    return {
        "platform": devices[0].platform,
        "kind": devices[0].device_kind,
        "count": len(devices),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
    }


def memory(state: Any) -> dict[str, float]:
    """Returns MiB of the training state, and the most that this process and a device with its own memory have used.

    Args:
        state: whose arrays count.
    """
    found = {"state_mib": sum(leaf.nbytes for leaf in jax.tree.leaves(state)) / 2**20}
    if sys.platform != "win32":
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        found["process_peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    used = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in used:
        found["device_peak_mib"] = used["peak_bytes_in_use"] / 2**20
    return {name: round(value, 3) for name, value in found.items()}
