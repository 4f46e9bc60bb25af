"""JAX's search for keys that are used twice, which programs of training are left out of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import jax

from ...core.errors import RunWarning

SAID = (
    "jax_debug_key_reuse: got True; training and evaluation switch it off for themselves, as it takes programs over "
    "many keys for reuse; kousoku.check_env looks for keys that an environment uses twice"
)


@contextmanager
def keys_unchecked() -> Iterator[None]:
    """Switches the search off in a context, or in a function that it decorates, and says so."""
    if not jax.config.jax_debug_key_reuse:  # pyright: ignore[reportAttributeAccessIssue]
        yield
        return
    warnings.warn(SAID, RunWarning, stacklevel=2)
    with jax.debug_key_reuse(False):
        yield
