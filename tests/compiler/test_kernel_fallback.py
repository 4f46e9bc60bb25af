"""What the compiler cannot do is plain JAX, with one warning that says why."""

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
