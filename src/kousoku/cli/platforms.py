"""The platforms that the environment tells JAX to use, where this machine has none of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from ..core.errors import ConfigError

VARIABLE = "JAX_PLATFORMS"


def unusable_platforms() -> ConfigError | None:
    """Returns what is wrong with the platforms that are named; None if nothing is.

    Where there is something, JAX goes on with what this machine has.
    """
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    import jax  # imported here: most commands that name a platform fail at nothing
    from jax.extend.backend import backends

    try:
        jax.devices()
    except (RuntimeError, AssertionError):  # of a name that JAX does not know, of one whose devices are not here
        jax.config.update("jax_platforms", "")
        found = list(backends())
        return ConfigError(
            VARIABLE, given, f"this machine has {' and '.join(found)}: unset it, or set it to {found[0]}"
        )
    return None


@contextlib.contextmanager
def platforms_checked() -> Iterator[None]:
    """Asks for the platforms that are named when something has failed: until then JAX need not be imported.

    Raises:
        ConfigError: in the place of JAX's error, where none of them can be used.
    """
    try:
        yield
    except (RuntimeError, AssertionError) as error:
        problem = unusable_platforms()
        if problem is None:
            raise
        raise problem from error
