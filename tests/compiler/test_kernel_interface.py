"""What a function returns as it came goes past its kernel, and what it does not read stays outside."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_oracle import columns_of, compare

import kousoku as ks
from kousoku.compiler import cost
from kousoku.compiler.ir import Interface, Origin
from kousoku.compiler.tracing.trace import trace_like

BIG = np.arange(100, dtype=np.float32)


def interface(function, *args) -> Interface:
    return trace_like(function, "", *args).summary.interface


def counts(function, *args) -> tuple[int, int]:
    """How many operands and results the custom call of the kernel has, under `vmap`."""
    many = [jnp.broadcast_to(a, (5, *jnp.shape(a))) for a in args]
    text = jax.jit(jax.vmap(ks.kernel(function))).lower(*many).as_text()
    (call,) = re.findall(r"custom_call @kousoku_kernel\((.*?)\).*? : \(.*?\) -> (.*)", text)
    return call[0].count("%"), call[1].count("tensor<")


def some(rng: np.random.Generator) -> list:
    return [rng.normal(size=40).astype(np.float32), np.float32(rng.normal()), np.int32(rng.integers(5))]


def test_inputs_and_results_that_are_left_outside():
    found = interface(lambda unread, big, x: (big, x + 1, x + 1, x, jnp.where(x > 0, big, big)), BIG, BIG, 1.0)
    assert found == Interface(
        (2,), (Origin(True, 1), Origin(False, 0), Origin(False, 0), Origin(True, 2), Origin(True, 1))
    )
    assert found.made == 1


def test_a_branch_that_only_one_side_leaves_alone_is_made():
    def function(big, x):
        return jax.lax.cond(x > 0, lambda b: (b, b), lambda b: (b + 1, b), big)

    assert [o.is_input for o in interface(function, BIG, 1.0).results] == [False, True]


def swapped(big, other, x):
    """The branches return the same two arrays, but not in the same places."""
    return jax.lax.cond(x > 0, lambda a, b: (a, b, a), lambda a, b: (b, a, a), big, other)


def through_while(big, x, n):
    def body(carried):
        i, kept, total, unread = carried
        return i + 1, kept, total + kept[i], unread

    return jax.lax.while_loop(lambda c: c[0] < n, body, (0, big, x, big + 1))


def through_scan(big, x, n):
    def body(carried, y):
        kept, unread, total = carried
        return (kept, unread, total + y * kept[n]), kept[0]

    return jax.lax.scan(body, (big, big, x), jnp.arange(3.0))


def through_both(big, x, n):
    """A loop's body is a branch that returns the array in both its sides."""

    def body(i, carried):
        kept, total = carried
        return jax.lax.cond(total > 0, lambda k, t: (k, t - k[0]), lambda k, t: (k, t + k[1]), kept, total)

    return jax.lax.fori_loop(0, n, body, (big, x))


def grown(big, x, n):
    """What is carried is as it came but for one step."""
    return jax.lax.fori_loop(0, n, lambda i, c: (jnp.where(i == 1, c[0] + x, c[0]), c[1]), (big, x))


def constant_carried(big, x, n):
    """What never changes is a constant."""
    return jax.lax.fori_loop(0, n, lambda i, c: (c[0], c[1] + c[0][i]), (jnp.arange(8.0), x)), big


def rows_end_one_by_one(big, x, n):
    def alone(limit):
        return jax.lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1], c[2] * 0.5), (0, big, x))

    return jax.vmap(alone)(jnp.stack([n, n + 2, jnp.int32(1)]))


THROUGH = {
    "cond": (lambda big, x, n: swapped(big, big[::-1], x), (2,)),
    "while": (through_while, (1,)),
    "scan": (through_scan, (0, 1)),
    "both": (through_both, (0,)),
    "grown": (grown, (1,)),
    "constant": (constant_carried, (2,)),
    "rows": (rows_end_one_by_one, ()),
    "all": (lambda big, x, n: (big, n), (0, 1)),
    "mixed": (lambda big, x, n: (x, big, x * 2, x * 2, n), (0, 1, 4)),
}


@pytest.mark.by_default("all")
@pytest.mark.parametrize("name", THROUGH)
def test_values_are_those_of_xla(name):
    """However the arguments are shared among lanes: what goes past a kernel has to be there for each."""
    function, past = THROUGH[name]
    found = interface(function, *some(np.random.default_rng(0)))
    assert tuple(i for i, origin in enumerate(found.results) if origin.is_input) == past
    compare(function, columns_of(some, 7, 3), [(), (0,), (1, 2), (0, 1, 2)], ulp=2)


def test_only_what_is_computed_is_in_the_call():
    assert counts(lambda big, x: (big, x + 1, x + 1), BIG, np.float32(1)) == (1, 1)
    assert counts(lambda big, x: (big + x, x), BIG, np.float32(1)) == (2, 1)
    assert counts(through_while, BIG, np.float32(0), np.int32(3)) == (3, 3)


def test_where_all_is_there_already_there_is_no_kernel():
    function = ks.kernel(lambda big, x: (big, jnp.where(x > 0, x, x)))
    text = jax.jit(jax.vmap(function)).lower(jnp.ones((5, 100)), jnp.ones(5)).as_text()
    assert "kousoku_kernel" not in text
    np.testing.assert_array_equal(jax.vmap(function, (None, 0))(BIG, jnp.arange(3.0))[0], np.tile(BIG, (3, 1)))


@pytest.mark.full("covered")
def test_keys_and_axes_of_lanes_in_which_something_is_shared():
    def function(key, big, x):
        return key, big, x + jax.random.uniform(key), jax.random.key_data(key)

    keys, xs = jax.random.split(jax.random.key(0), 3), jnp.arange(6.0).reshape(3, 2)

    def over(function):
        return jax.vmap(jax.vmap(function, (None, None, 0)), (0, None, 0))(keys, BIG, xs)

    (got_key, *got), (key, *wanted) = over(ks.kernel(function)), over(function)
    jax.tree.map(
        np.testing.assert_array_equal, [jax.random.key_data(got_key), *got], [jax.random.key_data(key), *wanted]
    )


def test_derivatives_of_what_goes_past():
    def function(big, x):
        return big, x * x

    def loss(function):
        return lambda big, x: sum(jnp.sum(part) for part in function(big, x))

    wanted = jax.grad(loss(function), (0, 1))(BIG, 3.0)
    jax.tree.map(np.testing.assert_array_equal, jax.grad(loss(ks.kernel(function)), (0, 1))(BIG, 3.0), wanted)


def test_a_carried_array_that_goes_past_is_not_copied_in_a_scan():
    """XLA's loop hands it on: no copy, and no operand of the call, has its size."""
    step = jax.vmap(ks.kernel(lambda big, x: (big, x + 1)))

    def run(bigs, xs):
        return jax.lax.scan(lambda c, _: (step(*c), None), (bigs, xs), None, length=9)[0]

    text = jax.jit(run, donate_argnums=0).lower(jnp.ones((5, 100)), jnp.ones(5)).compile().as_text()
    assert not re.search(r"f32\[5,100\]\S* copy", text)


def test_it_is_explained_and_its_cost_is_counted():
    big = np.zeros(100_000, np.float32)
    explained = ks.kernel(lambda big, x: (big, x + 1)).explain(big, np.float32(0))
    assert explained.passed == 1
    assert "1 passed on as they came" in str(explained)
    assert explained.decision.take
    assert ks.compiler.decide(lambda big, x: (big, x + 1), big, 1.0).take
    jaxpr = jax.make_jaxpr(lambda big, x: (big, x + 1))(big, 1.0)
    assert cost.work_of(jaxpr).moved == 200_000
    assert cost.work_of(jaxpr, interface=interface(lambda big, x: (big, x + 1), big, 1.0)).moved == 0
