"""What the compiler cannot do is plain JAX, with one warning that says why."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.compiler import reason_against
from kousoku.compiler.lowering import RULES


def doubled(x):
    return jnp.sinh(x) * jnp.float32(2)


def test_a_mistake_of_the_compiler_costs_speed_and_is_told(monkeypatch):
    def broken(*_):
        raise ValueError("two lines\nof trouble")

    monkeypatch.setitem(RULES, "sinh", broken)
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    with pytest.warns(ks.KernelWarning, match=r"the compiler itself fails on it.*\(ValueError: two lines\)") as warned:
        got = jax.vmap(ks.kernel(doubled))(x)
    np.testing.assert_array_equal(got, jax.vmap(doubled)(x))
    assert len(warned) == 1
    assert "doubled" in str(warned[0].message)
    assert "ValueError" in str(reason_against(doubled, x[0]))


def test_a_mistake_of_the_users_is_an_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        ks.kernel(lambda x: x + "hello")(np.float32(1))


def test_the_warning_comes_once():
    def function(x):
        return jnp.linalg.eigvalsh(x)

    x = np.eye(2, dtype=np.float32)
    with pytest.warns(ks.KernelWarning, match="there is no rule for eigh") as warned:
        results = [ks.kernel(function)(scale * x) for scale in (np.float32(1), np.float32(4))]
    np.testing.assert_allclose(results[1], 4 * results[0])
    assert len(warned) == 1


def centred(x):
    return x - jax.lax.pmean(x, "i")


def numbered(x):
    return x + jax.lax.axis_index("i").astype(x.dtype)


@pytest.mark.parametrize("function", [centred, numbered])
@pytest.mark.parametrize("jitted", [False, True])
def test_lanes_that_meet_over_an_axis_of_the_callers_are_plain_jax(function, jitted):
    x = jnp.arange(3.0)
    made = jax.vmap(ks.kernel(function), axis_name="i")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got = (jax.jit(made) if jitted else made)(x)
    np.testing.assert_array_equal(got, jax.vmap(function, axis_name="i")(x))
    assert all("its lanes meet over 'i'" in str(each.message) for each in told if each.category is ks.KernelWarning)


@pytest.mark.parametrize("reduce", [jax.lax.pmean, jax.lax.psum, jax.lax.pmax, jax.lax.pmin])
def test_an_axis_of_its_own_is_in_the_kernel(reduce):
    def function(x):
        return jax.vmap(lambda row: row - reduce(row, "i"), axis_name="i")(jnp.stack([x, 2 * x, 3 * x]))

    x = np.arange(4, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(jax.vmap(ks.kernel(function))(x), jax.vmap(function)(x))


@pytest.mark.parametrize("debug", [jax.debug_nans, jax.debug_infs])
def test_jax_names_the_operation_that_makes_a_number_that_is_none(debug):
    x = -jnp.arange(3.0)
    with debug(True), pytest.raises(FloatingPointError, match="encountered in log"):
        jax.vmap(ks.kernel(jnp.log))(x if debug is jax.debug_infs else x - 1)


@pytest.mark.parametrize("function", [lambda x: x[:0], lambda x: x.reshape(2, -1)])
def test_what_computes_nothing_is_explained(function):
    told = str(ks.kernel(function).explain(jnp.arange(4.0)))
    assert "decision" in told


@pytest.mark.parametrize("function", [lambda x: x, lambda x: ()])
def test_what_returns_nothing_but_what_came_in_is_no_kernel(function):
    explanation = ks.kernel(function).explain(jnp.arange(4.0))
    assert explanation.decision.reason == "there is nothing to compute"
    assert str(explanation).endswith("plain JAX, for it computes nothing: all that it returns came in")
