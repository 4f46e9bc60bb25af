"""Reductions, running totals and products of matrices in a kernel, against XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import strategies as st
from jax import lax
from kernel_oracle import LANES_AND_SEEDS, SHAPES, check, compare, examples, for_all, shared_of, values, width_of

import kousoku as ks

pytestmark = pytest.mark.property

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
EXACT = {
    "i": (
        lax.reduce_sum,
        lax.reduce_prod,
        lax.reduce_max,
        lax.reduce_min,
        lax.reduce_and,
        lax.reduce_or,
        lax.reduce_xor,
    ),
    "f": (lax.reduce_max, lax.reduce_min),
    "b": (lax.reduce_and, lax.reduce_or, lax.reduce_xor, lax.reduce_max, lax.reduce_min),
}
RUNNING = {"i": (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin), "f": (lax.cummax, lax.cummin)}


def kind_of(dtype):
    return np.dtype(dtype).kind.replace("u", "i")


def tame(rng, shape, dtype):
    """Numbers whose sums have few rounding errors to speak of."""
    return rng.uniform(0.5, 1.5, shape).astype(dtype)


@examples(5)
def test_exact_reductions(count):
    @for_all(
        count, st.sampled_from((*INTEGERS, "float32", "float64", "bool")), st.sampled_from(SHAPES), LANES_AND_SEEDS
    )
    def run(dtype, shape, case):
        lanes, seed = case
        axes = tuple(i for i in range(len(shape)) if seed >> i & 1)

        def function(x):
            results = [f(x, axes) for f in EXACT[kind_of(dtype)]]
            results += [lax.expand_dims(results[0], (0,)), results[0] == results[-1]]
            for axis in range(len(shape)):
                if shape[axis]:
                    results += [lax.argmax(x, axis, jnp.int32), lax.argmin(x, axis, jnp.uint8)]
            return results

        with width_of(dtype):
            check(function, lambda rng: [values(rng, shape, dtype, 0.3)], lanes, (), seed)


@pytest.mark.full("covered")
@examples(2)
def test_sums_and_products_of_floats(count):
    @for_all(count, st.sampled_from(("float32", "float64")), st.sampled_from(SHAPES), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case
        axes = tuple(i for i in range(len(shape)) if seed >> i & 1)
        length = max(1, int(np.prod(shape)))

        def function(x):
            results = [lax.reduce_sum(x, axes), lax.reduce_prod(x, axes)]
            for axis in range(len(shape)):
                results += [
                    lax.cumsum(x, axis, reverse=bool(seed & 8)),
                    lax.cumprod(x, axis),
                    lax.cumlogsumexp(x, axis),
                ]
            return results

        with width_of(dtype):
            check(function, lambda rng: [tame(rng, shape, dtype)], lanes, (), seed, ulp=4 * length)


@examples(3)
def test_running_totals(count):
    @for_all(count, st.sampled_from((*INTEGERS, "float32")), st.sampled_from(SHAPES[1:]), LANES_AND_SEEDS)
    def run(dtype, shape, case):
        lanes, seed = case
        axis, reverse = seed % len(shape), bool(seed & 8)
        with width_of(dtype):
            check(
                lambda x: [f(x, axis, reverse) for f in RUNNING[kind_of(dtype)]],
                lambda rng: [values(rng, shape, dtype, 0.1)],
                lanes,
                (),
                seed,
            )


def test_ties_and_nan_in_argmax():
    x = np.array([[1, 3, 3, 0], [np.nan, 1, np.nan, 5], [-0.0, 0.0, -0.0, 0.0], [-np.inf] * 4], np.float32)
    check(
        lambda y: [f(y, 0, jnp.int32) for f in (lax.argmax, lax.argmin)],
        lambda rng: [rng.permutation(x[rng.integers(4)])],
        37,
    )


DOTS = (
    ("f3 f3", (((0,), (0,)), ((), ()))),
    ("f5x9 f9x3", (((1,), (0,)), ((), ()))),
    ("f9x5 f9x3", (((0,), (0,)), ((), ()))),
    ("f2x3x4 f2x4x5", (((2,), (1,)), ((0,), (0,)))),
    ("f2x3x4 f4x3x2", (((1, 2), (1, 0)), ((0,), (2,)))),
    ("f3 f4", (((), ()), ((), ()))),
    ("f3x0 f0x2", (((1,), (0,)), ((), ()))),
    ("f40 f40", (((), ()), ((0,), (0,)))),
    ("f1x40 f40x40", (((1,), (0,)), ((), ()))),
)


@pytest.mark.full("covered")
@examples(4)
def test_products_of_matrices(count):
    @for_all(
        count, st.sampled_from(DOTS), st.sampled_from(("float32", "int32", "uint8", "bool", "float64")), LANES_AND_SEEDS
    )
    def run(dot, dtype, case):
        lanes, seed = case
        spec, numbers = dot
        shapes = [tuple(map(int, word[1:].split("x"))) for word in spec.split()]
        floating = np.dtype(dtype).kind == "f"
        ulp = 200 if floating else 0

        def draw(rng):
            return [tame(rng, s, dtype) if floating else values(rng, s, dtype, 0.1) for s in shapes]

        with width_of(dtype):
            check(
                lambda x, y: lax.dot_general(x, y, numbers), draw, lanes, shared_of(seed, 2) if lanes else (), seed, ulp
            )


def test_products_of_narrow_integers_in_wide_ones():
    def function(x, y):
        return lax.dot_general(x, y, (((0,), (0,)), ((), ())), preferred_element_type=jnp.int32)

    check(function, lambda rng: [values(rng, (9,), "int8"), values(rng, (9,), "int8")], 5)


@examples(2)
def test_reductions_by_a_function_of_ones_own(count):
    @for_all(count, st.sampled_from(SHAPES[1:]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case
        axes = tuple(i for i in range(len(shape)) if seed >> i & 1) or (0,)

        def function(x, y):
            def both(a, b):
                return jnp.where(a[0] >= b[0], a[0], b[0]), a[1] ^ b[1]

            return lax.reduce((x, y), (np.int32(-(2**31)), np.uint32(0)), both, axes)

        check(function, lambda rng: [values(rng, shape, "int32"), values(rng, shape, "uint32")], lanes, (), seed)


@examples(2)
def test_windows(count):
    @for_all(count, st.sampled_from([(9,), (40,), (5, 9)]), LANES_AND_SEEDS)
    def run(shape, case):
        lanes, seed = case
        rng = np.random.default_rng(seed)
        window, strides = [tuple(int(n) for n in rng.integers(1, 4, len(shape))) for _ in range(2)]
        padding = [(int(low), int(high)) for low, high in rng.integers(0, 3, (len(shape), 2))]
        dilation = tuple(int(n) for n in rng.integers(1, 3, len(shape)))

        def function(x):
            args = window, strides, padding, dilation
            own = lax.reduce_window(x, np.int32(0), lambda a, b: a + b + a * b, *args)
            sums = lax.reduce_window(x, np.int32(0), lax.add, *args)
            return own, sums, lax.reduce_window(x, np.int32(-(2**31)), lax.max, *args)

        check(function, lambda rng: [values(rng, shape, "int32")], lanes, (), seed)


LONG = {
    "one axis": ((36,), (0,)),
    "the last": ((8, 8), (1,)),
    "the first": ((8, 8), (0,)),
    "both": ((6, 9), (0, 1)),
    "many rows": ((40, 8), (1,)),
}


@pytest.mark.by_default("one axis")
@pytest.mark.parametrize(
    "name", ["one axis", "the last", *(pytest.param(n, marks=pytest.mark.full("more cases")) for n in [*LONG][2:])]
)
def test_what_is_reduced_is_not_computed_over_and_over_in_the_code(name):
    """A long chain of operations is written once, in a loop, and not for each of the terms that are written out."""
    shape, axes = LONG[name]

    def function(x):
        for k in range(40):
            x = (x ^ k) * 3
        return lax.reduce_max(x, axes)

    explained = ks.kernel(function).explain(np.zeros(shape, np.int32), lanes=64)
    assert explained.llvm_ir.count(" mul <") < 2 * 40
    compare(function, [np.random.default_rng(0).integers(-1000, 1000, (20, *shape), np.int32)])


MANY_TERMS = [
    ((255,), (0,)), ((256,), (0,)), ((4097,), (0,)), ((84, 84, 3), (0, 1, 2)), ((3, 300), (1,)), ((300, 3), (0,)),
    ((5, 70, 70), (0, 2)), ((1, 20_000), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "axes"), MANY_TERMS, ids=str)
@pytest.mark.parametrize("lanes", [1, 11])
def test_the_error_of_a_long_sum_does_not_grow_with_its_length(shape, axes, lanes):
    """One number after the other, 20,000 of them would err by some hundred units in the last place."""
    given = np.random.default_rng(len(shape)).uniform(size=(lanes, *shape)).astype(np.float32)
    sums = jax.vmap(ks.kernel(lambda x: x.sum(axes)))(given)
    exact = given.astype(np.float64).sum(tuple(axis + 1 for axis in axes))
    np.testing.assert_allclose(sums, exact, rtol=16 * 2.0**-24)


def test_long_products_and_what_is_no_number():
    given = np.random.default_rng(0).uniform(0.99, 1.01, size=(9, 700)).astype(np.float32)
    product = jax.vmap(ks.kernel(jnp.prod))(given)
    np.testing.assert_allclose(product, given.astype(np.float64).prod(1), rtol=1e-4)
    given[3, 650] = np.nan
    assert np.isnan(jax.vmap(ks.kernel(jnp.sum))(given)).tolist() == [lane == 3 for lane in range(9)]
