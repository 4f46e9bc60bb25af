"""Falls back to plain JAX where a kernel cannot be compiled, with one warning that says why."""

from __future__ import annotations

import warnings

from .ir import Unsupported


class KernelWarning(UserWarning):
    """The warning that a function runs as plain JAX, since the kernel cannot compile something in it."""


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
