"""Provenance: the machine, the devices and the versions that a run ran on."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from importlib import metadata
from types import CodeType, FunctionType
from typing import Any

import jax
import jaxlib.version

from ...compiler.config import kernels_are_on
from ...compiler.llvm.object_cache import source_version
from ...core.errors import RunWarning
from ...core.own_line import warn_at_own_line

DIGITS = 12
PACKAGES = ("kousoku", "jax", "jaxlib", "numpy", "equinox", "optax")


def versions() -> dict[str, str]:
    """Returns what decides about bits: versions of Python and packages, a digest of our code, JAX's precision.

    Versions are those in use, which another one may have been installed over since. An edited clone has the version of
    what it was cloned from, and another digest.
    """
    packages = {name: _in_use(name) for name in PACKAGES}
    precision = "x64" if jax.config.jax_enable_x64 else "x32"  # pyright: ignore[reportAttributeAccessIssue]
    return {
        "python": platform.python_version(),
        **packages,
        "code": source_version("kousoku")[:DIGITS],
        "precision": precision,
    }


def made_by() -> dict[str, str]:
    """Returns all that decides about bits: `versions`, JAX's generator and precision of products, device, kernels."""
    config: Any = jax.config
    partitionable = "" if config.jax_threefry_partitionable else ", not partitionable"
    first = jax.devices()[0]
    kind = "" if first.device_kind == first.platform else f" ({first.device_kind})"
    return {
        **versions(),
        "generator": f"{config.jax_default_prng_impl}{partitionable}",
        "products": config.jax_default_matmul_precision or "default",
        "device": f"{first.platform}{kind}",
        "kernels": "on" if kernels_are_on() else "off",
    }


def _in_use(name: str) -> str:
    """Returns the version of a package that is imported, or else the installed one."""
    return getattr(sys.modules.get(name), "__version__", None) or metadata.version(name)


def warn_upgraded() -> None:
    """Warns where JAX was upgraded after this process had imported it: what it imports next is of another version."""
    for name, loaded in (("jax", jax.__version__), ("jaxlib", jaxlib.version.__version__)):
        installed = metadata.version(name)
        if _release(installed) != _release(loaded):
            fix = "restart Python, in a notebook its kernel"
            warnings.warn(f"{name} {loaded} is in use, but {installed} was installed since: {fix}", stacklevel=3)
            return


def _release(version: str) -> list[str]:
    """Returns major, minor and patch number: what follows is told in different ways by builds from source."""
    return re.findall(r"\d+", version)[:3]


LIBRARIES = ("kousoku", "equinox", "jax", "jaxlib", "numpy", "gymnasium")
"""Packages whose code a digest leaves out, as of Python's own: their versions are told, or change nothing."""


def code_of(kind: type) -> str | None:
    """Returns a digest of a class's source, and of what it inherits from outside of `LIBRARIES`.

    None where there is none to be read, as of what was typed in a shell.
    """
    others = [other for other in kind.__mro__[1:] if not is_known(other.__module__.partition(".")[0])]
    try:
        sources = [inspect.getsource(each) for each in (kind, *others)]
    except (OSError, TypeError):
        return None
    return hashlib.sha256("".join(sources).encode()).hexdigest()[:DIGITS]


def codes_of(kinds: Iterable[type]) -> str | None:
    """Returns a digest of the source of several classes; None where that of one cannot be read, or without any."""
    codes = [code_of(kind) for kind in kinds]
    if not codes or None in codes:
        return None
    return hashlib.sha256(" ".join(map(str, codes)).encode()).hexdigest()[:DIGITS]


def warn_if_other_code(id: str, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Warns where one's own code is not what a run was started with.

    Args:
        id: whose code it is.
        begun: the digests of the run, "code" and "functions", as far as it tells them.
        now: those of the code as it is.
    """
    if any(begun.get(part, now[part]) != now[part] for part in ("code", "functions")):
        text = f"the code of {id} is not what the run was started with: bits may differ from here on"
        warn_at_own_line(text, RunWarning)


def bytecode_of(function: FunctionType) -> str:
    """Returns a digest of what a function does, wherever and however it is written: of its code, not of its source."""
    return hashlib.sha256(repr(_plain(function.__code__)).encode()).hexdigest()[:DIGITS]


def _plain(code: CodeType) -> tuple[Any, ...]:
    """Returns code without places: its instructions, names and constants, those of functions within it as well."""
    constants = tuple(_plain(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, constants


def is_known(package: str) -> bool:
    """Returns whether a package's code is told by its version: the library's own, those under it, and Python's."""
    return package in LIBRARIES or package in sys.stdlib_module_names


def device() -> dict[str, Any]:
    """Describes the devices that JAX has, and the machine around them."""
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
