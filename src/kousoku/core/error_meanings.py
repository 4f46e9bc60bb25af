"""Meanings of errors that arise in a person's own environment or agent."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import jax

from .errors import error_line
from .own_line import own_line

MEANINGS: tuple[tuple[Any, str], ...] = (
    (
        jax.errors.TracerBoolConversionError,
        "a value that is not known before it runs decides what Python does: use jnp.where or jax.lax.cond for `if`",
    ),
    (
        jax.errors.TracerArrayConversionError,
        "NumPy is given a value that is not known before it runs: use jax.numpy, and arrays of it",
    ),
    (
        jax.errors.ConcretizationTypeError,
        "a value that is not known before it runs has to be a number of Python's, as for int(), float(), .item() or a "
        "shape: keep it an array, with .astype where it needs another dtype",
    ),
    (
        jax.errors.TracerIntegerConversionError,
        "a value that is not known before it runs is an index or a count of Python's: index an array of jax.numpy, "
        "and use jax.lax.fori_loop for `range`",
    ),
    (
        jax.errors.NonConcreteBooleanIndexError,
        "an array is indexed by conditions, so that its length would depend on values: use jnp.where(condition, x, y)",
    ),
    (
        jax.errors.UnexpectedTracerError,
        "a value of one call is kept, and used in another: return it as a part of the state",
    ),
    (
        FrozenInstanceError,
        "it sets a field of its own, which would be shared by all that step it: put what changes into the state",
    ),
)
"""What errors of JAX's mean in an environment, or in an agent."""
KNOWN_ERRORS = tuple(kind for kind, _ in MEANINGS)


def error_meaning(error: Exception) -> str:
    """Returns what an error in a method means, or its name and first line, and where it arose."""
    line = own_line(error)
    where = f" ({line})" if line else ""
    for kinds, meaning in MEANINGS:
        if isinstance(error, kinds):
            return meaning + where
    return f"raised {error_line(error)}{where}"
