"""Reads a jaxpr into operations with a batch axis of any size: what is known is computed, loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..compiler.frontend.inline import Inliner
from ..compiler.frontend.keys import is_key
from ..compiler.frontend.plain_decompositions import (
    LONGEST,
    decompose_plainly,
    has_plain_decomposition,
    is_rows,
)
from ..compiler.ir import Unsupported
from ..core.errors import ConfigError
from .program import Operation, Tensor, refusal


class OperationReader(Inliner):
    """A reader that collects operations: the walk and the decompositions are the compiler's.

    Attributes:
        operations: so far, in order.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def constant(self, value: Any, aval: Any) -> Any:
        """Returns a known array as NumPy's, but a random key as it is."""
        return value if is_key(aval) else np.asarray(value, dtype_of(aval))

    def operation(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        """Appends an operation, unless its results are known; returns them: a `Tensor` each, or an array."""
        name, params, avals = eqn.primitive.name, eqn.params, [x.aval for x in eqn.outvars]
        if not any(isinstance(x, Tensor) for x in inputs) and all(_concrete(aval.shape) for aval in avals):
            return computed(eqn, inputs)
        if name == "cond" and not isinstance(inputs[0], Tensor):
            branches = params["branches"]
            return self.closed(branches[int(np.clip(inputs[0], 0, len(branches) - 1))], inputs[1:])
        if name == "select_n" and not isinstance(inputs[0], Tensor) and np.ndim(inputs[0]) == 0:
            return [inputs[1 + int(inputs[0])]]
        if name == "dynamic_slice" and not any(isinstance(x, Tensor) for x in inputs[1:]):
            name, params = "slice", _fixed_slice(inputs, params["slice_sizes"])
            inputs = inputs[:1]
        if name == "gather" and is_rows(len(avals[0].shape), **params):
            name, params = "take", {}
        elif has_plain_decomposition(name, params, inputs):
            return self.closed(_decomposed(name, inputs, params), inputs)
        if any(map(is_key, inputs)):
            raise refusal(name, "file", "a greedy action may use no random numbers that depend on the observation")
        outputs = tuple(Tensor(tuple(aval.shape), np.dtype(aval.dtype)) for aval in avals)
        self.operations.append(Operation(name, dict(params), tuple(inputs), outputs))
        return list(outputs)


def _decomposed(name: str, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Returns the closed jaxpr of an operation in terms of plainer ones.

    Raises:
        ConfigError: for a loop that is too long to be unrolled.
    """
    try:
        return decompose_plainly(name, inputs, params)
    except Unsupported as error:
        raise ConfigError("export", str(error), f"use a network with loops of at most {LONGEST} steps") from None


def computed(eqn: Any, inputs: Sequence[Any]) -> list[Any]:
    """Computes the results of an equation whose inputs are known, by JAX itself."""
    results = eqn.primitive.bind(*map(jax.device_put, inputs), **eqn.params)
    return list(map(as_numpy, results if eqn.primitive.multiple_results else [results]))


def dtype_of(aval: Any) -> Any:
    """Returns the dtype of an abstract value that is an array."""
    return aval.dtype


def as_numpy(x: Any) -> Any:
    """Returns a known array as NumPy's, but a random key as it is."""
    return x if isinstance(x, (Tensor, np.ndarray)) or is_key(x) else np.asarray(x)


def _concrete(shape: Sequence[Any]) -> bool:
    return all(isinstance(size, (int, np.integer)) for size in shape)


def _fixed_slice(inputs: Sequence[Any], sizes: Sequence[int]) -> dict[str, Any]:
    """Returns the parameters of a slice that begins at known places, which are moved inside as `dynamic_slice` does."""
    operand, *starts = inputs
    begins = [
        0 if length is size else int(np.clip(start, 0, length - size))
        for start, length, size in zip(starts, operand.shape, sizes, strict=True)
    ]
    ends = [size if begin == 0 else begin + size for begin, size in zip(begins, sizes, strict=True)]
    return {"start_indices": tuple(begins), "limit_indices": tuple(ends), "strides": None}
