"""Defines what is compiled: a list of operations on arrays of one lane.

A `Graph` is a jaxpr without what the compiler need not know: calls are inlined, constants are folded, equal
operations are one, keys are their words, and parameters are plain data. Every room of the compiler works on it.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

DTYPES: tuple[str, ...] = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
)  # fmt: skip
"""Names of the dtypes that arrays may have."""


class Unsupported(Exception):
    """The refusal of something that the kernel has no rule for: the function runs as plain JAX instead."""


@dataclass(eq=False, slots=True)
class Var:
    """An array that an operation makes or that comes in. Compared by identity."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
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
        """The number of elements."""
        return self.value.size


Atom = Var | Literal


@dataclass(eq=False, slots=True)
class Op:
    """One operation.

    Attributes:
        name: the JAX primitive's.
        inputs, outputs: arrays.
        params: the primitive's parameters; jaxprs among them have become graphs.
    """

    name: str
    inputs: list[Atom]
    outputs: list[Var]
    params: dict[str, Any]

    def graphs(self) -> list[Graph]:
        """Returns the graphs inside a control-flow operation."""
        found = []
        for value in self.params.values():
            found += [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Graph)]
        return found

    def with_graphs(self, change: Callable[[Graph], Graph]) -> Op:
        """Returns the operation with the graphs inside it changed; itself where there are none."""
        if not self.graphs():
            return self

        def changed(value: Any) -> Any:
            if isinstance(value, tuple) and any(isinstance(v, Graph) for v in value):
                return tuple(map(changed, value))
            return change(value) if isinstance(value, Graph) else value

        return replace(self, params={key: changed(value) for key, value in self.params.items()})


@dataclass(frozen=True)
class Devices:
    """The devices that run a graph together, each for itself but for sums over all of them.

    Attributes:
        axis: their name in JAX.
        size: how many they are.
    """

    axis: str
    size: int


@dataclass(eq=False, slots=True)
class Graph:
    """Operations in an order in which they can run; a graph that is made stays as it is.

    Attributes:
        uniformity: what `passes.uniformity` has found out about it: by which inputs are varying, which outputs are.
        meeting, nested: the answers of `devices` and `levels`, once they were asked for.
    """

    inputs: list[Var]
    ops: list[Op] = field(default_factory=list)
    outputs: list[Atom] = field(default_factory=list)
    uniformity: dict[tuple[bool, ...], list[bool]] = field(default_factory=dict, repr=False)
    meeting: int | None = field(default=None, repr=False)
    nested: int | None = field(default=None, repr=False)

    def walk(self) -> Iterator[Op]:
        """Iterates over all operations, those inside control flow included."""
        for op in self.ops:
            yield op
            for inner in op.graphs():
                yield from inner.walk()

    def uses(self) -> dict[int, int]:
        """Returns how often each array is read, outputs included, by its id."""
        found: dict[int, int] = {}
        for atom in [*(a for op in self.ops for a in op.inputs), *self.outputs]:
            found[id(atom)] = found.get(id(atom), 0) + 1
        return found

    @property
    def devices(self) -> int:
        """How many devices have to meet for it; 0 where it needs no other."""
        found = self.meeting
        if found is None:
            within = (graph.devices for op in self.ops for graph in op.graphs())
            found = self.meeting = max([0, *(op.params.get("devices", 0) for op in self.ops), *within])
        return found

    @property
    def levels(self) -> int:
        """How many operations with graphs lie within one another, at most."""
        found = self.nested
        if found is None:
            found = self.nested = max((1 + graph.levels for op in self.ops for graph in op.graphs()), default=0)
        return found

    def without_dead_code(self) -> Graph:
        """Returns the graph with only what the outputs need."""
        needed = {id(v) for v in self.outputs}
        kept = []
        for op in reversed(self.ops):
            if any(id(v) in needed for v in op.outputs):
                needed.update(id(v) for v in op.inputs)
                kept.append(op)
        return Graph(self.inputs, kept[::-1], self.outputs)


LOOP_GUESS = 16
WEIGHTS = {
    "threefry2x32": 40,
    **dict.fromkeys(("div", "rem", "sqrt", "rsqrt", "cbrt"), 4),
    **dict.fromkeys(
        ("exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "logistic", "erf", "erfc"), 10
    ),
    **dict.fromkeys(("asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh"), 15),
    **dict.fromkeys(("pow", "erf_inv", "lgamma", "digamma"), 50),
}
"""Operations of a vector for an element, where they are not one."""


@dataclass(frozen=True)
class Origin:
    """The origin of a function's result.

    Attributes:
        is_input: whether it is one of the function's inputs, as it came; else its kernel makes it.
        number: which of the function's inputs, or which of the kernel's results.
    """

    is_input: bool
    number: int


@dataclass(frozen=True)
class Interface:
    """The inputs and results of a function that go into its kernel and come out of it.

    Attributes:
        inputs: the function's inputs that the kernel reads, by number.
        results: where each result of the function comes from; what the kernel makes is numbered in their order.
    """

    inputs: tuple[int, ...]
    results: tuple[Origin, ...]

    @property
    def made(self) -> int:
        """How many results the kernel makes."""
        return len({origin.number for origin in self.results if not origin.is_input})

    @classmethod
    def of(cls, graph: Graph) -> Interface:
        """Reads it off the graph of a whole function."""
        read = {id(a) for op in graph.ops for a in op.inputs}
        place = {id(v): i for i, v in enumerate(graph.inputs)}
        made: dict[int, int] = {}
        results = []
        for a in graph.outputs:
            if id(a) in place:
                results.append(Origin(True, place[id(a)]))
            else:
                results.append(Origin(False, made.setdefault(id(a), len(made))))
        return cls(tuple(i for i, v in enumerate(graph.inputs) if id(v) in read), tuple(results))

    def narrowed(self, graph: Graph) -> Graph:
        """Returns the graph of the kernel: without inputs that nothing reads, and each result that it makes once."""
        made = {origin.number: a for a, origin in zip(graph.outputs, self.results, strict=True) if not origin.is_input}
        return Graph([graph.inputs[i] for i in self.inputs], graph.ops, list(made.values()))


@dataclass(frozen=True)
class GraphSummary:
    """The facts of a graph that are asked for before its operations.

    Attributes:
        digest: see `digest`.
        nanoseconds: a guess of what one gang of lanes takes.
        counted: whether `nanoseconds` rests on no guess of how often a loop runs.
        interface: what of the function's inputs and results the graph has.
    """

    digest: bytes
    nanoseconds: int
    counted: bool
    interface: Interface


class GraphSource(ABC):
    """The source of a graph, whose operations may have to be made first, which takes long.

    Attributes:
        arrays: whether vectors are to lie along the arrays of one lane, and not along lanes.
    """

    arrays: bool = False

    @property
    def meets(self) -> int:
        """How many devices have to meet for it; 0 where it needs no other."""
        return 0

    @cached_property
    @abstractmethod
    def summary(self) -> GraphSummary:
        """What the graph amounts to.

        Raises:
            Unsupported: if the compiler cannot read it.
        """

    @cached_property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph.

        Raises:
            Unsupported: if the compiler cannot read it.
        """


def summarise(graph: Graph, interface: Interface) -> GraphSummary:
    """Returns what a graph amounts to."""
    return GraphSummary(digest(graph), cost(graph), all(op.name != "while" for op in graph.walk()), interface)


def cost(graph: Graph) -> int:
    """Estimates the nanoseconds that one gang takes."""
    total = 0
    for op in graph.ops:
        times = {"scan": op.params.get("length", 1), "while": LOOP_GUESS}.get(op.name, 1)
        total += times * sum(cost(p) for p in op.graphs()) + _operations(op)
    return max(1, total // 2)


def _operations(op: Op) -> int:
    """Returns how many operations of a vector an operation is, beside those of its graphs.

    Elementary functions and sorting are as many as they were measured to take the time of.
    """
    size = sum(v.size for v in op.outputs)
    read = max((v.size for v in op.inputs), default=0)
    if op.name == "dot_general":
        factor, (contracted, _) = op.inputs[0], op.params["dimension_numbers"]
        return 2 * size * math.prod(factor.shape[axis] for axis in contracted[0])
    if op.name in ("sort", "top_k"):
        return 2 * max(size, read) * max(1, (read - 1).bit_length()) ** 2
    if op.name.startswith(("reduce", "arg")):
        return max(size, read)
    return WEIGHTS.get(op.name, 1) * size


def digest(graph: Graph) -> bytes:
    """Returns the SHA-256 of the graph's meaning: the same in every process."""
    sha = hashlib.sha256()
    _hash_graph(graph, sha.update)
    return sha.digest()


def _hash_graph(graph: Graph, update: Any) -> None:
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

    update(f"({define(graph.inputs)})".encode())
    for op in graph.ops:
        inputs = ",".join(atom(a) for a in op.inputs)
        for key in sorted(op.params):
            _hash_param(key, op.params[key], update)
        update(f"{op.name} {inputs}->{define(op.outputs)};".encode())
    update(("->" + ",".join(atom(a) for a in graph.outputs)).encode())


def _hash_param(key: str, value: Any, update: Any) -> None:
    if isinstance(value, Graph):
        update(key.encode())
        _hash_graph(value, update)
    elif isinstance(value, tuple) and any(isinstance(v, Graph) for v in value):
        for i, v in enumerate(value):
            _hash_param(f"{key}{i}", v, update)
    else:
        update(f"{key}={value!r}".encode())
