"""LLVM's effort: code that it spends little on does the same, and is another entry of the cache."""

import jax
import numpy as np

import kousoku as ks
from kousoku.compiler.llvm import target
from kousoku.compiler.runtime import kernels


def halvings(x):
    """Calls, a branch and a loop whose lanes end one by one."""
    count = jax.lax.while_loop(lambda at: at[0] > 1.0, lambda at: (at[0] * 0.5, at[1] + 1.0), (x, 0.0))[1]
    return jax.lax.cond(x > 10.0, lambda: jax.numpy.sin(x) * count, lambda: count - x)


def test_the_least_effort_does_the_same(monkeypatch):
    built, build = [], kernels.build
    monkeypatch.setattr(kernels, "build", lambda key, *rest: built.append(key) or build(key, *rest))
    x, found = np.linspace(0.0, 40.0, 37, dtype=np.float32), []
    for effort in (target.FULL_EFFORT, target.LEAST_EFFORT):
        monkeypatch.setattr(target, "EFFORT", effort)
        assert ks.compiler.host().effort == effort
        found.append(jax.jit(jax.vmap(ks.kernel(lambda x: halvings(x))))(x))
    assert len(set(built)) == 2
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
