"""A check that nothing traces: training is many programs and much that the host does between them."""

from __future__ import annotations

import jax
from jax.core import Tracer

from ...core.errors import ConfigError


def check_not_traced(field: str) -> None:
    """Refuses to go on inside of a function that JAX traces.

    Raises:
        ConfigError: there, under the name `field`.
    """
    with jax.transfer_guard("allow"):
        traced = isinstance(jax.lax.add(1.0, 1.0), Tracer)
    if traced:
        raise ConfigError(field, "a call while JAX traces", "call it outside of jax.jit: it compiles by itself")
