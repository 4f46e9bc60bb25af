"""Numbers of which some are known: arithmetic is that of floats, and what zeros and ones make needless is left out."""

import operator

import jax
import jax.numpy as jnp
import pytest

from kousoku.physics.algebra.scalar import Num, dot, num, nums, to_array, total

KNOWN = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def operations(function) -> int:
    """How many operations a function of an unknown number is traced to."""
    return len(jax.make_jaxpr(lambda x: jnp.asarray(function(Num(x)).value, jnp.float32))(jnp.float32(3.0)).eqns)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("known", KNOWN)
def test_arithmetic_is_that_of_floats(name, known):
    apply, unknown = OPERATIONS[name], Num(jnp.float32(3.0))
    for other in (known, Num(known)):
        if known or name != "/":
            assert float(apply(unknown, other).value) == pytest.approx(apply(3.0, known))
        assert float(apply(other, unknown).value) == pytest.approx(apply(known, 3.0))
    assert float(apply(unknown, Num(jnp.float32(4.0))).value) == pytest.approx(apply(3.0, 4.0))
    if known:
        both = apply(num(1.5), known)
        assert both.known
        assert both.value == apply(1.5, known)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: x + 0.0, 0),
        (lambda x: 0.0 + x, 0),
        (lambda x: x - 0.0, 0),
        (lambda x: x * 1.0, 0),
        (lambda x: 1.0 * x, 0),
        (lambda x: x / 1.0, 0),
        (lambda x: 0.0 - x, 1),
        (lambda x: -1.0 * x, 1),
        (lambda x: x * 2.0, 1),
        (lambda x: x + 1.0, 1),
        (lambda x: total([num(0.0), x, num(0.0)]), 0),
        (lambda x: dot([x, num(2.0), num(0.0)], [num(1.0), num(0.0), x]), 0),
    ],
)
def test_what_is_needless_is_left_out(function, count):
    assert operations(function) == count


@pytest.mark.parametrize("function", [lambda x: x * 0.0, lambda x: 0.0 * x, lambda x: 0.0 / x])
def test_a_known_zero_makes_zero_of_anything(function):
    for value in (3.0, float("nan"), float("inf")):
        found = function(Num(jnp.float32(value)))
        assert found.known
        assert found.value == 0.0


def test_comparisons_are_those_of_floats():
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        for known in (2.0, 3.0, 4.0):
            assert bool(compare(Num(jnp.float32(3.0)), known)) == compare(3.0, known)
            assert compare(num(3.0), known) is compare(3.0, known)


@pytest.mark.parametrize("length", [1, 3, 8, 9, 13])
def test_inner_products(length):
    x = jnp.arange(1.0, length + 1.0, dtype=jnp.float32)
    found = dot(nums(x), nums(x + 1.0))
    assert float(found.value) == sum(i * (i + 1) for i in range(1, length + 1))
    assert to_array(nums(x), jnp.float32).tolist() == x.tolist()
