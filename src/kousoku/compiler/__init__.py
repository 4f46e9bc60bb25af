"""Compiles a JAX function of one lane to one SIMD kernel over all lanes. It knows JAX and nothing of RL.

Everything that other rooms need is found here; names are imported when they are first used, so that the process that
runs LLVM alone does not load JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "api": ("Kernel", "compiles", "decide", "few_lanes", "kernel", "on_arrays", "reason_against"),
    "config": ("kernels_are_on", "on_by_default", "use_kernels"),
    "cost": ("Decision",),
    "explain": ("Explanation",),
    "fallback": ("KernelWarning",),
    "host_kernel": ("HostFunction", "HostKernel", "address", "host_may_call"),
    "llvm.target": ("host",),
    "primitive.any_lane": ("any_lane",),
    "primitive.called_kernels": ("kernel_memory",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from .api import Kernel as Kernel
    from .api import compiles as compiles
    from .api import decide as decide
    from .api import few_lanes as few_lanes
    from .api import kernel as kernel
    from .api import on_arrays as on_arrays
    from .api import reason_against as reason_against
    from .config import kernels_are_on as kernels_are_on
    from .config import on_by_default as on_by_default
    from .config import use_kernels as use_kernels
    from .cost import Decision as Decision
    from .explain import Explanation as Explanation
    from .fallback import KernelWarning as KernelWarning
    from .host_kernel import HostFunction as HostFunction
    from .host_kernel import HostKernel as HostKernel
    from .host_kernel import address as address
    from .host_kernel import host_may_call as host_may_call
    from .llvm.target import host as host
    from .primitive.any_lane import any_lane as any_lane
    from .primitive.called_kernels import kernel_memory as kernel_memory


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'kousoku.compiler' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
