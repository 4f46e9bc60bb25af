"""Sorting in a kernel against XLA: ties keep their order, NaN comes last, several keys."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import LANES_AND_SEEDS, check, examples, for_all, shared_of, values, width_of

pytestmark = pytest.mark.property

DTYPES = ("float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "bool")
SHAPES = ((1,), (3,), (9,), (40,), (5, 9), (9, 5), (0,), (3, 0))


def crowded(rng, shape, dtype):
    """Few different values, so that there are ties; edge values among them."""
    few = values(rng, (4,), dtype, 0.7)
    return few[rng.integers(0, 4, shape)]


@pytest.mark.full("covered")
@examples(4)
def test_sort(count):
    @for_all(count, st.sampled_from(DTYPES), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case
        axis = seed % len(shape)

        def function(x, y, z):
            pairs = lax.sort((x, y), dimension=axis, num_keys=1)
            triples = lax.sort((x, y, z), dimension=axis, num_keys=2)
            return lax.sort(z, dimension=axis), pairs, triples

        def draw(rng):
            return [crowded(rng, shape, d) for d in (dtype, "int32", dtype)]

        with width_of(dtype):
            check(function, draw, lanes, shared_of(seed, 3) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(3)
def test_sorting_by_numpys_functions(count):
    @for_all(count, st.sampled_from(("float32", "int32")), st.sampled_from([(9,), (40,), (5, 9)]), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case

        def function(x):
            up, down = jnp.argsort(x), jnp.argsort(x, descending=True)
            return up, down, jnp.sort(x, descending=True), jnp.flip(jnp.sort(x, axis=0), 0), jnp.sort(-x)

        check(function, lambda rng: [crowded(rng, shape, dtype)], lanes, (), seed)


@pytest.mark.full("covered")
@examples(3)
def test_top_k(count):
    @for_all(
        count, st.sampled_from(DTYPES[:-1]), st.sampled_from([(3,), (9,), (40,), (5, 9), (3, 20)]), LANES_AND_SEEDS
    )
    def run(dtype, shape, case):
        lanes, seed = case
        k = 1 + seed % shape[-1]

        with width_of(dtype):
            check(lambda x: lax.top_k(x, k), lambda rng: [crowded(rng, shape, dtype)], lanes, (), seed)


@pytest.mark.by_default("float32")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_top_k_in_the_total_order(dtype):
    """Here, and only here, +0 is more than -0, and NaN with a sign is least."""
    tiny = np.finfo(dtype).tiny / 4
    few = np.array([0.0, -0.0, np.nan, -np.nan, tiny, -tiny, np.inf, -np.inf, 1.0], dtype)
    with width_of(dtype):
        check(lambda x: lax.top_k(x, 12)[1], lambda rng: [few[rng.integers(0, 9, 12)]], 37)


def test_a_long_array():
    check(
        lambda x: (jnp.argsort(x), jnp.sort(x), lax.top_k(x, 5)),
        lambda rng: [rng.normal(size=200).astype(np.float32)],
        3,
    )
