"""Random numbers in a kernel: the stream of plain JAX, bit for bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from kernel_oracle import LANES_AND_SEEDS, check, examples, for_all, inputs, shared_of

import kousoku as ks
from kousoku.compiler import fallback

pytestmark = pytest.mark.property

SHAPES = ((), (1,), (3,), (40,), (5, 9), (0,))


@pytest.mark.full("covered")
@examples(2)
def test_bits_and_keys(count):
    @for_all(count, st.sampled_from(SHAPES), st.sampled_from([(), (2,), (2, 3)]), LANES_AND_SEEDS)
    def run(shape, batch, case):
        lanes, seed = case

        def of_one(key, n):
            one, two = jax.random.split(key)
            bits = [jax.random.bits(one, shape, dtype) for dtype in (jnp.uint8, jnp.uint16, jnp.uint32)]
            return bits, jax.random.fold_in(two, n), jax.random.split(key, shape), jax.random.key_data(one)

        def draw(rng):
            spec = "k" + "x".join(map(str, batch))
            return [*inputs(spec)(rng), np.int32(rng.integers(-(2**31), 2**31)), np.uint32(rng.integers(2**32))]

        check(over(of_one, batch), draw, lanes, shared_of(seed, 3) if lanes else (), seed)


def over(of_one, batch):
    """The function over a batch of keys."""

    def function(keys, n, m):
        inner = of_one
        for _ in batch:
            inner = jax.vmap(inner, (0, None))
        return inner(keys, n), jax.random.key(n), jax.random.bits(jax.random.key(m))

    return function


EXACT = (
    lambda key, shape, *_: jax.random.uniform(key, shape),
    lambda key, shape, low, high, p: jax.random.bernoulli(key, p, shape),
    lambda key, shape, low, high, p: jax.random.randint(key, shape, low, high),
    lambda key, shape, *_: jax.random.randint(key, shape, 0, 100, jnp.uint8),
    lambda key, shape, *_: jax.random.rademacher(key, shape, jnp.int32),
    lambda key, shape, *_: jax.random.choice(key, 5, shape),
    lambda key, shape, *_: jax.random.permutation(key, 9),
    lambda key, shape, *_: jax.random.choice(key, 7, (3,), replace=False),
)


@examples(2)
def test_exact_distributions(count):
    """What is made of bits by exact arithmetic."""

    @for_all(count, st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case

        draws = [EXACT[(seed + 3 * i) % len(EXACT)] for i in range(3)]

        def function(key, low, high, p):
            keys = jax.random.split(key, len(draws))
            return [draw(k, shape, low, high, p) for draw, k in zip(draws, keys, strict=True)]

        def draw(rng):
            low, high = rng.integers(-9, 9, 2).astype(np.int32)
            return [*inputs("k")(rng), np.asarray(low), np.asarray(high), np.float32(rng.random())]

        check(function, draw, lanes, shared_of(seed, 4) if lanes else (), seed)


@pytest.mark.full("covered")
@examples(2)
def test_distributions_through_elementary_functions(count):
    @for_all(count, st.sampled_from(SHAPES[:4]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case

        def function(key):
            keys = jax.random.split(key, 4)
            draws = (jax.random.normal, jax.random.exponential, jax.random.gumbel, jax.random.logistic)
            return [f(k, shape) for f, k in zip(draws, keys, strict=True)]

        check(function, inputs("k"), lanes, (), seed, ulp=64, absolute=1e-6)


@pytest.mark.by_default("unsafe_rbg")
@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_other_generators_run_as_plain_jax(impl):
    """With one warning that names what is missing, and the same numbers."""

    def draw(key):
        return jax.random.uniform(key, (3,)), jax.random.split(key)

    fallback._warned.clear()
    kernel = ks.kernel(draw)
    key = jax.random.key(0, impl=impl)
    with pytest.warns(ks.KernelWarning, match="rng_bit_generator"):
        given = kernel(key)
    wanted = draw(key)
    assert jnp.array_equal(given[0], wanted[0])
    assert jnp.array_equal(jax.random.key_data(given[1]), jax.random.key_data(wanted[1]))
