"""Switches kernels on and off: an environment variable, a context manager, an argument."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

import jax

from ..core.errors import ConfigError, check_flag

VARIABLE = "KOUSOKU_KERNEL"
UNTRIED = sys.platform == "win32"
"""Whether kernels are off unless the variable switches them on: on Windows, where no program has run one yet."""
_state: ContextVar[bool | None] = ContextVar("kousoku_kernel", default=None)


def on_by_default() -> bool:
    """Returns whether kernels are on where nothing but the environment variable says so.

    Raises:
        ConfigError: for another value of it.
    """
    given = os.environ.get(VARIABLE, "off" if UNTRIED else "on")
    if given.lower() in ("on", "1", "true", ""):
        return True
    if given.lower() in ("off", "0", "false"):
        return False
    raise ConfigError(VARIABLE, given, 'set the environment variable to "on" or "off"')


def kernels_are_on(by_default: Callable[[], bool] = on_by_default) -> bool:
    """Returns whether kernels are compiled; if not, they are plain JAX.

    Args:
        by_default: `on_by_default`, or what remembers its answer, for whoever asks often.
    """
    return why_off(by_default) is None


def why_off(by_default: Callable[[], bool] = on_by_default) -> str | None:
    """Says what switches kernels off; None where they are on.

    While JAX looks for NaN or infinite numbers, it is to see the operations, and to name the one that made them.

    Args:
        by_default: as of `kernels_are_on`.
    """
    for name in ("jax_debug_nans", "jax_debug_infs"):
        if getattr(jax.config, name):
            return f"{name} has JAX look at each operation"
    chosen = _state.get()
    if chosen is None and not by_default():
        if VARIABLE not in os.environ:
            return f"kernels are off on Windows, where nobody has tried them; {VARIABLE}=on switches them on"
        return f"{VARIABLE}={os.environ[VARIABLE]} switches kernels off"
    return "use_kernels(False) switches kernels off" if chosen is False else None


def use_kernels(on: bool) -> AbstractContextManager[None]:
    """Switches kernels on or off for functions that are traced within the context.

    Raises:
        ConfigError: for what is neither True nor False.

    Example:
        >>> import kousoku as ks
        >>> with ks.use_kernels(False):
        ...     print(ks.kernel(lambda x: x + 1)(1))
        2
    """
    return _switched(check_flag("on", on))


@contextmanager
def _switched(on: bool) -> Iterator[None]:
    token = _state.set(on)
    try:
        yield
    finally:
        _state.reset(token)
