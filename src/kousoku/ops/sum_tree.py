"""Sum trees: weights as leaves, sums in the nodes above, so that one is drawn in proportion to its weight quickly.

A tree of C leaves, any number, is an array [2 C]: node 1 is the root, nodes 2 i and 2 i + 1 are below node i, the
leaves are the last C, and number 0 is not used. Sums are made anew from the two below them, never moved by a
difference, so that nothing adds up over time. Several trees lie side by side, [B, 2 C].
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Trees = Float[Array, "B two_C"]
Numbers = Int[Array, "*N"]


def empty_trees(count: int, leaves: int) -> Trees:
    """Returns trees whose weights are all 0."""
    return jnp.zeros((count, 2 * leaves), jnp.float32)


def roots(trees: Trees) -> Float[Array, " B"]:
    """Returns the sum of each tree's weights."""
    return trees[:, 1]


def weights_at(trees: Trees, tree: Numbers, leaf: Numbers) -> Float[Array, "*N"]:
    """Returns the weights of leaves."""
    return _at(trees, tree, leaf + trees.shape[1] // 2)


def with_weights(trees: Trees, tree: Numbers, leaf: Numbers, weight: Float[Array, "*N"]) -> Trees:
    """Returns the trees with other weights; where a leaf is named several times, with the largest of those.

    Args:
        trees: before.
        tree, leaf: which; of trees beyond the last none is changed.
        weight: of each, 0 or more.

    Examples:
        >>> zero = jnp.zeros(3, jnp.int32)
        >>> with_weights(empty_trees(1, 3), zero, jnp.array([0, 2, 0]), jnp.array([1.0, 4.0, 2.0])).tolist()
        [[0.0, 6.0, 4.0, 2.0, 0.0, 4.0]]
    """
    size = trees.shape[1]
    flat, start, node = trees.reshape(-1), tree * size, leaf + size // 2
    zero = jnp.minimum(
        weight, 0.0
    )  # known after the weights are: XLA copies trees that it changes before they are read
    flat = flat.at[start + node].set(zero, mode="drop")
    flat = flat.at[start + node].max(weight, mode="drop")  # in whatever order, the same
    for _ in range(_depth(size // 2)):
        node = jnp.maximum(node // 2, 1)
        left = start + 2 * node
        below = flat.at[left].get(mode="clip") + flat.at[left + 1].get(mode="clip")
        flat = flat.at[start + node].set(below, mode="drop")
    return flat.reshape(trees.shape)


def leaf_at(trees: Trees, tree: Numbers, mass: Float[Array, "*N"]) -> Numbers:
    """Returns the leaf in whose stretch a number lies, where a tree's weights lie side by side from 0 to its sum.

    A leaf of weight 0 is never returned, however numbers are rounded, nor for one beyond the sum; unless all are 0.

    Args:
        trees: the trees.
        tree: which.
        mass: a number from 0 to the tree's sum.

    References:
        Schaul et al., Prioritized experience replay, arXiv:1511.05952, appendix B.2.1.

    Examples:
        >>> trees = with_weights(empty_trees(1, 3), jnp.zeros(2, jnp.int32), jnp.array([0, 2]), jnp.array([2.0, 4.0]))
        >>> leaf_at(trees, jnp.zeros(3, jnp.int32), jnp.array([3.9, 4.0, 7.0])).tolist()
        [2, 0, 0]
    """
    leaves = trees.shape[1] // 2
    node = jnp.ones_like(tree)
    for _ in range(_depth(leaves)):
        inner = node < leaves
        left = jnp.where(inner, 2 * node, 0)
        first, second = _at(trees, tree, left), _at(trees, tree, left + 1)
        right = (mass >= first) & (second > 0.0)
        mass = jnp.where(inner & right, mass - first, mass)
        node = jnp.where(inner, left + right.astype(node.dtype), node)
    return node - leaves


def _at(trees: Trees, tree: Numbers, node: Numbers) -> Float[Array, "*N"]:
    return trees.reshape(-1).at[tree * trees.shape[1] + node].get(mode="promise_in_bounds")


def _depth(leaves: int) -> int:
    """Returns how many nodes lie above the lowest leaf."""
    return (leaves - 1).bit_length()
