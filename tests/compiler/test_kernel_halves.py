"""float16: held as float32, rounded after each operation, and the same as XLA's."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import kousoku as ks
from kousoku.compiler.api import reason_against

MORE = pytest.mark.full("more cases")
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
"""All numbers of float16: subnormal ones, infinities and NaN of either sign among them."""
RNG = np.random.default_rng(0)
ONE, OTHER, THIRD = (RNG.permutation(EVERY) for _ in range(3))
TAME = np.float16(RNG.normal(size=(48, 40)) * 3)
"""Numbers [lanes, n] of everyday size."""


def both(function, *columns):
    """What kernel and XLA make of the function over lanes; that the kernel is used."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ks.KernelWarning)
        ours = jax.jit(jax.vmap(ks.kernel(function)))(*columns)
    theirs = jax.jit(jax.vmap(function))(*columns)
    pairs = list(zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True))
    assert all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs)
    return [(np.asarray(a), np.asarray(b)) for a, b in pairs]


def check(function, *columns, steps: int = 0):
    """Asserts that they are equal, or so many of float16's own steps apart."""
    for place, (ours, theirs) in enumerate(both(function, *columns)):
        if ours.dtype == np.float16 and steps:
            check_steps(ours, theirs, steps, f"result {place}")
        else:
            np.testing.assert_array_equal(ours, theirs, f"result {place}")


def check_steps(ours: np.ndarray, theirs: np.ndarray, steps: int, name: str) -> None:
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs), name)
    known = ~np.isnan(ours)
    error = np.abs(place_of(ours[known]) - place_of(theirs[known]))
    assert error.max(initial=0) <= steps, f"{name}: {error.max()} steps apart"


def place_of(x: np.ndarray) -> np.ndarray:
    """The number's place among all, counted from 0."""
    bits = x.view(np.uint16).astype(np.int64)
    return np.where(bits >> 15, -(bits & 0x7FFF), bits)


def test_one_number_exactly():
    """Every number there is."""

    def function(x):
        rounds = [lax.round(x, way) for way in (lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN)]
        exact = [lax.neg(x), lax.abs(x), lax.sign(x), lax.floor(x), lax.ceil(x), *rounds, lax.is_finite(x), x == x]
        return [*exact, lax.square(x), lax.sqrt(x), x * 3, x + 0.1, x / 10, x / 3, lax.integer_pow(x, 2)]

    check(function, EVERY)


def test_each_operation_is_rounded():
    """As in NumPy; XLA fuses products and sums where the processor has float16 of its own."""
    ours = jax.vmap(ks.kernel(lambda x, y: x * y - 1))(ONE, OTHER)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ours, ONE * OTHER - np.float16(1))


@pytest.mark.full("covered")
def test_functions_of_one_number():
    """XLA makes some of several operations, each rounded; here they are those of float32, rounded once."""
    names = (
        "exp exp2 expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh rsqrt cbrt erf erfc "
        "erf_inv logistic"
    )
    functions = [getattr(lax, name) for name in names.split()]
    ours = jax.jit(jax.vmap(ks.kernel(lambda x: [function(x) for function in functions])))(EVERY)
    wide = jax.jit(lambda x: [function(x) for function in functions])(EVERY.astype(np.float32))
    for name, half, single in zip(names.split(), ours, wide, strict=True):
        with np.errstate(over="ignore"):
            check_steps(np.asarray(half), np.asarray(single).astype(np.float16), 1, name)


@pytest.mark.full("covered")
def test_two_numbers_exactly():
    def function(x, y, z):
        compared = [x < y, x <= y, x > y, x >= y, x == y, x != y]
        chosen = [lax.max(x, y), lax.min(x, y), jnp.where(z > 0, x, y), lax.rem(x, y)]
        return [x + y, x - y, x * y, x / y, *compared, *chosen]

    check(function, ONE, OTHER, THIRD)
    check(lambda x, y, z: lax.clamp(jnp.float16(-2), x, jnp.float16(7)), ONE, OTHER, THIRD)


def test_functions_of_two_numbers():
    check(lambda x, y: [lax.pow(lax.abs(x), y), lax.atan2(x, y)], TAME[:, 0], TAME[:, 1], steps=1)


@pytest.mark.by_default("float32", "int32", "int8")
@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int32", "float32", *(pytest.param(name, marks=MORE) for name in ("uint8", "int16", "uint32"))],
)
def test_conversions(dtype):
    """There and back. The float32 lie on and beside the middle between two of float16's, and everywhere."""
    check(lambda x: x.astype(dtype), EVERY)
    if dtype == "bool":
        numbers = np.array([False, True])
    elif dtype == "float32":
        below = np.sort(EVERY[np.isfinite(EVERY)].astype(np.float32))
        middle = np.concatenate([(below[1:] + below[:-1]) / 2, np.float32([65520, -65520])])
        sides = [np.nextafter(middle, np.float32(side)) for side in (-np.inf, np.inf)]
        numbers = np.concatenate([middle, *sides, RNG.integers(0, 1 << 32, 50_000, np.uint32).view(np.float32)])
    else:
        bounds = np.iinfo(dtype)
        numbers = RNG.integers(bounds.min, bounds.max, 50_000, dtype, endpoint=True) >> RNG.integers(
            0, 8, 50_000
        ).astype(dtype)
    check(lambda x: x.astype(jnp.float16), numbers)


def test_bits():
    check(lambda x: lax.bitcast_convert_type(x, jnp.uint16), EVERY[~np.isnan(EVERY)])
    check(lambda x: lax.bitcast_convert_type(x, jnp.uint8), EVERY[~np.isnan(EVERY)])
    check(lambda x: lax.bitcast_convert_type(x, jnp.float16), EVERY.view(np.uint16))
    check(lambda x: lax.bitcast_convert_type(x, jnp.float16), EVERY.view(np.uint32))
    check(lambda x: lax.bitcast_convert_type(x, jnp.float16), EVERY[~np.isnan(EVERY)])
    check(lambda x: lax.bitcast_convert_type(x, jnp.float16) * 1, EVERY[~np.isnan(EVERY)])
    check(lambda key: jax.random.uniform(key, (5,), jnp.float16), jax.random.split(jax.random.key(0), 20))


@pytest.mark.full("covered")
def test_elements_move():
    def function(x, i):
        moved = [x[::3], x[i], jnp.flip(x), jnp.pad(x, 2), jnp.concatenate([x, x[:4]]), x.reshape(8, 5).T, jnp.sort(x)]
        written = [x.at[i].set(7.0), x.at[i].max(0.5), lax.dynamic_update_slice(x, x[:3], (i,))]
        return [*moved, *written, lax.top_k(x, 3), jnp.argmax(x), jnp.arange(40).astype(jnp.float16) + x]

    check(function, TAME, np.arange(48, dtype=np.int32))


@pytest.mark.full("covered")
def test_reductions():
    check(lambda x: [lax.reduce_max(x, (0,)), lax.reduce_min(x, (0,)), lax.cummax(x), jnp.sum(x), jnp.mean(x)], TAME)
    ones = np.float16(RNG.integers(-8, 9, (48, 40)))
    check(lambda x: [lax.cumsum(x), lax.reduce(x, np.float16(0), lax.add, (0,)), x[:36].reshape(6, 6) @ x[:6]], ones)


def test_a_sum_at_one_place_is_rounded_at_each_step():
    """2048 + 1 is 2048 in float16, so that a thousand more ones change nothing."""
    check(lambda x: x.at[jnp.zeros(9, int)].add(1.0), np.full((20, 40), 2048, np.float16))
    check(lambda x: lax.fori_loop(0, 9, lambda i, x: x + 1, x), np.full(20, 2048, np.float16))


def test_control_flow_and_constants():
    table = np.float16(np.arange(40) / 7)

    def function(x):
        x = lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x + table, x)
        total, rows = lax.scan(lambda t, r: (lax.max(t, r), t / 3), x[0], x)
        return total, rows, lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] / 2, c[1] + 1), (x[1], 0))

    check(function, TAME)


@pytest.mark.full("covered")
def test_one_lane_shared_arguments_and_derivatives():
    function = lambda x, y: jnp.tanh(x * y)  # noqa: E731
    x, y = TAME[0], TAME[1]
    np.testing.assert_allclose(ks.kernel(function)(x, y), function(x, y), rtol=2e-3)
    ours = jax.vmap(ks.kernel(function), (0, None))(TAME, y)
    np.testing.assert_allclose(ours, jax.vmap(function, (0, None))(TAME, y), rtol=2e-3)
    slope = jax.grad(lambda x: jnp.sum(ks.kernel(function)(x, y)))(x)
    assert slope.dtype == np.float16
    np.testing.assert_allclose(slope, jax.grad(lambda x: jnp.sum(function(x, y)))(x), rtol=2e-2, atol=2e-3)


def test_what_is_left_to_xla():
    half, double = np.float16(1), np.float64(1)
    assert "no rule for nextafter of float16" in str(reason_against(lax.nextafter, half, half))
    assert "no rule for arrays of bfloat16" in str(reason_against(lambda x: x.astype(jnp.bfloat16) + 1, half))
    with jax.enable_x64(True):
        assert reason_against(lambda x: jnp.mod(x, 3.0), half) is None, "what is known is rounded beforehand"
        assert "float64 to float16" in str(reason_against(lambda x: x.astype(jnp.float16), double))
    assert reason_against(lambda x: lax.reduce_precision(x, 8, 10), half) is None
    assert "reduce_precision of float16" in str(reason_against(lambda x: lax.reduce_precision(x, 4, 10), half))
