"""A JAX function as a flat list of array operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import export

from ..core.errors import ConfigError

BATCH = "n"
"""The size of the batch axis, in shapes."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array that the program computes or is given: two are the same only if they are one object.

    Attributes:
        shape: whole numbers, and symbolic ones that depend on the size of the batch.
        dtype: of the entries.
    """

    shape: tuple[Any, ...]
    dtype: np.dtype


Atom = Tensor | np.ndarray
"""What an operation reads: a value, or a constant."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One primitive of JAX, or "take": rows of the first input [N, ...], at the second [..., 1].

    Attributes:
        name: the primitive's.
        params: as in the jaxpr.
        inputs: what it reads.
        outputs: what it makes.
    """

    name: str
    params: dict[str, Any]
    inputs: tuple[Atom, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class ExportProgram:
    """Operations in order; whatever does not depend on the inputs is a constant already.

    Attributes:
        inputs: [n, ...] each.
        operations: every result of which is needed.
        outputs: of the function.
    """

    inputs: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[Atom, ...]


def trace(function: Callable[..., Sequence[Any]], examples: Sequence[Any]) -> ExportProgram:
    """Traces a function of one example to the program for a batch of any size.

    Args:
        function: from arrays to a sequence of arrays, all of one example.
        examples: arrays, or shapes and dtypes, that it takes.

    Examples:
        >>> import jax.numpy as jnp
        >>> program = trace(lambda x: (jnp.tanh(x) + jnp.sin(jnp.ones(3)),), [jax.ShapeDtypeStruct((3,), np.float32)])
        >>> [operation.name for operation in program.operations]
        ['tanh', 'add']
        >>> program.inputs[0].shape
        (n, 3)
    """
    from .flatten import OperationReader

    (n,) = export.symbolic_shape(BATCH)
    batched = [jax.ShapeDtypeStruct((n, *x.shape), x.dtype) for x in examples]
    closed = jax.make_jaxpr(jax.vmap(lambda *arrays: tuple(function(*arrays))))(*batched)
    reader = OperationReader()
    inputs = tuple(Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in batched)
    outputs = reader.inline(closed.jaxpr, closed.consts, inputs)
    return needed(ExportProgram(inputs, tuple(reader.operations), tuple(outputs)))


def needed(program: ExportProgram) -> ExportProgram:
    """Returns the program without operations that no output depends on."""
    used = {id(atom) for atom in program.outputs}
    kept: list[Operation] = []
    for operation in reversed(program.operations):
        if any(id(output) in used for output in operation.outputs):
            used.update(id(atom) for atom in operation.inputs)
            kept.append(operation)
    return ExportProgram(program.inputs, tuple(reversed(kept)), program.outputs)


def depends(program: ExportProgram, outputs: Sequence[int]) -> list[bool]:
    """Returns for each input whether any of these outputs depends on it."""
    chosen = ExportProgram(program.inputs, program.operations, tuple(program.outputs[i] for i in outputs))
    used = {id(atom) for operation in needed(chosen).operations for atom in operation.inputs}
    used |= {id(atom) for atom in chosen.outputs}
    return [id(value) in used for value in program.inputs]


def multiple(size: Any) -> int | None:
    """Returns k of a symbolic size k n; None for a plain number.

    Raises:
        ConfigError: for any other expression.
    """
    if isinstance(size, (int, np.integer)):
        return None
    words = str(size).replace(" ", "").split("*")
    numbers = [int(word) for word in words if word.isdecimal()]
    if words.count(BATCH) != 1 or len(numbers) != len(words) - 1:
        raise ConfigError("export", str(size), "use a network whose arrays are as long as the batch, or a multiple")
    return int(np.prod(numbers, dtype=np.int64))


def refusal(name: str, kind: str, why: str = "") -> ConfigError:
    """Returns the error for an operation that cannot be written down."""
    fix = f"{why or f'the {kind} export has no rule for this operation of the policy'}; "
    return ConfigError("export", name, fix + "write the network without it, or use the policy from Python")
