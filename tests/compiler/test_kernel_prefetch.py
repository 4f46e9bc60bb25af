"""Kernels that are compiled in a thread before a program asks for them."""

import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process
from jax.sharding import Mesh, PartitionSpec
from numbered import Slide
from rollouts import loop_of, tiny_ppo

import kousoku as ks
from kousoku.collectors.env_kernel import env_kernel
from kousoku.compiler.primitive import kernel_primitive
from kousoku.compiler.runtime import kernels
from kousoku.compiler.tracing import traced


@pytest.fixture
def built(monkeypatch):
    """Names of the threads that made machine code, in order."""
    threads = []
    build = kernels.build

    def watched(*args):
        threads.append(threading.current_thread().name)
        return build(*args)

    monkeypatch.setattr(kernels, "build", watched)
    return threads


def wave(shift, x):
    return jnp.sin(x + shift["by"]) * 2.0


def test_what_was_begun_is_what_the_program_uses(built):
    """In a thread, once, with the lanes and axes that the call has."""
    function, shift, xs = ks.kernel(wave), {"by": jnp.float32(0.5)}, jnp.arange(40.0)
    jax.eval_shape(function, shift, xs[0])
    function.begin_compiling(len(xs), (None, 0))
    found = jax.jit(jax.vmap(function, (None, 0)))(shift, xs)
    assert built == ["kousoku compiles wave"]
    np.testing.assert_allclose(found, 2 * np.sin(np.arange(40.0) + 0.5), rtol=1e-5)


def test_parts_of_an_argument_may_have_axes_of_their_own(built):
    function, xs = ks.kernel(lambda both, x: x * both["by"] + both["more"]), jnp.arange(30.0)
    both = {"by": jnp.float32(2.0), "more": xs}
    jax.eval_shape(function, {"by": both["by"], "more": xs[0]}, xs[0])
    axes = ({"by": None, "more": 0}, 0)
    function.begin_compiling(len(xs), axes)
    np.testing.assert_array_equal(jax.jit(jax.vmap(function, axes))(both, xs), 3.0 * np.arange(30.0))
    assert built == ["kousoku compiles test_parts_of_an_argument_may_have_axes_of_their_own.<locals>.<lambda>"]


@pytest.mark.by_default("shared")
@pytest.mark.parametrize("sweep", [{}, {"env.friction": [0.1, 0.2]}], ids=["shared", "swept"])
def test_the_environments_step_is_compiled_ahead_as_training_calls_it(monkeypatch, sweep):
    begun, called = [], []
    begin, compiled = traced.begin, kernel_primitive.compiled

    def watched_begin(backend, source, count, batched, name, *rest):
        begun.append((source.name, count, batched))
        return begin(backend, source, count, batched, name, *rest)

    def watched_compiled(backend, source, count, batched, *rest):
        called.append((source.name, count, batched))
        return compiled(backend, source, count, batched, *rest)

    loop = loop_of(tiny_ppo(), Slide(), seeds=2, **sweep)
    loop.start()  # what is compiled ahead has been traced, as by the check of memory
    monkeypatch.setattr(traced, "begin", watched_begin)
    monkeypatch.setattr(kernel_primitive, "compiled", watched_compiled)
    state = loop.start()
    (step,) = begun
    assert step[:2] == ("advance_clipped", 4 * loop.program.per_vmap)
    loop.lower(state)
    assert step in called


def test_other_lanes_are_compiled_for_themselves(built):
    function = ks.kernel(lambda x: jnp.cos(x) - 0.25)
    jax.eval_shape(function, jnp.float32(0))
    function.begin_compiling(40, (0,))
    assert float(jax.jit(function)(jnp.float32(0))) == 0.75
    assert len(built) == 2


def test_what_fails_early_is_told_when_it_is_asked_for(monkeypatch):
    """The thread's error stops nobody; the program runs as plain JAX and says why."""

    def broken(*args):
        raise RuntimeError("no such machine")

    monkeypatch.setattr(kernels, "build", broken)
    function, xs = ks.kernel(lambda x: x * 3.0), jnp.arange(20.0)
    jax.eval_shape(function, xs[0])
    function.begin_compiling(20, (0,))
    with pytest.warns(ks.KernelWarning, match="no such machine"):
        found = jax.jit(jax.vmap(function))(xs)
    np.testing.assert_array_equal(found, 3.0 * np.arange(20.0))


def test_programs_are_compiled_meanwhile_and_wait_when_they_run(monkeypatch):
    """Only what LLVM has checked; its optimiser may take as long as it likes."""
    go, build = threading.Event(), kernels.build

    def slow(key, text, target, checked=None):
        code = build(key, text, target)
        if checked is not None:
            checked()
            assert go.wait(60)
        return code

    monkeypatch.setattr(kernels, "build", slow)
    function, xs = ks.kernel(lambda x: x * 5.0), jnp.arange(20.0)
    jax.eval_shape(function, xs[0])
    function.begin_compiling(20, (0,))
    program = jax.jit(jax.vmap(function)).lower(xs).compile()
    assert not go.is_set()
    timer = threading.Timer(0.2, go.set)
    timer.start()
    np.testing.assert_array_equal(program(xs), 5.0 * np.arange(20.0))
    assert go.is_set()
    timer.join()


def test_a_program_whose_kernel_never_came_says_so(monkeypatch):
    """Where LLVM gives up after all: an error, not a wait without end."""

    hold = threading.Event()

    def broken(key, text, target, checked):
        checked()
        assert hold.wait(60)
        raise MemoryError("no more")

    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    monkeypatch.setattr(kernels, "build", broken)
    function, xs = ks.kernel(lambda x: x * 7.0), jnp.arange(20.0)
    jax.eval_shape(function, xs[0])
    function.begin_compiling(20, (0,))
    program = jax.jit(jax.vmap(function)).lower(xs).compile()
    hold.set()
    with pytest.raises(jax.errors.JaxRuntimeError, match="could not be compiled by LLVM"):
        program(xs).block_until_ready()
    assert [args.exc_type for args in told] == [MemoryError]


def test_an_equal_function_does_not_rely_on_what_may_fail(monkeypatch):
    """Kernels are shared by content: the second is lowered while the first is still being read, which then fails."""
    hold, build = threading.Event(), kernels.build

    def broken(*args):
        if threading.current_thread() is threading.main_thread():
            return build(*args)
        assert hold.wait(60)
        raise RuntimeError("no such machine")

    monkeypatch.setattr(kernels, "build", broken)
    first, second = (ks.kernel(lambda x: x * 11.0) for _ in range(2))
    xs = jnp.arange(20.0)
    jax.eval_shape(first, xs[0])
    first.begin_compiling(20, (0,))
    threading.Timer(0.2, hold.set).start()
    np.testing.assert_array_equal(jax.jit(jax.vmap(second))(xs), 11.0 * np.arange(20.0))
    np.testing.assert_array_equal(jax.jit(jax.vmap(first))(xs), 11.0 * np.arange(20.0))


BEGUN_EARLY = """
import gc, json
import jax, jax.numpy as jnp
import kousoku as ks
from kousoku.compiler.backends.cpu.ffi import registry

function, xs = ks.kernel(lambda x: x * 13.0), jnp.arange(20.0)
jax.eval_shape(function, xs[0])
function.begin_compiling(20, (0,))
program = jax.jit(jax.vmap(function))
program(xs).block_until_ready()
counts = [len(registry())]
program.clear_cache()
del program
jax.clear_caches()
gc.collect()
print(json.dumps([*counts, len(registry())]))
"""


def test_code_goes_with_the_programs_that_call_it():
    """What was begun early is not kept by the function.

    In a process of its own, so that nothing that other tests have compiled is thrown away.
    """
    assert in_a_forked_process(BEGUN_EARLY) == [1, 0]


def test_arguments_by_name_and_switches(built):
    """By name they have lanes; where kernels are off, nothing is begun."""
    function, xs = ks.kernel(lambda x, by: x + 17.0 * by), jnp.arange(20.0)
    jax.eval_shape(function, xs[0], by=xs[0])
    with ks.use_kernels(False):
        function.begin_compiling(20, (0,))
    assert not built
    function.begin_compiling(20, (0,))
    np.testing.assert_array_equal(jax.jit(jax.vmap(function))(xs, by=xs), 18.0 * np.arange(20.0))
    assert len(built) == 1


def test_what_has_no_rule_or_was_never_called_is_left_alone():
    never = ks.kernel(lambda x: x)
    never.begin_compiling(8, (0,))
    function = ks.kernel(lambda x: jnp.linalg.svd(jnp.outer(x, x))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.eval_shape(function, jnp.ones(3))
        function.begin_compiling(8, (0,))


def test_two_kernels_are_made_side_by_side(monkeypatch):
    """While one is being compiled, another is not kept waiting."""
    slow, build = threading.Event(), kernels.build

    def watched(*args):
        if threading.current_thread() is not threading.main_thread():
            assert slow.wait(60)
        return build(*args)

    monkeypatch.setattr(kernels, "build", watched)
    first, second = ks.kernel(lambda x: x + 1.5), ks.kernel(lambda x: x + 2.5)
    jax.eval_shape(first, jnp.float32(0))
    first.begin_compiling(4, (0,))
    np.testing.assert_array_equal(jax.vmap(second)(jnp.zeros(4)), 2.5)
    slow.set()
    np.testing.assert_array_equal(jax.vmap(first)(jnp.zeros(4)), 1.5)


@pytest.mark.by_default("True")
@pytest.mark.parametrize("check_vma", [False, True])
def test_what_was_traced_serves_each_device_too(check_vma):
    """Within shard_map types name the devices; the function of one lane is the same, and so are its derivatives."""
    traced = []

    def square(x, shift):
        traced.append(True)
        return x * x + shift

    function, mesh = ks.kernel(square), Mesh(np.array(jax.devices()[:2]), ("part",))
    jax.eval_shape(function, jnp.float32(0), jnp.float32(0))

    def share(xs, shift):
        values = jax.vmap(function, (0, None))(xs, shift)
        slopes = jax.vmap(jax.grad(function), (0, None))(xs, shift)
        return values + xs, slopes

    spread, same = PartitionSpec("part"), PartitionSpec()
    divided = jax.shard_map(share, mesh=mesh, in_specs=(spread, same), out_specs=spread, check_vma=check_vma)
    xs = jnp.arange(6.0)
    values, slopes = jax.jit(divided)(xs, jnp.float32(1))
    np.testing.assert_array_equal(values, xs * xs + 1 + xs)
    np.testing.assert_array_equal(slopes, 2 * xs)
    assert len(traced) == 1


@pytest.mark.full("covered")
@pytest.mark.parametrize("devices", [1, 2])
def test_the_training_loop_begins_with_its_environments_step(devices, monkeypatch, built):
    """And begins with the very kernel that its block calls."""
    begun, used = [], []
    begin, ask = kernel_primitive.Traced.begin_compiling, kernel_primitive.compiled

    def watched(self, *args):
        begin(self, *args)
        begun.append(self.begun)

    def asked(*args):
        code = ask(*args)
        used.append((threading.current_thread().name, code.number))
        return code

    monkeypatch.setattr(kernel_primitive.Traced, "begin_compiling", watched)
    monkeypatch.setattr(kernel_primitive, "compiled", asked)
    env_kernel.cache_clear()
    agent = ks.make_agent("ppo", num_envs=8, num_steps=8, minibatches=2, hidden=(8,))
    env = ks.make("Pendulum-v1", time_limit=100 + devices)  # which no test before has traced
    ks.train(agent, env, steps=64, devices=devices, out="", eval_episodes=0)
    assert len(begun) == 1
    assert ("MainThread", begun[0].number) in used
    assert built.count("kousoku compiles advance_clipped") == 1
