"""A branch that all lanes of a group take if one of them has to, and whose results are merged with nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import kousoku as ks
from kousoku.compiler import any_lane

LANES = 40


def raised(needed, x):
    return lax.cond(needed, lambda: x + jnp.where(x < 0.0, jnp.exp(x) * jnp.sin(x), 0.0), lambda: x)


def sparing(x):
    return raised(any_lane(x < 0.0), x)


def merging(x):
    return raised(x < 0.0, x)


def points(seed=0):
    """Of which some groups of lanes have a negative one, and some have none."""
    x = np.random.default_rng(seed).normal(size=LANES)
    x[16:] = np.abs(x[16:])
    return jnp.asarray(x, jnp.float32)


@pytest.mark.full("covered")
def test_it_is_the_same_function():
    x = points()
    ours = jax.vmap(ks.kernel(sparing))(x)
    np.testing.assert_array_equal(ours, jax.vmap(ks.kernel(merging))(x))
    np.testing.assert_allclose(ours, jax.vmap(merging)(x), rtol=1e-6)
    np.testing.assert_allclose(ours[:3], [ks.kernel(sparing)(y) for y in x[:3]], rtol=1e-6)


def test_nothing_is_merged():
    def merges(function):
        return ks.kernel(function).explain(jnp.float32(1.0)).llvm_ir.count("select <")

    assert merges(sparing) < merges(merging)


def test_a_lane_that_needs_it_takes_the_others_of_its_group_along():
    """Here a change shows that they went; whoever uses it sees to it that there is none."""

    def told(x):
        return lax.cond(any_lane(x < 0.0), lambda: x + 100.0, lambda: x)

    x = np.ones(LANES, np.float32)
    x[3] = -1.0
    taken = np.asarray(jax.vmap(ks.kernel(told))(jnp.asarray(x))) > 50.0
    assert taken[:4].all()
    assert not taken[32:].any()


def test_lanes_that_have_left_a_loop_take_nobody_along():
    """The second lane leaves before it needs anything."""

    def told(length, start):
        def body(carry):
            i, x = carry
            return i + 1, lax.cond(any_lane((i == 2) & (start < 0.0)), lambda: x + 100.0, lambda: x)

        return lax.while_loop(lambda carry: carry[0] < length, body, (jnp.int32(0), start))[1]

    lengths, starts = jnp.array([5, 2], jnp.int32), jnp.array([1.0, -1.0], jnp.float32)
    np.testing.assert_array_equal(jax.vmap(ks.kernel(told))(lengths, starts), starts)


@pytest.mark.full("covered")
def test_derivatives_go_through():
    x = points()
    for slopes in (jax.grad, lambda f: lambda y: jax.jvp(f, (y,), (jnp.ones_like(y),))[1]):
        ours, wanted = (jax.vmap(slopes(f))(x) for f in (ks.kernel(sparing), merging))
        np.testing.assert_allclose(ours, wanted, rtol=2e-6)
