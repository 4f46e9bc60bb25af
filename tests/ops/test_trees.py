"""Functions of trees: arrays on the device without a program for each of their shapes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku.ops.trees import to_device

GIVEN = {
    "array": np.arange(6, dtype=np.float32).reshape(2, 3),
    "float64": np.linspace(0.0, 1.0, 5),
    "int64": np.arange(4),
    "bool": np.array([True, False]),
    "no axis": np.array(2.5, np.float32),
    "nothing": np.zeros((0, 3), np.float32),
    "strided": np.arange(10, dtype=np.int32)[::-3],
    "a scalar of NumPy's": np.float32(1.5),
    "a float": 0.5,
    "a whole number": 7,
    "a flag": True,
    "one of JAX's": jnp.arange(3, dtype=jnp.int32),
}


@pytest.mark.parametrize("dtype", [None, jnp.float32])
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_it_is_what_asarray_gives(given, dtype):
    found, wanted = to_device(given, dtype), jnp.asarray(given, dtype)
    assert (found.aval, found.weak_type, found.committed) == (wanted.aval, wanted.weak_type, wanted.committed)
    np.testing.assert_array_equal(found, wanted)


def test_it_is_a_copy():
    given = np.zeros(1000, np.float32)
    found = to_device(given)
    given[:] = 1.0
    assert not np.asarray(found).any()


def test_in_a_program_it_is_the_same_constant_or_argument():
    table = np.arange(5, dtype=np.float32)
    ours, theirs = (jax.make_jaxpr(lambda x, put=put: put(table)[1] + put(x))(1.0) for put in (to_device, jnp.asarray))
    assert str(ours) == str(theirs)


def test_no_shape_needs_a_program_of_its_own(monkeypatch):
    made = []
    monkeypatch.setattr(jax._src.pjit.pxla, "lower_sharding_computation", lambda *args, **more: made.append(args))
    to_device(np.zeros((3, 1, 4, 1, 5), np.int16))
    assert not made
