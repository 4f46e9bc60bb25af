"""Says why a function is plain JAX, and warns once where a kernel cannot be compiled."""

from __future__ import annotations

import warnings

import jax

from .backends import current
from .config import why_off
from .cost import weigh_arrays
from .ir import Unsupported
from .tracing.traced import Traced


class KernelWarning(UserWarning):
    """The warning that a function runs as plain JAX, since the kernel cannot compile something in it."""


def why_not_here() -> str | None:
    """Says why no function is compiled here and now; None where functions are."""
    off = why_off()
    if off is not None:
        return off
    platform = current()
    return None if platform.backend is not None else f"kernels are not compiled for {platform.name}"


def why_left_to_xla(kernel: Traced, lanes: int, several_devices: bool) -> str | None:
    """Says why a function is plain JAX where kernels are on and there is a rule for all of it; None for a kernel.

    Args:
        kernel: the function, traced.
        lanes: how many, at least 1.
        several_devices: whether each of several devices runs it, for itself: then XLA's threads are busy.

    Raises:
        Unsupported: if the compiler cannot read it.
    """
    if kernel.devices is not None and jax.process_count() > 1:
        return "its devices would meet in memory, which processes do not share"
    if kernel.arrays:
        decision = weigh_arrays(kernel.jaxpr, lanes == 1 and not several_devices)
        if not decision.take:
            return decision.reason
    computes = bool(kernel.out_avals) and kernel.summary.interface.made > 0
    return None if computes else "it computes nothing: all that it returns came in"


def reason_of(error: Exception) -> str:
    """Says why a function is not compiled: the error that stopped the compiler, in words.

    A mistake of the compiler's own costs speed, not the user's run; it is told.
    """
    if isinstance(error, Unsupported):
        return f"there is no rule for {error}"
    message = str(error).split("\n", 1)[0]
    return f"the compiler itself fails on it, which should be reported ({type(error).__name__}: {message})"


_warned: set[tuple[str, str]] = set()


def warn_once(name: str, reason: str) -> None:
    """Warns, the first time for this function and reason."""
    if (name, reason) not in _warned:
        _warned.add((name, reason))
        warnings.warn(
            f"kernel: {name} runs as plain JAX, for {reason}; the result is the same, the speed is XLA's",
            KernelWarning,
            stacklevel=2,
        )
