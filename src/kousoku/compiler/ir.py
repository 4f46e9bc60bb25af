"""What is compiled: a list of operations on arrays of one lane.

A `Program` is a jaxpr without what the compiler need not know: calls are inlined, constants are folded, equal
operations are one, keys are their words, and parameters are plain data. Every room of the compiler works on it.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


class Unsupported(Exception):
    """Something the kernel has no rule for: the function runs as plain JAX instead."""


@dataclass(eq=False, slots=True)
class Var:
    """An array that an operation makes or that comes in. Compared by identity."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(eq=False, slots=True)
class Literal:
    """An array known at compile time."""

    value: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.value.size


Atom = Var | Literal


@dataclass(eq=False, slots=True)
class Op:
    """One operation.

    Attributes:
        name: the JAX primitive's.
        inputs, outputs: arrays.
        params: the primitive's parameters; jaxprs among them have become programs.
    """

    name: str
    inputs: list[Atom]
    outputs: list[Var]
    params: dict[str, Any]

    def programs(self) -> list[Program]:
        """The programs inside a control-flow operation."""
        found = []
        for value in self.params.values():
            found += [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Program)]
        return found


@dataclass(eq=False, slots=True)
class Program:
    """Operations in an order in which they can run.

    Attributes:
        widths: what `emit.width` has found out about it, by the widths of its inputs.
    """

    inputs: list[Var]
    ops: list[Op] = field(default_factory=list)
    outputs: list[Atom] = field(default_factory=list)
    widths: dict[tuple[bool, ...], list[bool]] = field(default_factory=dict, repr=False)

    def walk(self) -> Iterator[Op]:
        """All operations, those inside control flow included."""
        for op in self.ops:
            yield op
            for inner in op.programs():
                yield from inner.walk()

    def without_dead_code(self) -> Program:
        """Only what the outputs need."""
        needed = {id(v) for v in self.outputs}
        kept = []
        for op in reversed(self.ops):
            if any(id(v) in needed for v in op.outputs):
                needed.update(id(v) for v in op.inputs)
                kept.append(op)
        return Program(self.inputs, kept[::-1], self.outputs)


LOOP_GUESS = 16


@dataclass(frozen=True)
class Summary:
    """What is asked of a program before its operations.

    Attributes:
        digest: see `digest`.
        nanoseconds: a guess of what one group of lanes takes.
    """

    digest: bytes
    nanoseconds: int


class Source(ABC):
    """Where a program comes from; its operations may have to be made first, which takes long."""

    @cached_property
    @abstractmethod
    def summary(self) -> Summary:
        """What it amounts to.

        Raises:
            Unsupported: if the compiler cannot read it.
        """

    @cached_property
    @abstractmethod
    def program(self) -> Program:
        """The program.

        Raises:
            Unsupported: if the compiler cannot read it.
        """


def summary_of(program: Program) -> Summary:
    """What it amounts to."""
    return Summary(digest(program), cost(program))


def cost(program: Program) -> int:
    """A guess of the nanoseconds that one group takes."""
    total = 0
    for op in program.ops:
        times = {"scan": op.params.get("length", 1), "while": LOOP_GUESS}.get(op.name, 1)
        inner = sum(cost(p) for p in op.programs())
        total += times * inner + sum(v.size for v in op.outputs) * (40 if op.name == "threefry2x32" else 1)
    return max(1, total // 2)


def digest(program: Program) -> bytes:
    """SHA-256 of the program's meaning: the same in every process."""
    sha = hashlib.sha256()
    _hash_program(program, sha.update)
    return sha.digest()


def _hash_program(program: Program, update: Any) -> None:
    numbers: dict[int, int] = {}

    def atom(a: Atom) -> str:
        if isinstance(a, Var):
            return f"{numbers[id(a)]}"
        update(a.value.tobytes())
        return f"={a.dtype.str}{a.shape}"

    def define(variables: list[Var]) -> str:
        for v in variables:
            numbers[id(v)] = len(numbers)
        return ",".join(f"{v.dtype.str}{v.shape}" for v in variables)

    update(f"({define(program.inputs)})".encode())
    for op in program.ops:
        inputs = ",".join(atom(a) for a in op.inputs)
        for key in sorted(op.params):
            _hash_param(key, op.params[key], update)
        update(f"{op.name} {inputs}->{define(op.outputs)};".encode())
    update(("->" + ",".join(atom(a) for a in program.outputs)).encode())


def _hash_param(key: str, value: Any, update: Any) -> None:
    if isinstance(value, Program):
        update(key.encode())
        _hash_program(value, update)
    elif isinstance(value, tuple) and any(isinstance(v, Program) for v in value):
        for i, v in enumerate(value):
            _hash_param(f"{key}{i}", v, update)
    else:
        update(f"{key}={value!r}".encode())
