"""Functions of whole trees of arrays."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from ..compiler.frontend.keys import is_key

T = TypeVar("T")
M = TypeVar("M", bound=eqx.Module)


def select(condition: Bool[Array, ""], if_true: T, if_false: T) -> T:
    """Selects one of two trees of the same structure, leaf by leaf.

    Examples:
        >>> one, other = {"x": jnp.zeros(2)}, {"x": jnp.ones(2)}
        >>> select(jnp.array(True), one, other)["x"].tolist(), select(jnp.array(False), one, other)["x"].tolist()
        ([0.0, 0.0], [1.0, 1.0])
    """
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)


def as_vector(tree: Any) -> Shaped[Array, " n"]:
    """Copies the elements of all leaves into one vector: `jax.flatten_util.ravel_pytree` without a concatenation.

    XLA fuses a concatenation with what makes its parts, and on a processor goes through the whole vector for each of
    them, masked: where what lies beyond a part was no memory of the process, trainings took 2.5 times as long.

    Examples:
        >>> as_vector({"w": jnp.ones((2, 1)), "b": jnp.zeros(1)}).tolist()
        [0.0, 1.0, 1.0]
    """
    leaves = jax.tree.leaves(tree)
    if len(leaves) == 1:
        return leaves[0].reshape(-1)
    vector, at = jnp.zeros(sum(leaf.size for leaf in leaves), jnp.result_type(*leaves)), 0
    for leaf in leaves:
        vector = jax.lax.dynamic_update_slice(vector, leaf.reshape(-1).astype(vector.dtype), (at,))
        at += leaf.size
    return vector


def to_device(x: Any, dtype: Any = None) -> Array:
    """Returns `jnp.asarray(x, dtype)`, without a program for NumPy's arrays: JAX compiles one for each of their shapes.

    NumPy's arrays are copied. They and Python's numbers are moved by `jax.device_put`, which a guard of transfers
    allows: they are meant. One of JAX's, also while it is traced, is `jnp.asarray`'s.

    Examples:
        >>> to_device(np.arange(3), jnp.float32)
        Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return jax.device_put(np.array(x, dtype))
    if isinstance(x, (bool, int, float, complex)):
        return jax.device_put(x if dtype is None else np.array(x, dtype))  # by itself its type is weak
    return jnp.asarray(x, dtype)


def with_fields(module: M, **values: Any) -> M:
    """Returns a module with other values in some fields, whatever they are: as where a tree is mapped, none is checked.

    `dataclasses.replace` takes what a field is declared to hold, and `equinox.tree_at` twenty times as long.

    Examples:
        >>> with_fields(eqx.nn.Identity()), with_fields(eqx.nn.Dropout(0.5), p="a half").p
        (Identity(), 'a half')
    """
    made, fields = object.__new__(type(module)), dataclasses.fields(module)
    assert values.keys() <= {field.name for field in fields}, f"{type(module).__name__} has no such field"
    for field in fields:
        object.__setattr__(made, field.name, values.get(field.name, getattr(module, field.name)))
    return made


def rows(tree: T, numbers: Int[np.ndarray, " K"]) -> T:
    """Returns some rows [K, ...] of a tree of arrays [N, ...].

    Examples:
        >>> rows({"x": jnp.arange(5)}, np.array([3, 0, 3]))
        {'x': Array([3, 0, 3], dtype=int32)}
    """
    return _rows(tree, to_device(numbers))


@jax.jit
def _rows(tree: T, numbers: Int[Array, " K"]) -> T:
    return jax.tree.map(lambda leaf: leaf[numbers], tree)


def arrays_on_device(tree: T) -> T:
    """Returns a tree with its arrays of NumPy's on the device, and all else as it is."""
    return jax.tree.map(lambda leaf: to_device(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)


def tree_bytes(tree: Any) -> int:
    """Returns the bytes of a tree's arrays, or of arrays of these shapes; a key has 8.

    Examples:
        >>> tree_bytes({"q": jnp.zeros((3, 2)), "key": jax.random.key(0)})
        32
    """
    return sum(_array_bytes(leaf) for leaf in jax.tree.leaves(tree))


def _array_bytes(leaf: Any) -> int:
    itemsize = 8 if is_key(leaf) else leaf.dtype.itemsize
    return int(np.prod(leaf.shape)) * itemsize
