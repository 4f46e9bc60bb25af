"""Many numbers that one condition selects, as a state where an episode ends: selected only where some lane needs it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from kernel_oracle import compare

import kousoku as ks
from kousoku.compiler.frontend.reader import from_jaxpr
from kousoku.compiler.ir import Op
from kousoku.compiler.passes import run_passes

FIELDS, PLACES = 14, 8


def ended(rng: np.random.Generator) -> list[np.ndarray]:
    """Fields [45, PLACES] and the condition, which holds in none of a gang's lanes, in all, and in some."""
    done = np.concatenate([np.zeros(16, bool), np.ones(16, bool), rng.random(13) < 0.3])
    return [*rng.integers(-9, 9, (FIELDS, len(done), PLACES), np.int32), done]


def restart(*given):
    """Every field goes on, or begins anew with what is known beforehand."""
    *fields, done = given
    return [jnp.where(done, i, x + 1) for i, x in enumerate(fields)]


def restart_from(*given):
    """Every field goes on as it is, or as another one was."""
    *fields, done = given
    return [jnp.where(done, other, x) for x, other in zip(fields, [*fields[1:], fields[0]], strict=True)]


def by_cond(*given):
    *fields, done = given
    return lax.cond(done, lambda xs: [x * 0 for x in xs], lambda xs: xs, fields)


def in_a_loop(*given):
    *fields, done = given

    def step(i, carried):
        return restart(*carried, done & (i % 2 == 0))

    return lax.fori_loop(0, 5, step, list(fields))


@pytest.mark.full("covered")
@pytest.mark.parametrize("function", [restart, restart_from, by_cond, in_a_loop])
def test_values(function):
    compare(function, ended(np.random.default_rng(1)), [(), (FIELDS,), (0,)])


@pytest.mark.full("covered")
def test_they_are_one_branch():
    columns = [x[0] for x in ended(np.random.default_rng(0))]
    operations = ks.kernel(restart).explain(*columns).operations
    assert operations["cond"] == 1
    assert "select_n" not in operations


def test_a_few_are_no_branch():
    operations = (
        ks.kernel(lambda x, y, done: (jnp.where(done, 0, x + 1), jnp.where(done, 1, y)))
        .explain(np.zeros(PLACES, np.int32), np.int32(1), np.bool_(True))
        .operations
    )
    assert "cond" not in operations
    assert operations["select_n"] == 2


def test_arrays_in_memory_are_selected_as_they_are_read():
    """A branch would have to copy them."""
    array = np.zeros(1000, np.float32)
    explained = ks.kernel(lambda x, y, done: jnp.where(done, y, x)).explain(array, array, np.bool_(True))
    assert "cond" not in explained.operations


def test_an_array_without_elements_keeps_nothing_out_of_the_branch():
    """A fresh state costs a loop; that its empty part is returned as it is does not mean that the loop is needed."""

    def function(x, nothing, done):
        fresh, empty = lax.fori_loop(0, 50, lambda i, made: (jnp.sin(made[0]), made[1] * 2), (x + 1, nothing))
        return jnp.where(done, fresh, x), empty

    given = [np.ones((19, 3), np.float32), np.ones((19, 0), np.float32), np.arange(19) % 5 == 0]
    closed = jax.make_jaxpr(function)(*(x[0] for x in given))
    assert [op.name for op in run_passes(from_jaxpr(closed)).ops] == ["cond"]
    compare(function, given, ulp=2)


def test_what_lies_within_a_branch_is_looked_at_once(monkeypatch):
    """A robot has thousands of operations within many branches, and each may be asked whether it can be moved."""

    def nested(x, depth):
        for i in range(2):
            within = lax.cond(x > i, lambda v: nested(v + 1.0, depth - 1) if depth else v * 2.0, lambda v: v, x)
            x = jnp.where(x > i + 3.0, within, x - 1.0)
        return x

    def looks(depth):
        seen, graphs = [], Op.graphs
        graph = from_jaxpr(jax.make_jaxpr(lambda x: nested(x, depth))(1.0))
        with monkeypatch.context() as patch:
            patch.setattr(Op, "graphs", lambda op: seen.append(op) or graphs(op))
            run_passes(graph)
        return len(seen) / sum(1 for _ in graph.walk())

    assert looks(5) < 1.2 * looks(2)
