"""Reads JAX's settings as they are here and now: what is traced depends on them, and a context may change them."""

from __future__ import annotations

import jax

TRACE_AFFECTING = (
    "jax_enable_x64", "jax_threefry_partitionable", "jax_default_prng_impl", "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion", "jax_default_matmul_precision", "jax_high_dynamic_range_gumbel",
)  # fmt: skip


def trace_affecting_config() -> tuple[object, ...]:
    """Returns those of JAX's settings that change results: asked at every call."""
    return tuple(getattr(jax.config, name, None) for name in TRACE_AFFECTING)


def all_config() -> list[tuple[str, str]]:
    """Returns all of JAX's settings, but for where its cache lies."""
    return [(name, repr(getattr(jax.config, name, None))) for name in sorted(jax.config.values) if "cache" not in name]
