"""What happens where a kernel cannot be compiled: plain JAX, and one warning that says why."""

from __future__ import annotations

import warnings


class KernelWarning(UserWarning):
    """A function runs as plain JAX, since the kernel has no rule for something in it."""


_warned: set[tuple[str, str]] = set()


def warn_once(name: str, reason: str) -> None:
    """Warn, the first time for this function and reason."""
    if (name, reason) not in _warned:
        _warned.add((name, reason))
        warnings.warn(
            f"kernel: {name} runs as plain JAX, for there is no rule for {reason}; the result is the same, "
            "the speed is XLA's",
            KernelWarning,
            stacklevel=2,
        )
