"""Element-wise operations in a kernel against XLA, at the edges of their domains."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import (
    LANES_AND_SEEDS,
    SHAPES,
    check,
    compare,
    edges,
    examples,
    for_all,
    shared_of,
    values,
    width_of,
)

import kousoku as ks

pytestmark = pytest.mark.property

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")

COMPARISONS = (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)
INT_BINARY = (
    lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor,
    lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic, lax.mulhi, *COMPARISONS,
)  # fmt: skip
INT_UNARY = (
    lax.neg, lax.abs, lax.sign, lax.bitwise_not, lax.population_count, lax.clz, lax.square,
    lambda x: lax.integer_pow(x, 0), lambda x: lax.integer_pow(x, 1), lambda x: lax.integer_pow(x, 5),
    lambda x: lax.div(x, jnp.full_like(x, 7)), lambda x: lax.rem(x, jnp.full_like(x, 7)),
)  # fmt: skip
BOOL_BINARY = (lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max, lax.min, *COMPARISONS)
FLOAT_BINARY = (lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.nextafter, *COMPARISONS)
FLOAT_UNARY = (
    lax.neg, lax.abs, lax.sign, lax.floor, lax.ceil, lax.is_finite, lax.square, lax.sqrt,
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    lambda x: lax.max(x, jnp.zeros_like(x)), lambda x: lax.min(jnp.ones_like(x), x),
    lambda x: lax.max(-jnp.zeros_like(x), x), lambda x: lax.min(x, jnp.zeros_like(x)),
    lambda x: lax.reduce_precision(x, 5, 10), lambda x: lax.reduce_precision(x, 8, 7),
    lambda x: lax.reduce_precision(x, 8, 23), lambda x: lax.reduce_precision(x, 4, 3),
)  # fmt: skip


def all_of(functions):
    return lambda *xs: [f(*xs) for f in functions]


def against_xla(functions, arity, dtype, shape, lanes_and_seed, **exactness):
    """Some of the functions, in one kernel."""
    lanes, seed = lanes_and_seed
    shared = shared_of(seed, arity) if lanes else ()
    functions = [functions[(seed + 3 * i) % len(functions)] for i in range(min(4, len(functions)))]

    def draw(rng):
        return [values(rng, shape, dtype) for _ in range(arity)]

    with width_of(dtype):
        check(all_of(functions), draw, lanes, shared, seed, **exactness)


@pytest.mark.by_default("dtypes1-2")
@examples(2)
@pytest.mark.parametrize("dtypes", [SIGNED, UNSIGNED])
def test_integers(count, dtypes):
    @for_all(count, st.sampled_from(dtypes), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        against_xla(INT_BINARY, 2, dtype, shape, case)
        against_xla(INT_UNARY[2 * (dtype in UNSIGNED) :], 1, dtype, shape, case)


@pytest.mark.by_default("int8")
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_all_pairs_of_edges_of_integers(dtype):
    check_pairs(INT_BINARY, dtype)


@pytest.mark.by_default("float64")
@pytest.mark.parametrize("dtype", FLOATS)
def test_all_pairs_of_edges_of_floats(dtype):
    check_pairs(FLOAT_BINARY, dtype)


def check_pairs(functions, dtype):
    """Every edge value with every other, in many lanes."""
    xs, ys = (a.ravel() for a in np.meshgrid(edges(dtype), edges(dtype)))
    with width_of(dtype):
        compare(all_of(functions), [xs, ys])


@examples(1)
def test_booleans(count):
    @for_all(count, st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(shape, case):
        against_xla(BOOL_BINARY, 2, "bool", shape, case)
        against_xla((lax.bitwise_not,), 1, "bool", shape, case)


@pytest.mark.full("covered")
@examples(3)
def test_floats(count):
    @for_all(count, st.sampled_from(FLOATS), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        against_xla(FLOAT_BINARY, 2, dtype, shape, case)
        against_xla(FLOAT_UNARY, 1, dtype, shape, case)
        against_xla((lax.rsqrt,), 1, dtype, shape, case, ulp=2)


@pytest.mark.by_default("float32")
@pytest.mark.parametrize("dtype", FLOATS)
def test_edges_of_floats(dtype):
    with width_of(dtype):
        compare(all_of(FLOAT_UNARY), [np.concatenate([edges(dtype), -edges(dtype)])])


@pytest.mark.by_default("float32")
@pytest.mark.parametrize("dtype", FLOATS)
def test_divisors_that_are_known(dtype):
    """Where XLA may multiply by the reciprocal."""
    info = np.finfo(dtype)
    divisors = [7.0, -0.1, 8.0, 0.0, -0.0, np.inf, np.nan, info.max, info.tiny, info.tiny / 4]
    divide = [lambda x, d=d: lax.div(x, jnp.full_like(x, d)) for d in divisors]
    table = np.random.default_rng(3).normal(size=9).astype(dtype)
    with width_of(dtype):
        numbers = edges(dtype)
        compare(all_of(divide), [numbers])
        compare(lambda x: x / jnp.asarray(table), [np.repeat(numbers[:, None], 9, 1)])


@examples(1)
def test_total_order(count):
    lax_all = pytest.importorskip("jax._src.lax.lax")
    orders = [lambda x, y, p=p: p.bind(x, y) for p in (lax_all.eq_to_p, lax_all.lt_to_p, lax_all.le_to_p)]

    @for_all(count, st.sampled_from(("float32", "float64", "int8", "uint32")), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        against_xla(orders, 2, dtype, shape, case)


@examples(2)
def test_choices(count):
    every = ("float32", "float64", "int8", "uint16", "int32", "uint64", "bool")

    @for_all(count, st.sampled_from(every), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case

        def choose(one, which, number, x, y, z):
            low, high = (x.ravel()[0], y.ravel()[0]) if x.size else (None, None)
            chosen = [lax.select_n(which, x, y), lax.select_n(one, y, z), lax.select_n(number, x, y, z)]
            bounded = [lax.clamp(x, y, z)] + ([] if low is None else [lax.clamp(low, z, high)])
            return chosen + ([] if dtype == "bool" else bounded)

        def draw(rng):
            one, which = rng.random() < 0.5, rng.random(shape) < 0.5
            number = rng.integers(0, 3, shape).astype(np.int32)
            return [np.asarray(one), which, number, *(values(rng, shape, dtype) for _ in range(3))]

        with width_of(dtype):
            check(choose, draw, lanes, shared_of(seed, 6) if lanes else (), seed)


DTYPES = (*SIGNED, *UNSIGNED, *FLOATS, "bool")


@pytest.mark.by_default("uint16-1")
@examples(1, 10)
@pytest.mark.parametrize("source", DTYPES)
def test_conversions(count, source):
    @for_all(count, st.sampled_from(SHAPES[1:6]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case
        with width_of("int64"):
            check(all_of(conversions()), lambda rng: [values(rng, shape, source, 0.8)], lanes, (), seed)


def conversions():
    return [lambda x, to=to: lax.convert_element_type(x, to) for to in DTYPES]


@pytest.mark.by_default("int64", "uint16")
@pytest.mark.parametrize("source", DTYPES)
def test_conversions_of_edges(source):
    with width_of("int64"):
        compare(all_of(conversions()), [edges(source)])


@examples(2)
def test_bits(count):
    sizes = ((("float32", "int32", "uint32"), ("int8", "uint16")), (("float64", "int64"), ("uint32", "uint8")))

    @for_all(count, st.sampled_from(sizes), st.sampled_from(SHAPES[:6]), LANES_AND_SEEDS)
    def run(size, shape, case):
        same, smaller = size

        def casts(x):
            parts = [lax.bitcast_convert_type(x, to) for to in (*same, *smaller)]
            return parts, [lax.bitcast_convert_type(part, x.dtype) for part in parts[len(same) :]]

        lanes, seed = case
        with width_of("int64"):
            check(casts, lambda rng: [values(rng, shape, same[seed % len(same)])], lanes, (), seed)


@examples(1)
def test_powers_with_integers(count):
    @for_all(count, st.sampled_from(("int32", "uint8")), st.sampled_from(SHAPES[:6]), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case

        def draw(rng):
            return [rng.normal(size=shape).astype(np.float32) * 2, values(rng, shape, dtype, 0.0)]

        check(lax.pow, draw, lanes, (), seed, ulp=4)


def test_the_zero_of_an_integer_has_no_sign():
    """Also of one that was a negative float: XLA's optimiser makes -0.0 of it here, JAX without jit does not."""
    x = jnp.array([-0.3, -0.0, 0.3, -1.5], jnp.float32)

    def scaled(x):
        return jnp.round(jnp.clip(x.astype(jnp.int32).astype(jnp.float32), -9.0, 9.0) * 4.0) * 0.25

    found = np.asarray(jax.jit(jax.vmap(ks.kernel(scaled)))(x))
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, -1.0])
    np.testing.assert_array_equal(np.signbit(found), np.signbit(scaled(x)))
    assert not np.signbit(found[:3]).any()


@pytest.mark.by_default("nan-float32")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bound", [0.0, -0.0, 1.5, -1.5, np.inf, np.nan])
def test_the_larger_and_the_smaller_of_a_number_and_a_bound(bound, dtype):
    """NaN of NaN, and the sign of zeros, whether the bound is known when the kernel is compiled or not."""
    with jax.enable_x64(dtype == np.float64):
        x = np.array([np.nan, -np.inf, -2.0, -1.5, -0.0, 0.0, 1.5, 2.0, np.inf], dtype)
        up = [
            b if b > a or (a == b == 0 and not np.signbit(b)) or np.isnan(b) else a for a in x for b in [dtype(bound)]
        ]
        down = [b if b < a or (a == b == 0 and np.signbit(b)) or np.isnan(b) else a for a in x for b in [dtype(bound)]]
        fixed, given = jnp.asarray(bound, dtype), jnp.full(x.shape, bound, dtype)
        for function, wanted in ((lax.max, up), (lax.min, down)):
            ways = (
                jax.vmap(ks.kernel(lambda x, f=function: f(x, fixed)))(x),
                jax.vmap(ks.kernel(lambda x, f=function: f(fixed, x)))(x),
                jax.vmap(ks.kernel(lambda x, y, f=function: f(x, y)))(x, given),
                jax.vmap(ks.kernel(lambda x, y, f=function: f(y, x)))(x, given),
            )
            for found in ways:
                np.testing.assert_array_equal(found, wanted)
                np.testing.assert_array_equal(
                    np.signbit(found) & ~np.isnan(found), np.signbit(wanted) & ~np.isnan(wanted)
                )
