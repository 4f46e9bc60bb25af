"""`explain` tells what the compiler did, and `doctor` for whom."""

from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.compiler import kernel_memory
from kousoku.compiler.llvm.build import build
from kousoku.compiler.runtime import kernels
from kousoku.core.errors import ConfigError


def walk(key, table, place):
    """A loop of random steps through a table."""

    def body(i, place):
        move = (jax.random.bits(jax.random.fold_in(key, i)) >> 31).astype(jnp.int32)
        return table[(place + move) % 100]

    return jax.lax.fori_loop(0, 50, body, place)


ARGS = jax.random.key(0), np.arange(100, dtype=np.int32), np.int32(3)


def test_it_counts_what_is_left_and_where_it_lies():
    explanation = ks.kernel(walk).explain(*ARGS)
    assert explanation.fallback is None
    assert explanation.operations["scan"] == 1
    assert explanation.operations["threefry2x32"] >= 1, "inside the loop too"
    assert explanation.in_memory >= 1
    assert explanation.buffer_bytes >= 400 * explanation.lanes
    assert explanation.traffic["gathers"] >= 1
    assert explanation.code_bytes > 500
    assert set(explanation.seconds) == {"trace", "read", "emit", "llvm"}
    assert "define void @" in explanation.llvm_ir
    assert "define void @" in explanation.optimised_ir
    assert "kousoku_kernel" in explanation.assembly
    assert str(explanation).startswith("walk: one kernel\n")


def test_the_memory_of_a_programs_largest_kernel_is_known_from_its_code(monkeypatch, tmp_path):
    """Whoever made the code: what is kept on disk tells it, too."""
    monkeypatch.setenv("KOUSOKU_COMPILATION_CACHE", str(tmp_path))
    lanes = jax.tree.map(lambda x: jnp.stack([x] * 8), ARGS)
    told = ks.kernel(walk).explain(*ARGS, lanes=8).buffer_bytes
    assert kernel_memory(jax.jit(lambda x: x + 1).lower(1.0)) == 0
    for _ in range(2):
        both = jax.jit(lambda *args: (jax.vmap(ks.kernel(walk))(*args), ks.kernel(jnp.tan)(1.0)))
        assert kernel_memory(both.lower(*lanes)) == told > 400 * 8
        monkeypatch.setattr(kernels, "_alive", WeakValueDictionary())
        monkeypatch.setattr(kernels, "build", lambda key, text, *rest: build(key, pytest.fail, *rest))


def test_what_is_folded_is_not_counted():
    def function(x):
        unused = jnp.sin(x)
        del unused
        return x * (jnp.float32(2) + 3) + jnp.float32(0) * 1, x * jnp.float32(5)

    assert ks.kernel(function).explain(np.float32(1)).operations["mul"] == 1


@pytest.mark.by_default("3-4", "8-8")
@pytest.mark.parametrize(("lanes", "group"), [(1, 1), (3, 4), (8, 8)])
def test_lanes_and_shapes(lanes, group):
    shapes = [jax.typeof(x) for x in ARGS]
    explanation = ks.kernel(walk).explain(*(jax.ShapeDtypeStruct(s.shape, s.dtype) for s in shapes), lanes=lanes)
    assert explanation.lanes == group


def test_what_has_no_rule():
    explanation = ks.kernel(lambda x: jnp.linalg.eigvalsh(x)).explain(np.eye(2, dtype=np.float32))
    assert explanation.fallback == "there is no rule for eigh"
    assert str(explanation).endswith("plain JAX, for there is no rule for eigh")


def test_no_lanes():
    with pytest.raises(ConfigError, match="lanes: got 0"):
        ks.kernel(walk).explain(*ARGS, lanes=0)


def test_doctor_names_the_processor_and_the_switch(capsys, monkeypatch):
    assert main(["doctor"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("kernels:")]
    assert "lanes" in line
    assert "LLVM" in line
    assert line.endswith("works")
    with jax.debug_nans(True):
        assert main(["doctor"]) == 0
    assert "kernels:  off: jax_debug_nans has JAX look at each operation\n" in capsys.readouterr().out
    monkeypatch.setenv("KOUSOKU_KERNEL", "off")
    assert main(["doctor"]) == 0
    assert "kernels:  off: KOUSOKU_KERNEL=off switches kernels off\n" in capsys.readouterr().out
