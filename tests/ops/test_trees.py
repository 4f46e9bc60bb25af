"""Functions of trees: arrays on the device without a program for each of their shapes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from kousoku.collectors.streams import key_of
from kousoku.ops.trees import arrays_on_device, as_vector, rows, to_device

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


@pytest.mark.parametrize("given", [each for each in GIVEN.values() if not isinstance(each, jax.Array)])
def test_no_guard_of_transfers_minds_it(given):
    with jax.transfer_guard("disallow"):
        to_device(given)
        to_device(given, jnp.float32)


def test_rows_are_taken_and_arrays_moved_under_a_guard():
    tree = {"x": jnp.arange(12.0).reshape(4, 3), "key": jax.random.split(jax.random.key(0), 4)}
    numbers = np.array([3, 0, 0])
    with jax.transfer_guard("disallow"):
        found = rows(tree, numbers)
        moved = arrays_on_device({"array": numbers, "number": 3.0, "word": "left"})
    np.testing.assert_array_equal(found["x"], np.arange(12.0).reshape(4, 3)[numbers])
    np.testing.assert_array_equal(*(jax.random.key_data(keys) for keys in (found["key"], tree["key"][numbers])))
    assert isinstance(moved["array"], jax.Array)
    assert (moved["number"], moved["word"]) == (3.0, "left")


@pytest.mark.parametrize("number", [0, 7, 2**31 - 1, 2**31, 2**40])
def test_a_key_of_a_number_is_that_of_jax(number):
    assert key_of(number) == jax.random.key(number)


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


@pytest.mark.parametrize("tree", [{"w": np.ones((3, 2), np.float32), "b": (np.float32(4), np.zeros(0, np.float32))},
                                  [np.arange(3), np.ones((1, 2), int)]])  # fmt: skip
def test_a_vector_of_all_elements_is_the_one_that_can_be_unravelled(tree):
    found, (wanted, unravel) = as_vector(jax.tree.map(jnp.asarray, tree)), ravel_pytree(tree)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    jax.tree.map(np.testing.assert_array_equal, unravel(found), jax.tree.map(jnp.asarray, tree))
