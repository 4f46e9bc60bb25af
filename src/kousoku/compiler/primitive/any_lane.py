"""Lets branches be taken by all lanes of a gang though only some have to.

Where lanes differ, a kernel merges what a branch makes with what the other lanes have, number by number. A branch that
changes nothing in lanes that do not need it can do without.
"""

from __future__ import annotations

import jax
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.typing import ArrayLike

any_lane_p = Primitive("any_lane")
any_lane_p.def_abstract_eval(lambda condition: condition)
any_lane_p.def_impl(lambda condition: condition)
mlir.register_lowering(any_lane_p, mlir.lower_fun(lambda condition: condition, multiple_results=False))
batching.defvectorized(any_lane_p)


def any_lane(condition: ArrayLike) -> jax.Array:
    """Returns True where the condition holds, and in a kernel also where it holds in some lane that runs at
    once with this.

    `lax.cond(any_lane(needed), change, keep, x)` is right where both give the same in lanes that do not need it.

    Args:
        condition: a bool, shape [].

    Example:
        >>> import jax.numpy as jnp
        >>> def clipped(x):
        ...     return jax.lax.cond(any_lane(x < 0.0), lambda x: jnp.maximum(x, 0.0), lambda x: x, x)
        >>> jax.vmap(clipped)(jnp.array([-1.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    return any_lane_p.bind(condition)
