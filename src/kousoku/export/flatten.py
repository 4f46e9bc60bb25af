"""Reads a jaxpr: calls are inlined, loops unrolled, what is known is computed, rare operations become plain ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

from ..compiler.frontend.jaxprs import CALLS, consts_of, opened
from .program import Operation, Value, refusal
from .rewrites import REWRITES, is_plain, is_rows

IDENTITIES = ("stop_gradient", "copy", "copy_p", "optimization_barrier", "sharding_constraint")


class Reader:
    """Collects operations.

    Attributes:
        operations: so far, in order.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def inline(self, jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr: a `Value` each, or an array where it is known already."""
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(held, consts), *inputs], strict=True))

        def atom(x: Any) -> Any:
            return np.asarray(x.val, dtype_of(x.aval)) if isinstance(x, jax.extend.core.Literal) else known[x]

        for eqn in jaxpr.eqns:
            known.update(zip(eqn.outvars, self.read(eqn, [atom(x) for x in eqn.invars]), strict=True))
        return [atom(x) for x in jaxpr.outvars]

    def read(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        """The results of one equation."""
        name, params, avals = eqn.primitive.name, eqn.params, [x.aval for x in eqn.outvars]
        if name in CALLS:
            return self.closed(params[CALLS[name]], inputs)
        if not any(isinstance(x, Value) for x in inputs) and all(_concrete(aval.shape) for aval in avals):
            return computed(eqn, inputs)
        if name in IDENTITIES:
            return inputs
        if name == "cond" and not isinstance(inputs[0], Value):
            branches = params["branches"]
            return self.closed(branches[int(np.clip(inputs[0], 0, len(branches) - 1))], inputs[1:])
        if name == "select_n" and not isinstance(inputs[0], Value) and np.ndim(inputs[0]) == 0:
            return [inputs[1 + int(inputs[0])]]
        if name == "dynamic_slice" and not any(isinstance(x, Value) for x in inputs[1:]):
            name, params = "slice", _fixed_slice(inputs, params["slice_sizes"])
            inputs = inputs[:1]
        if name == "gather" and is_rows(len(avals[0].shape), **params):
            name, params = "take", {}
        elif name in REWRITES and not is_plain(name, params, inputs[0].dtype):
            shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
            return self.closed(jax.make_jaxpr(lambda *xs: REWRITES[name](*xs, **params))(*shapes), inputs)
        if any(map(is_key, inputs)):
            raise refusal(name, "file", "a greedy action may use no random numbers that depend on the observation")
        outputs = tuple(Value(tuple(aval.shape), np.dtype(aval.dtype)) for aval in avals)
        self.operations.append(Operation(name, dict(params), tuple(inputs), outputs))
        return list(outputs)

    def closed(self, closed: Any, inputs: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr that may be closed over constants."""
        return self.inline(opened(closed), consts_of(closed), inputs)


def computed(eqn: Any, inputs: Sequence[Any]) -> list[Any]:
    """The results of an equation whose inputs are known, by JAX itself."""
    results = eqn.primitive.bind(*map(jnp.asarray, inputs), **eqn.params)
    return list(map(held, results if eqn.primitive.multiple_results else [results]))


def dtype_of(aval: Any) -> Any:
    """Of an abstract value that is an array."""
    return aval.dtype


def held(x: Any) -> Any:
    """A known array as NumPy, but a random key as it is."""
    return x if isinstance(x, (Value, np.ndarray)) or is_key(x) else np.asarray(x)


def is_key(x: Any) -> bool:
    """Whether this is a typed random key."""
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _concrete(shape: Sequence[Any]) -> bool:
    return all(isinstance(size, (int, np.integer)) for size in shape)


def _fixed_slice(inputs: Sequence[Any], sizes: Sequence[int]) -> dict[str, Any]:
    """A slice that begins at known places, which are moved inside as `dynamic_slice` does."""
    operand, *starts = inputs
    begins = [
        0 if length is size else int(np.clip(start, 0, length - size))
        for start, length, size in zip(starts, operand.shape, sizes, strict=True)
    ]
    ends = [size if begin == 0 else begin + size for begin, size in zip(begins, sizes, strict=True)]
    return {"start_indices": tuple(begins), "limit_indices": tuple(ends), "strides": None}
