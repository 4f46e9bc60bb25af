"""What XLA does with constants, and what vmap makes of operations inside a kernel, against XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import LANES_AND_SEEDS, check, compare, edges, examples, flushed, for_all, inputs, values, width_of

import kousoku as ks

pytestmark = pytest.mark.property

DTYPES = (np.float32, np.float64)


def divided(divisor, dtype, size, lanes, seed):
    with width_of(dtype):
        check(lambda x: x / jnp.asarray(divisor), lambda rng: [values(rng, (size,), dtype)], lanes, seed=seed)


@pytest.mark.full("covered")
@examples(3)
def test_quotients_by_constants_are_products_with_reciprocals(count):
    def run(dtype, size, shared, case):
        lanes, seed = case
        shape = () if shared else (size,)
        divided(np.random.default_rng(seed).normal(size=shape).astype(dtype), dtype, size, lanes, seed)

    for_all(count, st.sampled_from(DTYPES), st.sampled_from((3, 40)), st.booleans(), LANES_AND_SEEDS)(run)


@pytest.mark.full("covered")
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_by_constants_at_the_edges(dtype):
    normal = edges(dtype)[edges(dtype) == flushed(edges(dtype))]
    divided(normal, dtype, len(normal), 37, 0)
    for divisor in (0.0, -0.0, np.inf, np.nan, 3.0, 1e38):
        divided(dtype(divisor), dtype, 40, 3, 0)


@pytest.mark.full("covered")
@examples(3)
def test_reshapes_that_permute_axes_first(count):
    def run(spec, order, case):
        def permuted(x):
            return lax.reshape(x, (2, 3, x.size // 6), dimensions=order)

        lanes, seed = case
        check(permuted, inputs(spec), lanes, seed=seed)

    orders = st.permutations(range(3)).map(tuple)
    for_all(count, st.sampled_from(("f3x4x6", "b3x6x4", "i3x2x12")), orders, LANES_AND_SEEDS)(run)


def test_reshapes_that_permute_axes_of_constants():
    table = np.arange(24, dtype=np.int32).reshape(4, 6)
    check(lambda i: lax.reshape(table, (8, 3), dimensions=(1, 0))[i % 8], inputs("u"), 3)


@examples(3)
def test_loops_whose_rows_end_one_by_one(count):
    def run(rows, case):
        def collatz(numbers, limits, key, step):
            def one(number, limit):
                def going(state):
                    return (state[0] != 1) & (state[1] < limit)

                def halve_or_grow(state):
                    n, count, key = state
                    n = jnp.where(n % 2 == 0, n // 2, 3 * n + step)
                    return n, count + 1, jax.random.fold_in(key, n)

                return lax.while_loop(going, halve_or_grow, (jnp.abs(number) + 1, 0, key))

            return jax.vmap(jax.vmap(one))(numbers, limits)

        def draw(rng):
            return [*inputs(f"i{rows}x3 i{rows}x3 k")(rng), np.int32(1)]

        lanes, seed = case
        check(collatz, draw, lanes, seed=seed)

    for_all(count, st.sampled_from((1, 4, 20)), LANES_AND_SEEDS)(run)


def test_what_depends_on_the_platform_is_the_cpus():
    def named(x):
        return lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, default=lambda x: x + 3)

    def other(x):
        return lax.platform_dependent(x, cuda=lambda x: x + 2, default=lambda x: x + 3)

    check(lambda x: (named(x), other(x)), inputs("i"), 3)


@pytest.mark.by_default("6-strides1")
@pytest.mark.parametrize(
    ("groups", "strides"),
    [(3, (2, 1)), (6, (1, 1)), pytest.param(2, (1, 1), marks=pytest.mark.full("more cases"))],
)
def test_convolutions_in_groups_of_channels(groups, strides):
    """Up to one group for each channel, as where each is blurred by itself."""

    def function(image, weights):
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            image, weights, strides, "SAME", dimension_numbers=numbers, feature_group_count=groups
        )

    rng = np.random.default_rng(groups)
    image = rng.integers(-4, 5, (5, 1, 6, 5, 6)).astype(np.float32)
    weights = rng.integers(-4, 5, (5, 3, 2, 6 // groups, 12)).astype(np.float32)
    compare(function, [image, weights], [(), (1,)])


WIDER = [("uint8", "int32"), ("uint8", "float32"), ("int8", "int16"), ("int32", "float32"), ("float16", "float32")]


def most_of(dtype: str) -> int:
    """What factors are below: float16 holds all their sums exactly then, and bytes do not."""
    return 10 if dtype == "float16" else 100


@pytest.mark.by_default("uint8-float32-lanes", "int8-int16-lanes", "uint8-int32-arrays", "float16-float32-arrays")
@pytest.mark.parametrize("arrays", [False, True], ids=["lanes", "arrays"])
@pytest.mark.parametrize(("of", "into"), WIDER)
def test_convolutions_of_narrow_numbers_into_wide_ones(of, into, arrays):
    """Beside one of the same factors that stays narrow: the two are no equal operations."""

    def function(image, weights):
        def convolved(into=None):
            return lax.conv_general_dilated(image, weights, (1, 1), "VALID", preferred_element_type=into)

        return convolved(into) * jnp.asarray(2, into), convolved(), convolved(into)

    rng = np.random.default_rng(3)
    image, weights = (rng.integers(0, most_of(of), shape).astype(of) for shape in ((3, 2, 3, 6, 5), (3, 4, 3, 2, 3)))
    kernel = ks.kernel(function, arrays=arrays)
    got, expected = jax.vmap(kernel)(image, weights), jax.vmap(function)(image, weights)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("of", "into"), WIDER)
def test_products_of_the_same_factors_into_several_types(of, into):
    def function(x, y):
        narrow, wide = jnp.dot(x, y), jnp.dot(x, y, preferred_element_type=into)
        return wide, narrow, jnp.dot(x, y, preferred_element_type="float32") if into != "float32" else wide

    rng = np.random.default_rng(4)
    x, y = (rng.integers(0, most_of(of), shape).astype(of) for shape in ((3, 3, 20), (3, 20, 2)))
    for ours, theirs in zip(jax.vmap(ks.kernel(function))(x, y), jax.vmap(function)(x, y), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
