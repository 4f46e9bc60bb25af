"""Promotion of dtypes and ranks by JAX's own rules, in which other libraries' code is traced."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import jax


@contextlib.contextmanager
def their_promotion() -> Generator[None, None, None]:
    """Lets dtypes and ranks be promoted as JAX does by default, in what is traced within."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
