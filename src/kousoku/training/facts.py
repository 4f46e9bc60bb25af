"""What a run ran on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

import jax


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that decide about bits."""
    names = ("kousoku", "jax", "jaxlib", "numpy", "equinox", "optax")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def device() -> dict[str, Any]:
    """The devices that JAX uses, and the machine around them."""
    devices = jax.devices()
    return {
        "platform": devices[0].platform,
        "kind": devices[0].device_kind,
        "count": len(devices),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
