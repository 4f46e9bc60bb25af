"""Trees of JAX arrays as plain arrays for a file, and back."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...compiler.frontend.keys import is_key
from ...core.errors import ConfigError
from ...ops.trees import to_device

Leaf = tuple[str, str, tuple[int, ...]]
"""(path, dtype in words, shape)."""


def to_arrays(tree: Any) -> list[np.ndarray]:
    """Returns the leaves in order, as NumPy arrays that every NumPy can read; a typed key as its words."""
    return [_plain(leaf) for leaf in jax.tree.leaves(tree)]


def paths(tree: Any) -> list[str]:
    """Returns where each leaf is, in the same order, as one would write it: "agent.network.actor.layers[0].weight"."""
    return [jax.tree_util.keystr(path).lstrip(".") for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def kinds(tree: Any) -> list[str]:
    """Returns the dtype of each leaf in words: "float32", "key<fry>"."""
    return [str(leaf.dtype) for leaf in jax.tree.leaves(tree)]


def shapes(tree: Any) -> list[Leaf]:
    """Returns (path, dtype in words, shape) of each leaf."""
    sizes = [tuple(leaf.shape) for leaf in jax.tree.leaves(tree)]
    return list(zip(paths(tree), kinds(tree), sizes, strict=True))


def difference(found: list[Leaf], needed: list[Leaf]) -> tuple[str, str]:
    """Describes the first leaf that differs, as it was found and as it is needed."""
    same = (a == b for a, b in zip(found, needed, strict=False))
    i = next((i for i, equal in enumerate(same) if not equal), min(len(found), len(needed)))
    return _named(found, i, needed), _named(needed, i, found)


def unplaced(tree: Any) -> Any:
    """Returns copies of the arrays that are on no device in particular, so that they go where a program is."""
    return jax.tree.map(lambda leaf: _like(leaf, _plain(leaf)), tree)


def pick_member(tree: Any, i: int) -> Any:
    """Returns one member of a tree of arrays [N, ...], on no device in particular.

    It is picked on the host: devices would need a program for every shape.
    """
    return jax.tree.map(lambda leaf: _like(leaf, _plain(leaf)[i, ...]), tree)


def from_arrays(what: str, members: int, one: Any, arrays: list[np.ndarray]) -> Any:
    """Rebuilds the tree that `to_arrays` was given.

    Args:
        what: whose states they should be, for the message.
        members: how many members they should be of.
        one: shapes and dtypes of one member, as from `jax.eval_shape`.
        arrays: the leaves, [members, ...].

    Raises:
        ConfigError: if the shapes are others, saying both.
    """
    leaves = jax.tree.leaves(one)
    wanted = [(members, *leaf.shape, *_words(leaf)) for leaf in leaves]
    found = [array.shape for array in arrays]
    if wanted != found:
        raise ConfigError("agent state", found, f"{what} needs {wanted}")
    restored = [_like(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(one), restored)


def onto(template: Any, arrays: list[np.ndarray]) -> Any:
    """Puts the arrays [N, ...] into a tree like the template, each where the template's leaf lies.

    The template may have more members, to fill up its devices; they are the last one again.
    """
    leaves = jax.tree.leaves(template)
    placed = [_placed(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(template), placed)


def _named(leaves: list[Leaf], i: int, others: list[Leaf]) -> str:
    """Returns a leaf in words, of two trees that differ there; "no ..." where one only lacks what the other has."""
    if i >= len(leaves):
        return f"{len(leaves)} leaves"
    path, kind, shape = leaves[i]
    lacks = i < len(others) and others[i][0] not in _paths(leaves) and path in _paths(others)
    return f"no {others[i][0]}" if lacks else f"{path}: {kind}{list(shape)}"


def _paths(leaves: list[Leaf]) -> set[str]:
    return {path for path, _, _ in leaves}


def _placed(leaf: jax.Array, array: np.ndarray) -> jax.Array:
    filled = np.concatenate([array, np.repeat(array[-1:], leaf.shape[0] - len(array), axis=0)])
    return jax.device_put(_like(leaf, filled), leaf.sharding)


def _plain(leaf: Any) -> np.ndarray:
    """Returns a leaf as NumPy's; a dtype that NumPy does not know (bfloat16) as whole numbers of the same bits."""
    array = np.asarray(jax.device_get(jax.random.key_data(leaf) if is_key(leaf) else leaf))
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array


def _like(leaf: Any, array: np.ndarray) -> jax.Array:
    """Returns the array as JAX's, with the leaf's dtype; a copy, which may be given away to a compiled program."""
    if is_key(leaf):
        return jax.random.wrap_key_data(to_device(array), impl=_implementation(leaf))
    return to_device(array.view(leaf.dtype) if np.dtype(leaf.dtype).kind == "V" else array)


def _implementation(leaf: Any) -> Any:
    """Returns the generator that a key belongs to."""
    found: list[Any] = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), jax.ShapeDtypeStruct((), leaf.dtype))
    return found[0]


def _words(leaf: Any) -> tuple[int, ...]:
    """Returns the shape of one element in a file: a key is several words."""
    return jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct((), leaf.dtype)).shape if is_key(leaf) else ()
