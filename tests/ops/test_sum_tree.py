"""Sum trees against plain arrays: any number of leaves, leaves that are named twice, what is drawn how often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE

from kousoku.ops.sum_tree import empty_trees, leaf_at, roots, weights_at, with_weights

SIZES = [1, 2, 3, 5, 8, 13, 100]
placed = jax.jit(with_weights, compiler_options=FAST_COMPILE)
found = jax.jit(leaf_at, compiler_options=FAST_COMPILE)


def check_sums(trees, plain):
    """Every node is the sum of the two below it, and the root that of the leaves."""
    trees, size = np.asarray(trees), plain.shape[1]
    np.testing.assert_array_equal(trees[:, size:], plain)
    for node in range(1, size):
        np.testing.assert_array_equal(trees[:, node], trees[:, 2 * node] + trees[:, 2 * node + 1])
    np.testing.assert_allclose(trees[:, 1], plain.astype(np.float64).sum(axis=1), rtol=1e-6)


@pytest.mark.full("covered")
@pytest.mark.parametrize("size", SIZES)
def test_weights_and_sums_after_random_changes(size):
    rng = np.random.default_rng(size)
    trees, plain = empty_trees(3, size), np.zeros((3, size), np.float32)
    for count in (1, 7, 7, 40, 40, 40):
        tree, leaf = rng.integers(0, 3, count), rng.integers(0, size, count)
        weight = (rng.random(count) * 10.0 ** rng.integers(-6, 4, count)).astype(np.float32)
        for pair in set(zip(tree, leaf, strict=True)):
            plain[pair] = max(w for t, x, w in zip(tree, leaf, weight, strict=True) if (t, x) == pair)
        trees = placed(trees, jnp.int32(tree), jnp.int32(leaf), jnp.array(weight))
        check_sums(trees, plain)
        np.testing.assert_array_equal(roots(trees), trees[:, 1])
        np.testing.assert_array_equal(weights_at(trees, jnp.int32(tree), jnp.int32(leaf)), plain[tree, leaf])


@pytest.mark.by_default("1")
@pytest.mark.parametrize("size", SIZES)
def test_leaves_lie_side_by_side(size):
    """Each leaf has a stretch as long as its weight: of numbers that are as far apart, it gets so many."""
    rng = np.random.default_rng(size)
    plain = rng.integers(0, 5, (2, size)).astype(np.float32)
    plain[:, rng.integers(0, size)] = 3.0
    every = np.arange(2 * size)
    trees = placed(empty_trees(2, size), jnp.int32(every // size), jnp.int32(every % size), jnp.array(plain.ravel()))
    for tree in range(2):
        mass = np.arange(0, plain[tree].sum(), 0.25, np.float32)
        leaf = found(trees, jnp.full(len(mass), tree, jnp.int32), jnp.array(mass))
        np.testing.assert_array_equal(np.bincount(leaf, minlength=size), 4 * plain[tree])


@pytest.mark.full("covered")
def test_what_weighs_nothing_is_never_found():
    rng = np.random.default_rng(0)
    for size in (3, 37):
        plain = (rng.random(size) * (rng.random(size) < 0.4)).astype(np.float32)
        plain[rng.integers(0, size)] = 0.1
        zero = jnp.zeros(size, jnp.int32)
        trees = placed(empty_trees(1, size), zero, jnp.arange(size, dtype=jnp.int32), jnp.array(plain))
        mass = np.concatenate([rng.random(200) * plain.sum(), [0.0, plain.sum(), plain.sum() * 1.001, 1e9]])
        leaf = found(trees, jnp.zeros(len(mass), jnp.int32), jnp.float32(mass))
        assert (plain[np.asarray(leaf)] > 0).all(), size


@pytest.mark.full("covered")
def test_nothing_adds_up_over_many_changes():
    trees, zero = empty_trees(1, 5), jnp.zeros(1, jnp.int32)
    for i in range(300):
        trees = placed(trees, zero, jnp.array([i % 5], jnp.int32), jnp.array([10.0 ** (i % 13 - 6)]))
    trees = placed(trees, jnp.zeros(5, jnp.int32), jnp.arange(5, dtype=jnp.int32), jnp.full(5, 0.125))
    assert float(roots(trees)[0]) == 0.625
