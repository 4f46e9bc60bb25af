"""Corners of primitives that random inputs seldom meet, each against XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_oracle import compare

from kousoku.compiler import kernel

WAYS = ((), (0,))
"""Every lane with arguments of its own; the first argument the same for all."""


OF_BITS = (jnp.bitwise_and, jnp.bitwise_or, jnp.bitwise_xor, jnp.equal, jnp.less)
OF_NUMBERS = (jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum)


@pytest.mark.parametrize(
    ("operations", "dtype", "numbers"),
    [
        (OF_BITS, np.bool_, (False, True)),
        pytest.param((*OF_BITS, *OF_NUMBERS), np.int32, (0, 1, -1), marks=pytest.mark.full("more cases")),
        pytest.param(OF_NUMBERS, np.float32, (0.0, 1.0), marks=pytest.mark.full("more cases")),
    ],
)
def test_what_is_known_beside_an_array_may_have_fewer_elements(operations, dtype, numbers):
    """JAX leaves a scalar beside an array as it is; what is made of both has the array's shape, and goes on with it."""
    shapes = ((), (1, 1), (1, 5), (2, 1), (2, 5))
    known = [number if shape == () else np.full(shape, number, dtype) for number in numbers for shape in shapes]

    def function(x):
        made = [op(*pair) for op in operations for c in known for pair in ((x, c), (c, x))]
        return [each[:, ::-1] for each in made], [jnp.sum(each, axis=1) for each in made]

    x = np.arange(30).reshape(3, 2, 5) % 3 - 1
    compare(function, [x.astype(dtype)])


@pytest.mark.parametrize("number", [-1, 0, 2, 7])
def test_a_case_beyond_the_last_is_the_last(number):
    compare(lambda x: lax.select_n(jnp.int32(number), x, 2 * x, 3 * x), [np.float32([[1.0, 2.0]])])


def test_a_product_that_is_one_number_may_be_added_to_anything():
    x = np.arange(15, dtype=np.float32).reshape(3, 5)

    def function(x, b):
        return x @ x + b, x @ x + x, jnp.dot(x, 2 * x) + jnp.dot(x, x), jax.grad(lambda x: (x @ x + 1) ** 2)(x)

    compare(function, [x, np.float32([1.0, 2.0, 3.0])], [(), (0, 1)])


def test_fewer_bits_at_the_ends_of_their_range():
    """Around the least and the largest number of each: what would be subnormal is 0, what is too large infinite."""
    formats = ((5, 10), (4, 3), (8, 7), (5, 2))
    ends = [
        2.0**n
        for e, _ in formats
        for n in (1 - 2 ** (e - 1), 2 - 2 ** (e - 1), 2 ** (e - 1) - 1, 2 ** (e - 1))
        if -126 < n < 128
    ]
    near = [np.nextafter(np.float32(x), np.float32(to)) for x in ends for to in (0, np.inf)]
    x = np.float32([*ends, *near, 65519.0, 65520.0, 247.9, 248.0])
    x = np.stack([x, -x], axis=1)
    compare(lambda x: [lax.reduce_precision(x, *bits) for bits in formats], [x])


def test_running_totals_from_the_end():
    """In registers, and in a loop over memory, along either axis."""
    x = np.random.default_rng(0).integers(-9, 9, (3, 7, 11)).astype(np.int32)
    of = lambda x: [f(x, a, reverse=True) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin) for a in (0, 1)]  # noqa: E731
    compare(of, [x])
    compare(of, [x[:, :2, :3]])


PLACES = np.int32([-9, -1, 0, 2, 3, 4, 5, 6, 2**31 - 1, -(2**31)])


@pytest.mark.parametrize("size", [6, 90])
def test_windows_that_do_not_fit_are_filled_or_moved_as_a_whole(size):
    numbers = lax.GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(), start_index_map=(0,))
    read = lambda x, i, mode: lax.gather(x, i[None], numbers, (3,), mode=mode)  # noqa: E731
    x = np.tile(np.arange(1, size + 1, dtype=np.int32), (len(PLACES), 1))
    compare(lambda x, i: [read(x, i, mode) for mode in ("fill", "clip")], [x, PLACES + size - 6], WAYS)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool", "float32"])
def test_what_is_read_outside_is_what_jax_fills_with(dtype):
    x = np.ones((len(PLACES), 5), dtype)
    compare(lambda x, i: x.at[i].get(mode="fill", wrap_negative_indices=False), [x, PLACES], WAYS)
    filled = kernel(lambda x, i: x.at[i].get(mode="fill"))(jnp.ones(5, dtype), jnp.int32(7))
    wanted = {"b": True, "i": np.iinfo(dtype).min if dtype[0] == "i" else 0, "f": np.nan}
    kind = np.dtype(dtype).kind
    assert np.array_equal(filled, np.iinfo(dtype).max if kind == "u" else wanted[kind], equal_nan=kind == "f")


@pytest.mark.parametrize("size", [5, 90])
def test_windows_are_written_where_they_fit_or_moved_to_there(size):
    numbers = lax.ScatterDimensionNumbers((0,), (), (0,))
    write = lambda x, i, mode: lax.scatter_add(x, i[None], jnp.int32([10, 20, 30]), numbers, mode=mode)  # noqa: E731

    def function(x, i):
        single = [x.at[i].add(7, mode=mode, wrap_negative_indices=False) for mode in ("clip", "drop")]
        return [*single, *(write(x, i, mode) for mode in ("clip", "drop"))]

    x = np.tile(np.arange(size, dtype=np.int32), (len(PLACES), 1))
    compare(function, [x, PLACES + size - 5], WAYS)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_the_start_of_a_slice_counts_as_its_dtype_says(dtype):
    """200 is beyond the end of an array of 9, not before its beginning."""
    starts = np.array([0, 3, 6, 7, 127, 128, 200, 255]).astype(dtype)
    x = np.tile(np.arange(9, dtype=np.int32), (len(starts), 1))
    compare(
        lambda x, i: (
            lax.dynamic_slice(x, (i,), (3,)),
            lax.dynamic_update_slice(x, -x[:3], (i,)),
            x.at[i].get(mode="clip"),
        ),
        [x, starts],
        WAYS,
    )


def test_powers_with_whole_exponents_keep_their_sign():
    """Of a negative base odd powers are negative, of -0 too."""
    x, n = np.meshgrid(np.float32([-3.0, -1.5, -1.0, -0.0, 0.0, 2.0, -np.inf]), np.int32([-3, -2, -1, 0, 1, 2, 3, 5]))
    compare(lax.pow, [x.ravel(), n.ravel()], ulp=4)


@pytest.mark.parametrize("size", [3, 40])
def test_running_sums_of_negative_zeros_are_zeros(size):
    """XLA begins with 0, whatever comes then."""
    x = -jnp.zeros(size, jnp.float32)
    both = lambda x: (lax.cumsum(x), lax.cumsum(x, reverse=True))  # noqa: E731
    for given, wanted in zip(kernel(both)(x), jax.jit(both)(x), strict=True):
        np.testing.assert_array_equal(np.signbit(given), np.signbit(wanted))
