"""Programs of many operations one after the other: no step of the compiler calls itself for each of them."""

from __future__ import annotations

import gc
import math
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from jax import lax
from kernel_oracle import no_fallback

import kousoku as ks
from kousoku.compiler.codegen.emitter import DEEPEST
from kousoku.compiler.codegen.operand import int_constant
from kousoku.compiler.codegen.value import Lazy, computed, leaves
from kousoku.compiler.frontend import from_jaxpr
from kousoku.compiler.ir import Literal, digest
from kousoku.compiler.passes import run_passes
from kousoku.compiler.passes.sink_into_branches import MOST_LEVELS

LONG = 1000
"""Operations, of which Python has no room for as many calls within one another."""


def repeated(step, times):
    def function(x, s):
        for i in range(times):
            x = step(x, s, i)
        return x

    return function


def flags(x, s):
    return repeated(lambda b, s, i: (b ^ (s[i % 7] > 0)) & (s[i % 5] < 9), LONG // 2)(x > 2, s)


def turned(x, s):
    return repeated(lambda x, s, i: lax.rev(lax.transpose(x, (1, 0)), (i % 2,)), LONG // 2)(x.reshape(10, -1), s)


def in_a_loop(x, s):
    return lax.fori_loop(0, 3, lambda i, x: repeated(lambda x, s, i: x * 3 + s[i % 7], LONG // 2)(x, s), x)


def sliced(x, s):
    part = repeated(lambda x, s, i: lax.dynamic_slice(x, (s[i % 7] & 1,), (x.shape[0] - 1,)), LONG // 3)
    return part(jnp.arange(LONG // 3 + 50, dtype=jnp.int32), s) + x[0]


CHAINS = {
    "arithmetic": repeated(lambda x, s, i: x * 3 + 7, LONG // 2),
    "of several": repeated(lambda x, s, i: x * s[i % 7] + s[i % 5], LONG // 2),
    "flags": flags,
    "turned": turned,
    "in a loop": in_a_loop,
    "sliced": sliced,
    "sums of one": repeated(lambda x, s, i: jnp.sum(x[:, None, None] * s[i % 7], axis=(1, 2)), 100),
    "selections": repeated(lambda x, s, i: jnp.where(s[i] > 0, x * x + 5, 0), 150),
}
"""Functions of int32[100] and int32[150], whose results are exact."""


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_values(chain):
    x, s = np.arange(100, dtype=np.int32), np.arange(-1, 149, dtype=np.int32) % 11 - 1
    made = jax.jit(chain, compiler_options=FAST_COMPILE)(x, s)
    with no_fallback():
        over_lanes = jax.jit(jax.vmap(ks.kernel(chain)))(np.stack([x] * 3), np.stack([s] * 3))
        along_arrays = jax.jit(ks.kernel(chain, arrays=True))(x, s)
    np.testing.assert_array_equal(over_lanes, [made] * 3)
    np.testing.assert_array_equal(along_arrays, made)


def test_one_of_many_branches():
    which = jax.jit(ks.kernel(lambda i, x: lax.switch(i, [lambda x, i=i: x * i for i in range(400)], x), arrays=True))
    with no_fallback():
        assert [int(which(i, 3)) for i in (-5, 0, 101, 399, 1000)] == [0, 0, 303, 1197, 1197]


@pytest.mark.parametrize("arrays", [False, True], ids=["lanes", "arrays"])
def test_a_loop_computes_so_many_and_no_more(arrays):
    """The time that LLVM takes for a loop grows faster than its length."""

    def loops(count):
        chain = repeated(lambda x, s, i: x * 3, count)
        text = ks.kernel(chain, arrays=arrays).explain(jnp.zeros(2000), jnp.zeros(1), lanes=1).llvm_ir
        return len(re.findall(r"^loop\d+:", text, re.MULTILINE))

    one = loops(DEEPEST - 1)
    assert loops(20) == one
    assert loops(3 * DEEPEST) > one + 1


def test_what_elements_ask_for_is_computed_in_turn():
    order = []

    def number(value):
        return int_constant(value, "i32")

    def leaf(position):
        order.append(position)
        return number(1)

    def chain(value):
        def element(position):
            below, other = (yield value, position), (yield leaves_of_it, (*position, 0))
            return number(below.value + other.value)

        return Lazy((), np.dtype(np.int32), element, (value, leaves_of_it), True)

    leaves_of_it = Lazy((), np.dtype(np.int32), leaf, (), False)
    value = leaves_of_it
    for _ in range(LONG):
        value = chain(value)
    assert computed(value.element((7,))).value == LONG + 1
    assert order == [(7,)] + [(7, 0)] * LONG
    assert list(leaves(value)) == []


def sunk(function):
    return run_passes(from_jaxpr(jax.make_jaxpr(function)(jnp.zeros(100), jnp.zeros(200))))


def test_branches_lie_within_one_another_only_so_deep():
    """One for each of so many selections of selections would be as many calls of every step that comes after."""

    def graph(count):
        return sunk(repeated(lambda x, s, i: jnp.where(s[i] > 0, jnp.sin(x), 0.0), count))

    assert [graph(count).levels for count in (3, MOST_LEVELS, 150)] == [3, MOST_LEVELS, MOST_LEVELS]
    assert sum(op.name == "cond" for op in graph(150).ops) == math.ceil(150 / MOST_LEVELS)


def late(x, s):
    """A selection reads what comes after the first thing that is made of another one by the same condition."""
    first = jnp.where(s[0] > 0, jnp.sin(x), x)
    made = first * 2
    second = jnp.where(s[0] > 0, jnp.cos(x * s[1]), x)
    return made, second, jnp.where(s[1] > 0, jnp.exp(second), made)


def test_what_a_branch_reads_comes_before_it():
    branch, known = sunk(late), set()
    known.update(map(id, branch.inputs))
    for op in branch.ops:
        assert all(isinstance(a, Literal) or id(a) in known for a in op.inputs)
        known.update(map(id, op.outputs))
    assert [op.name for op in branch.ops].count("cond") == 2


def test_there_is_always_room_for_a_branch(monkeypatch):
    """Two have a place before one operation, and then within a third."""

    def function(x, s):
        one, other = (jnp.where(s[i] > 0, f(x), x) for i, f in enumerate((jnp.sin, jnp.cos)))
        return jnp.where(s[2] > 0, jnp.exp(one + other), x)

    usual = digest(sunk(function))
    monkeypatch.setattr(sys.modules["kousoku.compiler.passes.sink_into_branches"], "ROOM", 1)
    assert digest(sunk(function)) == usual


def test_a_kernel_is_explained_as_it_is_made_whenever_python_collects_cycles():
    kernel = ks.kernel(repeated(lambda x, s, i: x - jnp.mean(x) * s[0], 12))
    usual, threshold = kernel.explain(jnp.zeros(100), jnp.zeros(1)).llvm_ir, gc.get_threshold()
    try:
        gc.set_threshold(1)
        assert kernel.explain(jnp.zeros(100), jnp.zeros(1)).llvm_ir == usual
    finally:
        gc.set_threshold(*threshold)
