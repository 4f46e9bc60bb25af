"""Lists the back ends: one row for each platform that kernels are compiled for. Nothing outside asks which it is."""

from __future__ import annotations

import jax

from .backend import Backend, InPlace, KernelModule, KernelRegistry, Platform
from .cpu import CPU

__all__ = ["BACKENDS", "Backend", "InPlace", "KernelModule", "KernelRegistry", "Platform", "backend", "current"]

PLATFORMS = {CPU.name: CPU}
BACKENDS = tuple(platform.backend for platform in PLATFORMS.values() if platform.backend is not None)


def current() -> Platform:
    """Returns the platform that JAX runs on by default here and now.

    Example:
        >>> from kousoku.compiler import backends
        >>> backends.current().name
        'cpu'
    """
    name = jax.default_backend()
    return PLATFORMS.get(name, Platform(name))


def backend() -> Backend:
    """Returns the back end of JAX's default platform; where it has none the CPU's, which every JAX runs on as well."""
    return current().backend or BACKENDS[0]
