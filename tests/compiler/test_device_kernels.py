"""Kernels of several devices: what they compute together is what XLA's collectives give, however devices are timed."""

import os
import subprocess
import sys
import threading
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from kernel_oracle import no_fallback

import kousoku as ks
from kousoku.compiler import on_arrays
from kousoku.compiler.frontend import from_jaxpr
from kousoku.compiler.ir import Devices
from kousoku.compiler.passes import run_passes
from kousoku.core.errors import ConfigError
from kousoku.ops.trees import as_vector

AXIS = "devices"
ALL = PartitionSpec(AXIS)


def over(devices, function, check_vma=False):
    """The function on so many devices: each has a row of each argument, and gives a row of each result."""
    mesh = Mesh(np.array(jax.devices()[:devices]), (AXIS,))

    def one(*rows):
        return jax.tree.map(lambda x: x[None], function(*jax.tree.map(lambda x: x[0], rows)))

    return jax.jit(jax.shard_map(one, mesh=mesh, in_specs=ALL, out_specs=ALL, check_vma=check_vma))


def pair(devices, function, *args, **options):
    """What the kernel gives, and what XLA gives."""
    with no_fallback():
        run = over(devices, ks.kernel(function, arrays=True, axis_name=AXIS), **options)
        assert "kousoku_kernel" in run.lower(*args).as_text()
        given = run(*args)
    return given, over(devices, function, **options)(*args)


def rows(devices, *shape, dtype=jnp.float32):
    made = np.random.default_rng(0).normal(size=(devices, *shape)) * 10
    return jnp.asarray(made, dtype)


def assert_close(given, wanted):
    for g, w in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(g, w, rtol=2e-6, atol=1e-5)


COLLECTIVES = {
    "sum": lambda x: jax.lax.psum(x, AXIS),
    "mean": lambda x: jax.lax.pmean(x * 1.0, AXIS),
    "largest": lambda x: jax.lax.pmax(x, AXIS),
    "smallest": lambda x: jax.lax.pmin(x, AXIS),
    "all, on a new axis": lambda x: jax.lax.all_gather(x, AXIS),
    "all, one after the other": lambda x: jax.lax.all_gather(jnp.atleast_1d(x), AXIS, tiled=True),
    "number": lambda x: x + jax.lax.axis_index(AXIS).astype(x.dtype),
    "one in turn": lambda x: jax.lax.all_gather(x, AXIS)[jax.lax.axis_index(AXIS)],
    "of what is computed": lambda x: jax.lax.psum(jnp.tanh(x * 0.1), AXIS) + jax.lax.psum(x.T, AXIS).T,
    "a scalar's": lambda x: jax.lax.psum(jnp.sum(x), AXIS),
    "of a constant": lambda x: x + jax.lax.psum(jnp.ones(3), AXIS)[0].astype(x.dtype),
}


SHAPES = [(), (1,), (5,), (3, 37)]


@pytest.mark.by_default(
    "all, on a new axis-1",
    "all, one after the other-1",
    "largest-1",
    "mean-1",
    "number-1",
    "of a constant-1",
    "one in turn-1",
    "smallest-1",
)
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_what_devices_compute_together(name, devices):
    every = lambda xs: jax.tree.map(COLLECTIVES[name], xs)  # noqa: E731
    assert_close(*pair(devices, every, [rows(devices, *shape) for shape in SHAPES]))


@pytest.mark.full("processes")
def test_five_devices_on_any_number_of_cores():
    program = (
        "import test_device_kernels as t\n"
        "for f in t.COLLECTIVES.values():\n"
        "    every = lambda xs: t.jax.tree.map(f, xs)\n"
        "    t.assert_close(*t.pair(5, every, [t.rows(5, *shape) for shape in t.SHAPES]))\n"
    )
    env = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=5",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "-c", program], env=env, check=True)


@pytest.mark.by_default("all, on a new axis", "number")
@pytest.mark.parametrize("name", ["sum", "largest", "all, on a new axis", "number"])
def test_whole_numbers_stay_exact(name):
    x = rows(2, 21, dtype=jnp.int32) * 40_000_000  # overflows: wraps around as XLA does
    given, wanted = pair(2, COLLECTIVES[name], x)
    np.testing.assert_array_equal(given, wanted)


def one_after_the_other(arrays):
    return jnp.concatenate([x.reshape(-1) for x in arrays])


def twice(arrays):
    return jnp.concatenate([one_after_the_other(arrays[:2]), one_after_the_other(arrays[2:])])


@pytest.mark.parametrize("sum_of", [jax.lax.psum, jax.lax.pmax])
@pytest.mark.parametrize("joined", [one_after_the_other, as_vector, twice])
def test_a_vector_of_several_arrays_is_never_there_but_summed(joined, sum_of):
    """Devices read each array where it lies; small ones, whose loops would cost more, are put beside each other."""
    arrays = [rows(2, *shape) for shape in [(3, 37), (130,), (5,), (), (1, 7), (64,), (2,)]]
    function = lambda xs: sum_of(joined([*xs[:-1], jnp.tanh(xs[-1] * 0.1)]), AXIS)  # noqa: E731
    assert_close(*pair(2, function, arrays))
    jaxpr = jax.make_jaxpr(function, axis_env=[(AXIS, 2)])([x[0] for x in arrays])
    graph = run_passes(from_jaxpr(jaxpr, devices=Devices(AXIS, 2)), arrays=True)
    (summed,) = [op for op in graph.ops if op.name in ("psum", "pmax")]
    assert [part.size for part in summed.inputs] == [111, 130, 13, 64, 2]
    assert not any(op.name == "dynamic_update_slice" for op in graph.ops)


def test_vectors_that_are_filled_otherwise_are_summed_as_they_are():
    """Not from the beginning, not to the end, or read on the way."""

    write = lambda vector, part, at: jax.lax.dynamic_update_slice(vector, part, (at,))  # noqa: E731

    def begun_late(x, y):
        return write(write(jnp.ones(200), y, 10), x[:60], 140)

    def begun(x, y):
        return write(jnp.ones(200), y, 0)

    def from_the_end(x, y):
        return write(write(jnp.ones(200), y, 70), x[:70], 0)

    def beyond(x, y):
        return write(write(jnp.ones(200), y, 0), y, 130)

    def left_out(x, y):
        return write(write(jnp.ones(200), y[:100], 0), x[:60], 140)

    def read(x, y):
        half = write(jnp.ones(200), y, 0)
        return write(half, x[:70], 130) + half

    def unknown(x, y):
        return write(jnp.ones(200), y, jnp.int32(x[0] > 0))

    for fill in (begun_late, from_the_end, beyond, begun, left_out, read, unknown):
        assert_close(*pair(2, lambda x, y, fill=fill: jax.lax.psum(fill(x, y), AXIS), rows(2, 111), rows(2, 130)))


def test_booleans_are_joined():
    x = rows(2, 5) > 0
    given, wanted = pair(2, COLLECTIVES["all, on a new axis"], x)
    np.testing.assert_array_equal(given, wanted)


@pytest.mark.full("covered")
@pytest.mark.parametrize("check_vma", [False, True])
def test_they_meet_in_every_step_of_a_loop(check_vma):
    def learn(x):
        def step(_, now):
            w, most = now
            gradient = jax.lax.pmean(jnp.cos(w) * x, AXIS)
            return w - 0.01 * gradient, jnp.maximum(most, jax.lax.pmax(jnp.abs(gradient), AXIS))

        begin = jax.lax.pmean(x, AXIS)
        return jax.lax.fori_loop(0, 200, step, (begin, jnp.zeros_like(begin)))

    given, wanted = pair(2, learn, rows(2, 130), check_vma=check_vma)
    assert_close(given, wanted)
    for leaf in jax.tree.leaves(given):  # every device has the same bits, as parameters have to
        np.testing.assert_array_equal(leaf, np.broadcast_to(leaf[0], leaf.shape))


@pytest.mark.full("covered")
def test_slow_devices_are_waited_for_and_nothing_is_overwritten_before_it_is_read():
    def uneven(x):
        def step(i, x):
            work = jnp.where((jax.lax.axis_index(AXIS) + i) % 2 == 0, 3000, 0)
            slow = jax.lax.fori_loop(0, work, lambda _, y: jnp.sin(y), x)
            return jax.lax.psum(x, AXIS) * 0.4 + 0.0 * slow

        return jax.lax.fori_loop(0, 40, step, x)

    assert_close(*pair(2, uneven, rows(2, 64)))


@pytest.mark.full("covered")
def test_several_programs_at_once_do_not_mix():
    function = lambda x: jax.lax.fori_loop(0, 50, lambda _, y: jax.lax.psum(y, AXIS) * 0.5 + 0.01, x)  # noqa: E731
    run = over(2, ks.kernel(function, arrays=True, axis_name=AXIS))
    given = [rows(2, 33) * k for k in range(1, 5)]
    wanted = [over(2, function)(x) for x in given]
    wrong = []

    def often(x, w):
        for _ in range(20):
            if not np.allclose(run(x), w, rtol=1e-5):
                wrong.append(x)

    threads = [threading.Thread(target=often, args=pair) for pair in zip(given, wanted, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_of_many_lanes_they_meet_for_each():
    function = lambda x, y: jax.lax.psum(x * y, AXIS)  # noqa: E731
    lanes = lambda f: lambda x, y: jax.vmap(f, (0, None))(x, y)  # noqa: E731
    x, y = rows(2, 4, 9), rows(2, 9)
    given = over(2, lanes(ks.kernel(function, arrays=True, axis_name=AXIS)))(x, y)
    assert_close(given, over(2, lanes(function))(x, y))


@pytest.mark.full("covered")
def test_all_devices_meet_where_one_of_them_selects():
    """What only a selection needs is put into a branch, but not what others wait for."""

    def function(x):
        together = jax.lax.psum(jnp.exp(jnp.sin(x) * jnp.cos(x)), AXIS)
        return jnp.where(jax.lax.axis_index(AXIS) == 0, together, x)

    assert_close(*pair(2, function, rows(2, 400)))
    with jax.sharding.set_mesh(Mesh(np.array(jax.devices()[:2]), (AXIS,))):
        inside = jax.make_jaxpr(jax.shard_map(function, in_specs=ALL, out_specs=ALL))(rows(2, 400)).eqns[0].params
    closed = jax.extend.core.ClosedJaxpr(inside["jaxpr"], ())
    graph = run_passes(from_jaxpr(closed, None, Devices(AXIS, 2)), True)
    assert [op.name for op in graph.ops if op.name == "psum"] == ["psum"]


UNREADABLE = {
    "groups": lambda x: jax.lax.psum(x, AXIS, axis_index_groups=[[0], [1]]),
    "joined along another axis": lambda x: jax.lax.all_gather(x, AXIS, axis=1),
    "moved": lambda x: jax.lax.ppermute(x, AXIS, [(0, 1), (1, 0)]),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_there_is_no_rule_for_is_left_to_xla(name):
    x = rows(2, 2, 3)
    run = over(2, on_arrays(UNREADABLE[name], AXIS))
    assert "kousoku_kernel" not in run.lower(x).as_text()
    np.testing.assert_array_equal(run(x), over(2, UNREADABLE[name])(x))


def test_kernels_that_are_off_are_xlas():
    function = COLLECTIVES["sum"]
    with ks.use_kernels(False):
        run = over(2, on_arrays(function, AXIS))
        assert "kousoku_kernel" not in run.lower(rows(2, 5)).as_text()


def test_what_is_refused():
    with pytest.raises(ConfigError, match="axis_name: got 'devices'; devices meet in kernels with arrays=True"):
        ks.kernel(lambda x: x, axis_name=AXIS)


def test_derivatives_are_those_of_plain_jax():
    function = lambda x, n: (jax.lax.pmean(jnp.sin(x) * n.astype(jnp.float32), AXIS), n + 1)  # noqa: E731
    compiled = ks.kernel(function, arrays=True, axis_name=AXIS)
    slope = lambda f: jax.grad(lambda x, n: jnp.sum(f(x, n)[0] ** 2))  # noqa: E731
    x, n = rows(2, 5), jnp.array([2, 3])
    assert_close(over(2, slope(compiled))(x, n), over(2, slope(function))(x, n))


def test_a_device_that_comes_late_holds_up_no_thread_of_xlas():
    """Who waits for it leaves with a promise, which a thread of its own keeps."""
    together = ks.kernel(lambda x: jax.lax.psum(x * 2.0, AXIS), arrays=True, axis_name=AXIS)

    def late(x):
        turns = jnp.where(jax.lax.axis_index(AXIS) == 0, 10_000_000, 1)
        return together(x + 0.0 * jax.lax.fori_loop(0, turns, lambda _, y: jnp.sin(y), x))

    x = rows(2, 16)
    assert_close(over(2, late)(x), jnp.broadcast_to(2.0 * x.sum(0), x.shape))


def test_devices_meet_at_each_place_of_a_program_for_itself():
    """Calls of the same function that do not wait for each other, one in a loop between them, and a sum of XLA's."""
    add = lambda x: jax.lax.psum(x, AXIS)  # noqa: E731

    def program(add):
        def run(x, y):
            often = jax.lax.fori_loop(0, 300, lambda _, z: add(z) * 0.5 + 0.01, x)
            return add(x), add(y), often, add(y * 2.0), jax.lax.psum(x - y, AXIS)

        return over(2, run)

    x, y = rows(2, 7), rows(2, 7) + 1.0
    run = program(ks.kernel(add, arrays=True, axis_name=AXIS))
    assert run.lower(x, y).as_text().count("@kousoku_kernel(") == 4
    wanted = program(add)(x, y)
    for _ in range(20):
        assert_close(run(x, y), wanted)


def test_a_function_of_no_other_device_meets_nobody():
    run = over(2, partial(on_arrays(lambda x: x @ x, AXIS)))
    text = run.lower(rows(2, 6, 6)).as_text()
    assert text.count("@kousoku_kernel(") == 1
    assert "all_reduce" not in text
