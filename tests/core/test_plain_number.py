"""Numbers that arrays hold, as Python's own."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.core.plain_number import EXACT, in_float, plain_number


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (np.array(-1.5), -1.5),
        (np.array(3), 3),
        (np.float32(0.25), 0.25),
        (jnp.float32(0.25), 0.25),
        (jnp.int32(3), 3),
        (jnp.bfloat16(0.5), 0.5),
        (jnp.array(True), True),
        (jnp.complex64(1j), 1j),
        (np.array("a"), "a"),
        (np.array(None), None),
    ],
)
def test_a_scalar_becomes_what_it_holds(given, number):
    made = plain_number(given)
    assert type(made) is type(number)
    assert made == number


def test_all_else_is_as_it_is():
    for other in (np.ones(1), jnp.ones(2), jax.random.key(0), 3, 10**400, "a", None, len):
        assert plain_number(other) is other
    jax.eval_shape(lambda x: [x, plain_number(x) is x or 1 / 0][0], 1.0)


def test_a_whole_number_that_no_float_holds_is_infinite():
    assert in_float(10**400) == math.inf
    assert in_float(-(10**400)) == -math.inf
    assert type(in_float(EXACT + 1)) is float
    for other in (EXACT, -3, True, 1e300, None):
        assert in_float(other) is other
