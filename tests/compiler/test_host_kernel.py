"""Kernels that the host calls with addresses of NumPy's arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.compiler import HostFunction
from kousoku.compiler.backends.cpu import host_call
from kousoku.compiler.llvm.compile import assembly_code
from kousoku.compiler.llvm.target import Target


def addresses(arrays: list[np.ndarray]) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays], np.int64)


@pytest.mark.parametrize("lanes", [1, 5, 100])
def test_it_reads_and_writes_where_arrays_lie(lanes):
    """An array that the function holds, one that lanes share, one that comes back as it came, one result twice."""
    table = jnp.arange(12.0, dtype=jnp.float32).reshape(4, 3)

    def function(shared, x, i):
        row = table[i] * shared + x
        return row, {"sum": row.sum(), "again": row}, x

    kernel = ks.kernel(function)
    rng = np.random.default_rng(1)
    shared = np.float32(1.5)
    x, i = rng.normal(size=(lanes, 3)).astype(np.float32), rng.integers(0, 4, lanes, dtype=np.int32)
    found = kernel.for_host(lanes, (None, 0, 0), shared, x[0], i[0])
    assert found is not None
    given = [*found.consts, np.array(shared), x, i]
    assert [(array.shape, array.dtype) for array in given] == found.given
    made = [np.zeros(shape, dtype) for shape, dtype in found.made]
    first = {origin.number: n for n, origin in reversed(list(enumerate(found.results))) if not origin.is_input}
    inputs = addresses([given[n] for n in found.inputs])
    outputs = addresses([made[first[n]] for n in range(len(first))])
    found.call(inputs.ctypes.data, outputs.ctypes.data, lanes)
    expected = jax.tree.leaves(jax.vmap(kernel, (None, 0, 0))(shared, x, i))
    for number in first.values():
        np.testing.assert_array_equal(made[number], expected[number])
    assert [origin.is_input for origin in found.results] == [False, False, False, True]
    assert len(first) == 2


def test_a_function_of_the_hosts_gives_new_arrays_in_every_thread():
    table = jnp.arange(12.0, dtype=jnp.float32).reshape(4, 3)

    def function(shared, x, i):
        row = table[i] * shared + x
        return {"row": row, "again": row}, x, shared

    kernel = ks.kernel(function)
    rng = np.random.default_rng(1)
    shared, batches = np.arange(3, dtype=np.float32), rng.normal(size=(20, 5, 3)).astype(np.float32)
    i = rng.integers(0, 4, 5, dtype=np.int32)
    found = kernel.for_host(5, (None, 0, 0), shared, batches[0, 0], i[0])
    assert found is not None
    call = HostFunction(found, [shared])
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: call([x, i]), batches))
    arrays = [leaf for result in results for leaf in jax.tree.leaves(result)]
    assert len({leaf.ctypes.data for leaf in arrays}) == len(arrays)
    assert all(leaf.flags.writeable for leaf in arrays)
    for x, (rows, same, given) in zip(batches, results, strict=True):
        expected = np.asarray(table)[i] * shared + x
        np.testing.assert_allclose(rows["row"], expected, rtol=1e-6)
        np.testing.assert_array_equal(rows["again"], rows["row"])
        np.testing.assert_array_equal(same, x)
        np.testing.assert_array_equal(given, np.broadcast_to(shared, (5, 3)))
    turned = np.asfortranarray(batches[0])
    np.testing.assert_array_equal(call([turned, i])[0]["row"], results[0][0]["row"])


def test_a_call_that_would_take_longer_than_is_asked_for_is_none():
    matrix = np.ones((64, 64), np.float32)
    kernel = ks.kernel(lambda x: jnp.tanh(x @ jnp.asarray(matrix)))
    given = np.zeros(64, np.float32)
    assert kernel.for_host(4, (0,), given, longest=10) is None
    assert kernel.for_host(4, (0,), given, longest=10**6) is not None
    assert kernel.for_host(10**5, (0,), given, longest=10**6) is None, "every gang of lanes counts"


def test_there_is_none_where_kernels_are_off_or_arrays_have_another_form():
    kernel = ks.kernel(lambda x: x * 2)
    assert kernel.for_host(4, (0,), np.float32(1.0)) is not None
    assert kernel.for_host(4, (0,), np.float16(1.0)) is None
    assert ks.kernel(lambda key: jax.random.split(key)).for_host(4, (0,), jax.random.key(0)) is None
    assert ks.kernel(lambda x: jax.pure_callback(lambda x: x, x, x)).for_host(4, (0,), jnp.float32(1.0)) is None
    assert ks.kernel(lambda x: x * 2, on=False).for_host(4, (0,), np.float32(1.0)) is None
    with ks.use_kernels(False):
        assert kernel.for_host(4, (0,), np.float32(1.0)) is None
    with jax.debug_nans(True):
        assert kernel.for_host(4, (0,), np.float32(1.0)) is None


def test_code_that_a_thread_is_making_is_waited_for():
    kernel = ks.kernel(lambda x: jnp.sin(x) * 1.25)
    jax.make_jaxpr(jax.vmap(kernel))(jnp.ones(6))
    kernel.begin_compiling(6, (0,))
    found = kernel.for_host(6, (0,), np.float32(1.0))
    assert found is not None
    x, made = np.linspace(0, 1, 6, dtype=np.float32), np.zeros(6, np.float32)
    inputs, outputs = addresses([x]), addresses([made])
    found.call(inputs.ctypes.data, outputs.ctypes.data, 6)
    np.testing.assert_array_equal(made, jax.vmap(kernel)(x))


@pytest.mark.parametrize(
    ("triple", "flags"),
    [("x86_64-unknown-linux-gnu", "ldmxcsr"), ("aarch64-unknown-linux-gnu", "fpcr"), ("arm64-apple-darwin", "fpcr")],
)
def test_it_is_written_for_the_processors_that_there_are(triple, flags):
    target = Target(triple, "", "", 4, 128)
    text = host_call.TEXTS[host_call.architecture(target)].format(name=host_call.NAME)
    code = assembly_code(text, target).lower()
    assert code.count(flags) >= 2
