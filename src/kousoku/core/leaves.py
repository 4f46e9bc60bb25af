"""Leaves of trees: what each is to a program, and in a message."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .errors import Unquoted, shorten


def key_like() -> jax.ShapeDtypeStruct:
    """Returns a random key by its shape and dtype."""
    return jax.eval_shape(jax.random.key, 0)


def is_array_or_number(leaf: Any) -> bool:
    """Returns whether a leaf is an array, or its shape and dtype, or a number of Python's: what programs take."""
    return hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)


def dtype_of(leaf: Any) -> Any:
    """Returns an array's dtype; of a number of Python's the one that programs have it in."""
    return getattr(leaf, "dtype", None) or jnp.result_type(leaf)


def shapes(tree: Any) -> list[tuple[str, tuple[int, ...], str]]:
    """Returns path, shape and dtype of every leaf."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return [(jax.tree_util.keystr(path), jnp.shape(leaf), str(dtype_of(leaf))) for path, leaf in leaves]


def words(tree: Any) -> Unquoted:
    """Returns a tree as a message tells it: dtype and shape of arrays, all else as it would be typed.

    Examples:
        >>> words(jnp.zeros(3)), words({"a": jnp.zeros((2, 1)), "b": "c"})
        (float32[3], {'a': float32[2, 1], 'b': 'c'})
    """

    def word(leaf: Any) -> Unquoted:
        return Unquoted(f"{leaf.dtype}{list(jnp.shape(leaf))}" if _has_dtype(leaf) else shorten(leaf))

    try:
        told = jax.tree.map(word, tree)
    except ValueError:  # a dict whose keys have no order
        return kind_words(tree)
    return Unquoted(" ".join(repr(told).split()))


def kind_words(value: Any) -> Unquoted:
    """Returns what a value is by itself: an array's dtype and shape, or a class, with its length or keys.

    Examples:
        >>> kind_words(jnp.zeros(3)), kind_words((1, 2)), kind_words({"a": 1}), kind_words(3), kind_words(None)
        (float32[3], a tuple of 2, a dict of 'a', an int, None)
    """
    if value is None or _has_dtype(value):
        return words(value)
    kind, parts = type(value).__name__, ""
    if isinstance(value, dict):
        parts = f" of {', '.join(map(repr, value)) or 'nothing'}"
    elif isinstance(value, tuple | list):
        parts = f" of {len(value)}"
    return Unquoted(f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}{parts}")


def _has_dtype(value: Any) -> bool:
    """Returns whether a value is an array, or its shape and dtype; NumPy's classes of numbers are none."""
    return hasattr(value, "dtype") and not isinstance(value, type)
