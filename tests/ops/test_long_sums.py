"""Long sums: as right as float32 can be, and of whole numbers the bits of a plain sum."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kousoku.compiler import kernel
from kousoku.ops import long_sums

TENTHS = 200_000


def tenths(rest):
    """The sum of so many tenths, one after the other."""
    step = lambda _, both: long_sums.add(*both, jnp.float32(0.1))  # noqa: E731
    return jax.lax.fori_loop(0, TENTHS, step, (jnp.float32(0), rest))[0]


@pytest.mark.parametrize("compiled", [jax.jit, kernel], ids=["XLA", "the kernel"])
def test_no_compiler_takes_the_rest_for_nothing(compiled):
    exact = TENTHS * float(np.float32(0.1))
    assert abs(compiled(tenths)(jnp.float32(0)) - exact) <= np.spacing(np.float32(exact))
    assert abs(jax.jit(lambda: tenths(None))() - exact) > 40


@given(st.lists(st.floats(-(2.0**60), 2.0**60, width=32), max_size=40))
def test_a_sum_is_off_by_what_rounding_twice_takes(values):
    total, rest = jnp.float32(0), jnp.float32(0)
    for value in values:
        total, rest = long_sums.add_with_rest(total, rest, jnp.float32(value))
    exact = math.fsum(map(float, values))
    assert abs(float(total) - exact) <= 2.0**-23 * math.fsum(map(abs, values))


@given(st.lists(st.integers(-(2**18), 2**18), max_size=60))
def test_a_sum_of_whole_numbers_has_the_bits_of_a_plain_one(values):
    plain, total, rest = jnp.float32(0), jnp.float32(0), jnp.float32(0)
    for value in values:
        plain, nothing = long_sums.add(plain, None, jnp.float32(value))
        total, rest = long_sums.add_with_rest(total, rest, jnp.float32(value))
        assert nothing is None
        assert (np.asarray(total).tobytes(), float(rest)) == (np.asarray(plain).tobytes(), 0.0)


@pytest.mark.parametrize(("most", "needs"), [(None, True), (10_001, True), (10_000, False), (1, False)])
def test_a_sum_of_few_needs_no_rest(most, needs):
    assert (long_sums.rest_for(most) is not None) == needs


def test_an_infinite_sum_stays_infinite():
    so_far, rest = jnp.float32(0), jnp.float32(0)
    for value in (1.0, jnp.inf, 1.0):
        so_far, rest = long_sums.add_with_rest(so_far, rest, jnp.float32(value))
    assert (float(so_far), float(rest)) == (float("inf"), 0.0)
