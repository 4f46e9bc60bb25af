"""JAX's settings, as they are here and now: what is traced depends on them, and a context may change them."""

from __future__ import annotations

import jax

DECISIVE = (
    "jax_enable_x64", "jax_threefry_partitionable", "jax_default_prng_impl", "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion", "jax_default_matmul_precision", "jax_high_dynamic_range_gumbel",
)  # fmt: skip


def decisive() -> tuple[object, ...]:
    """Those that change results: asked at every call."""
    return tuple(getattr(jax.config, name, None) for name in DECISIVE)


def every() -> list[tuple[str, str]]:
    """All of them, but for where JAX's cache lies."""
    return [(name, repr(getattr(jax.config, name, None))) for name in sorted(jax.config.values) if "cache" not in name]
