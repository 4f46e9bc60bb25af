"""What `explain` tells is what happens: it says that a function is a kernel where XLA's program calls one."""

import warnings

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.compiler import Explanation, compiles, config, decide, fallback
from kousoku.compiler.backends import Platform

WIDE, SMALL = jax.ShapeDtypeStruct((256, 256), jnp.float32), jax.ShapeDtypeStruct((8, 8), jnp.float32)


def product(x, y):
    return jnp.tanh(x @ y)


def calls_a_kernel(function, *args, lanes: int | None = None) -> bool:
    if lanes is not None:
        function, args = jax.vmap(function), [jax.ShapeDtypeStruct((lanes, *a.shape), a.dtype) for a in args]
    return "kousoku_kernel" in jax.jit(function).lower(*args).as_text()


def told(explanation: Explanation) -> str | None:
    """Returns why it is plain JAX, the same in both places; None for a kernel."""
    head = str(explanation).split("\n")[0]
    reason = explanation.fallback
    assert head == explanation.name + (": one kernel" if reason is None else f": plain JAX, for {reason}")
    return reason


@pytest.mark.parametrize(
    ("function", "options", "args"),
    [
        (product, {"arrays": True}, (WIDE, WIDE)),
        (product, {"arrays": True}, (SMALL, SMALL)),
        (product, {}, (WIDE, WIDE)),
        (product, {"on": False}, (SMALL, SMALL)),
        (jnp.linalg.eigvalsh, {"arrays": True}, (SMALL,)),
        (lambda x: x, {}, (SMALL,)),
        (lambda x: (), {}, (SMALL,)),
        (lambda x: (x, x[:0]), {}, (SMALL,)),
        (lambda x: x.reshape(-1), {}, (SMALL,)),
    ],
    ids=["shared among threads", "arrays", "lanes", "off", "no rule", "identity", "nothing", "empty", "reshaped"],
)
def test_it_is_a_kernel_where_xlas_program_calls_one(function, options, args):
    kernel = ks.kernel(function, **options)
    assert calls_a_kernel(kernel, *args) is (told(kernel.explain(*args)) is None)


def test_what_is_left_to_xlas_threads_is_told_for_as_many_lanes():
    """By default for a single one with `arrays`, which several lanes would share out among the cores."""
    kernel = ks.kernel(product, arrays=True)
    reason = "XLA's threads share a product of matrices of 16,777,216 multiply-adds"
    for lanes, wanted in ((1, reason), (3, None)):
        explanation = kernel.explain(WIDE, WIDE, lanes=lanes)
        assert told(explanation) == wanted
        assert explanation.decision.take is (wanted is None)
        assert calls_a_kernel(kernel, WIDE, WIDE, lanes=lanes) is (wanted is None)
    assert told(kernel.explain(WIDE, WIDE)) == reason


def test_vectors_along_arrays_are_no_gang():
    explanation = ks.kernel(product, arrays=True).explain(SMALL, SMALL)
    assert explanation.lanes == 1
    assert "bits, along arrays\n" in str(explanation)


@pytest.mark.parametrize(
    ("switch", "reason"),
    [
        (lambda: ks.use_kernels(False), "use_kernels(False) switches kernels off"),
        (lambda: jax.debug_nans(True), "jax_debug_nans has JAX look at each operation"),
        (lambda: jax.debug_infs(True), "jax_debug_infs has JAX look at each operation"),
    ],
    ids=["use_kernels", "debug_nans", "debug_infs"],
)
def test_switched_off_is_told_and_by_what(switch, reason):
    kernel, forced = ks.kernel(product), ks.kernel(product, on=True)
    with switch():
        assert told(kernel.explain(SMALL, SMALL)) == told(forced.explain(SMALL, SMALL)) == reason
        assert decide(product, SMALL, SMALL) == ks.compiler.Decision(False, reason)
        assert not compiles(product, SMALL, SMALL)
        assert not calls_a_kernel(kernel, SMALL, SMALL)
        assert told(ks.kernel(product, on=False).explain(SMALL, SMALL)) == "it is switched off by on=False"
    assert told(kernel.explain(SMALL, SMALL)) is None


def test_the_process_is_switched_off(monkeypatch):
    monkeypatch.setenv("KOUSOKU_KERNEL", "0")
    assert told(ks.kernel(product).explain(SMALL, SMALL)) == "KOUSOKU_KERNEL=0 switches kernels off"
    with ks.use_kernels(True):
        assert told(ks.kernel(product).explain(SMALL, SMALL)) is None


def test_where_nobody_has_tried_kernels_they_are_off_unless_asked_for(monkeypatch):
    monkeypatch.setattr(config, "UNTRIED", True)
    monkeypatch.delenv("KOUSOKU_KERNEL", raising=False)
    told_off = "kernels are off on Windows, where nobody has tried them; KOUSOKU_KERNEL=on switches them on"
    assert told(ks.kernel(product).explain(SMALL, SMALL)) == told_off
    monkeypatch.setenv("KOUSOKU_KERNEL", "on")
    assert told(ks.kernel(product).explain(SMALL, SMALL)) is None


def test_another_platform(monkeypatch):
    monkeypatch.setattr(fallback, "current", lambda: Platform("tpu"))
    reason = "kernels are not compiled for tpu"
    assert told(ks.kernel(product).explain(SMALL, SMALL)) == reason
    assert decide(product, SMALL, SMALL) == ks.compiler.Decision(False, reason)
    assert not compiles(product, SMALL, SMALL)


def test_within_axes_of_the_callers():
    """Lanes that meet are plain JAX; devices that meet are a kernel, and so is a large product of each."""
    found = []

    def asks(kernel):
        def asked(*args):
            found.append(told(kernel.explain(*args)))
            return kernel(*args)

        return asked

    mean = lambda x: x - jax.lax.pmean(x, "i")  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ks.KernelWarning)
        assert not calls_a_kernel(jax.vmap(asks(ks.kernel(mean)), axis_name="i"), SMALL)
    assert found == ["its lanes meet over 'i'"]

    mesh, whole = jax.sharding.Mesh(jax.devices()[:2], "i"), jax.sharding.PartitionSpec()
    for kernel, shape in (
        (ks.kernel(mean, arrays=True, axis_name="i"), SMALL),
        (ks.kernel(product, arrays=True), WIDE),
    ):
        args = (shape,) if shape is SMALL else (shape, shape)
        shared = jax.shard_map(asks(kernel), mesh=mesh, in_specs=whole, out_specs=whole, check_vma=False)
        assert calls_a_kernel(shared, *args)
    assert found[1:] == [None, None]
