"""Kernels can be switched off: by an argument, for a while, for the process. And many threads may call one."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import check_refusals

import kousoku as ks
from kousoku.core.errors import ConfigError

X = np.linspace(-2, 2, 33, dtype=np.float32)


def wave(x):
    return jnp.where(x > 0, jnp.sin(x), x * jnp.float32(0.5))


def uses_a_kernel(function) -> bool:
    return "kousoku_kernel" in jax.jit(jax.vmap(function)).lower(X).as_text()


def test_on():
    assert uses_a_kernel(ks.kernel(wave))


def test_argument():
    assert not uses_a_kernel(ks.kernel(wave, on=False))
    with ks.use_kernels(False):
        assert not uses_a_kernel(ks.kernel(wave, on=True)), "`on` decides what is traced, the switch what is compiled"


def test_context():
    function = ks.kernel(wave)
    with ks.use_kernels(False):
        assert not uses_a_kernel(function)
        with ks.use_kernels(True):
            assert uses_a_kernel(function)
        assert not uses_a_kernel(function)
    assert uses_a_kernel(function)


@pytest.mark.parametrize(("given", "used"), [("off", False), ("0", False), ("on", True), ("", True)])
def test_environment_variable(given, used, monkeypatch):
    monkeypatch.setenv("KOUSOKU_KERNEL", given)
    assert uses_a_kernel(ks.kernel(wave)) is used


def test_a_word_that_is_neither(monkeypatch):
    monkeypatch.setenv("KOUSOKU_KERNEL", "maybe")
    with pytest.raises(
        ConfigError, match='KOUSOKU_KERNEL: got \'maybe\'; set the environment variable to "on" or "off"'
    ):
        ks.kernel(wave)(1.0)


def test_what_is_no_switch_and_no_function_is_refused_at_once():
    cases = {}
    for on in ("'off'", "'on'", "0", "1", "None"):
        cases[f"ks.use_kernels({on})"] = f"on: got {on}; use True or False"
        cases[f"ks.kernel(abs, arrays={on})"] = f"arrays: got {on}; use True or False"
    cases |= {f"ks.kernel(abs, on={on})": f"on: got {on}; use True or False" for on in ("'off'", "0")}
    for given in ("'zzz'", "None", "3"):
        cases[f"ks.kernel({given})"] = f"function: got {given}; use a function of arrays, of one lane"
    check_refusals(cases, "import kousoku as ks")


def test_off_and_on_in_turn_without_jit():
    function = ks.kernel(wave)
    wanted = jax.vmap(wave)(X)
    for on in (True, False, True):
        with ks.use_kernels(on):
            np.testing.assert_allclose(jax.vmap(function)(X), wanted, rtol=1e-6)


@pytest.mark.full("covered")
def test_many_threads_compile_and_call():
    """Eight threads, each with a new program of its own and one that they share, over enough lanes to be divided."""
    x = np.arange(1 << 16, dtype=np.int32)
    shared = jax.jit(jax.vmap(ks.kernel(lambda x: jnp.where(x % 3 == 0, x // 3, x ^ 5))))

    def work(i: int) -> bool:
        own = jax.jit(jax.vmap(ks.kernel(lambda x: x * jnp.int32(i) + 1)))
        right = all(bool((own(x) == x * np.int32(i) + 1).all()) for _ in range(5))
        return right and all(bool((shared(x) == wanted).all()) for _ in range(5))

    wanted = np.asarray(shared(x))
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
