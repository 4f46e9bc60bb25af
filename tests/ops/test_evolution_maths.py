"""Maths of evolution strategies: ranks, search gradients and ClipUp beside numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from kousoku.ops.evolution import antithetic_gradient, centred_ranks, clip_up

FITNESS = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
RETURNS = st.sampled_from([2, 3, 12]).flatmap(lambda n: st.lists(FITNESS, min_size=n, max_size=n))
"""Of few lengths: each is compiled."""


@pytest.mark.full("covered")
@pytest.mark.property
@given(RETURNS)
def test_ranks_are_those_of_scipy_spread_over_one(returns):
    ranks = np.asarray(jax.jit(centred_ranks)(np.asarray(returns, np.float32)))
    expected = (rankdata(np.asarray(returns, np.float32)) - 1) / (len(returns) - 1) - 0.5
    np.testing.assert_allclose(ranks, expected, atol=1e-6)
    assert abs(ranks.sum()) < 1e-4


@pytest.mark.property
@given(RETURNS, st.integers(0, 2**31 - 1))
def test_ranks_go_with_their_candidates(returns, seed):
    values = np.asarray(returns, np.float32)
    order = np.random.default_rng(seed).permutation(len(values))
    ranks = np.asarray(jax.jit(centred_ranks)(values))
    np.testing.assert_array_equal(jax.jit(centred_ranks)(values[order]), ranks[order])


def test_antithetic_gradient_by_hand():
    """Weights (1, 0.5) of mean + sigma epsilon and (0, -0.5) of mean - sigma epsilon: 1 / (4 * 0.1) (1 e0 + 1 e1)."""
    directions = jnp.array([[1.0, 2.0, 0.0], [0.0, -1.0, 4.0]])
    gradient = antithetic_gradient(jnp.array([1.0, 0.5, 0.0, -0.5]), directions, 0.1)
    np.testing.assert_allclose(gradient, [2.5, 2.5, 10.0], rtol=1e-6)


def test_antithetic_gradient_estimates_that_of_a_linear_function():
    """Of f(x) = a x the expectation of the estimate is a itself, whatever sigma."""
    slope, sigma = jnp.array([3.0, -2.0]), 0.5
    noise = jax.random.normal(jax.random.key(0), (20_000, 2))
    returns = jnp.concatenate([sigma * noise @ slope, -sigma * noise @ slope])
    np.testing.assert_allclose(antithetic_gradient(returns, noise, sigma), slope, rtol=0.05)


def test_clip_up_by_hand():
    """Step 1: the gradient's direction times 0.5. Step 2: 0.9 * 0.5 + 0.5 = 0.95, cut to 0.8."""
    ascend = clip_up(0.5, 0.8)
    first, state = ascend.update(jnp.array([3.0, 4.0]), ascend.init(jnp.zeros(2)))
    np.testing.assert_allclose(first, [0.3, 0.4], rtol=1e-6)
    second, state = ascend.update(jnp.array([30.0, 40.0]), state)
    np.testing.assert_allclose(second, [0.48, 0.64], rtol=1e-6)
    third, _ = ascend.update(jnp.zeros(2), state)
    np.testing.assert_allclose(third, [0.432, 0.576], rtol=1e-6)


def test_clip_up_is_the_same_for_a_tree_as_for_a_vector():
    vector, tree = clip_up(0.5, 0.8), clip_up(0.5, 0.8)
    gradient = {"a": jnp.array([1.0]), "b": jnp.array([-2.0, 5.0])}
    flat = jnp.concatenate([gradient["a"], gradient["b"]])
    one, _ = vector.update(flat, vector.init(flat))
    other, _ = tree.update(gradient, tree.init(gradient))
    np.testing.assert_allclose(one, jnp.concatenate([other["a"], other["b"]]), rtol=1e-6)


def test_what_is_not_a_number_is_worst():
    np.testing.assert_array_equal(centred_ranks(jnp.array([1.0, jnp.nan, 2.0])), [0.0, -0.5, 0.5])
