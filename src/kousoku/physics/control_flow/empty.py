"""Arrays to be written before they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax
from jax.custom_batching import custom_vmap


def empty_unbatched(shape: Sequence[int], dtype: Any) -> jax.Array:
    """Returns `jax.lax.empty` of a shape, which `jax.vmap` leaves as it is.

    JAX makes one for each lane, even where nothing else has lanes. Under `jax.jacfwd` results that do not depend on the
    direction would then seem to.
    """

    @custom_vmap
    def new() -> jax.Array:
        return lax.empty(shape, dtype)

    @new.def_vmap
    def same(*_: Any) -> tuple[jax.Array, bool]:  # JAX wants a rule, which it does not need where nothing has lanes
        return new(), False

    return new()
