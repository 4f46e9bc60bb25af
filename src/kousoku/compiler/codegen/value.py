"""Represents arrays inside a kernel: known, in registers, in memory, or computed from the position.

Every one of them answers `at(index)`: the element at a position that may be known, shared, or different in each lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import index as ix
from .index import Index
from .operand import LLVM_TYPES, Operand, constant

if TYPE_CHECKING:
    from .memory import Buffer, KernelMemory

Position = tuple[Index, ...]


@dataclass(eq=False)
class Value:
    """An array of one lane.

    Attributes:
        shape, dtype: as in JAX.
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def type(self) -> str:
        """The LLVM type of an element."""
        return LLVM_TYPES[self.dtype.name]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def at(self, position: Position) -> Operand:
        """Returns the element at a position."""
        raise NotImplementedError

    def buffers(self) -> Iterable[Buffer]:
        """Returns the memory that it is read from."""
        return ()


def _place(position: Position, shape: Sequence[int]) -> int:
    """Returns how many elements come before a known position, whose last number may count on beyond its axis."""
    return sum(i * s for i, s in zip(position, ix.strides_of(shape), strict=True))  # type: ignore[misc]


@dataclass(eq=False)
class Constant(Value):
    """An array known at compile time."""

    memory: KernelMemory
    array: np.ndarray

    @cached_property
    def uniform(self) -> bool:
        """Whether all elements have the same bits."""
        return self.size > 0 and self.array.tobytes() == self.array.flat[0].tobytes() * self.size

    def at(self, position: Position) -> Operand:
        if self.uniform:
            return constant(self.array.flat[0], self.type)
        if all(isinstance(i, int) for i in position):
            return constant(self.array.item(_place(position, self.shape)), self.type)
        return self.memory.table(self.array).at(position)


@dataclass(eq=False)
class Registers(Value):
    """A few elements, each an operand."""

    memory: KernelMemory
    elements: list[Operand]

    def at(self, position: Position) -> Operand:
        if len(self.elements) == 1:
            return self.memory.for_block(self.elements[0])
        if all(isinstance(i, int) for i in position):
            return self.elements[_place(position, self.shape)]
        return self.memory.pick(self, position)


@dataclass(eq=False)
class Stored(Value):
    """Elements in memory.

    Attributes:
        buffer: where.
        offset: position of the first element, in elements.
        strides: in elements, for each axis.
    """

    memory: KernelMemory
    buffer: Buffer
    offset: Index
    strides: tuple[int, ...]

    def at(self, position: Position) -> Operand:
        return self.memory.load(self.buffer, self.linear(position))

    def linear(self, position: Position) -> list[Index]:
        """Returns the terms whose sum is the element's place in the buffer."""
        b = self.memory.b
        terms = [ix.scale(b, i, s) for i, s in zip(position, self.strides, strict=True)]
        return [self.offset, *terms]

    def buffers(self) -> Iterable[Buffer]:
        return (self.buffer,)

    @property
    def whole(self) -> bool:
        """Whether it is its buffer, all of it and in order."""
        return self.offset == 0 and self.strides == ix.strides_of(self.shape) and self.buffer.size == self.size


@dataclass(eq=False)
class Undef(Value):
    """Elements that nobody may rely on: zeros where they are read, whatever lies there once they have a buffer."""

    memory: KernelMemory

    def at(self, position: Position) -> Operand:
        return constant(0, self.type)


Request = tuple[Value, Position]
"""An array, and the position of the element that is asked for."""
Element = Operand | Generator[Request, Operand, Operand]
"""An element; or what asks for others in turn, is sent them, and returns it in the end."""


def computed(element: Element) -> Operand:
    """Returns an element, with all computed that it asks for.

    What asks waits in a list, and not as a call within a call: chains of operations are as long as a user's program.
    """
    asking: list[Generator[Request, Operand, Operand]] = []
    while asking or not isinstance(element, Operand):
        told: Any = None
        if isinstance(element, Operand):
            told = element
        else:
            asking.append(element)
        try:
            source, place = asking[-1].send(told)
        except StopIteration as end:
            asking.pop()
            element = end.value
        else:
            element = source.element(place) if isinstance(source, Lazy) else source.at(place)
    return element


def asked(value: Value, position: Position) -> Element:
    """Returns an array's element for `computed`, which asks for it where it has to be computed first."""
    return _asking(value, position) if isinstance(value, Lazy) else value.at(position)


def _asking(value: Value, position: Position) -> Generator[Request, Operand, Operand]:
    return (yield value, position)


@dataclass(eq=False)
class Lazy(Value):
    """Elements that are computed where they are needed.

    Attributes:
        element: from a position to the element, or to a generator that asks for what it is made of (see `computed`).
        sources: what it reads.
        costly: whether computing an element twice would waste work.
        flat: whether each element depends on the sources' at its own place alone, which lie one after the other: then
            the last axis may count through all of them, the other axes being 0.
        work: about how many operations an element takes.
        depth: how many operations lie between it and the farthest array that it is made of.
    """

    element: Callable[[Position], Element]
    sources: tuple[Value, ...]
    costly: bool
    flat: bool = False
    work: int = 1
    depth: int = 1

    def at(self, position: Position) -> Operand:
        return computed(self.element(position))

    def buffers(self) -> Iterable[Buffer]:
        return [buffer for leaf in leaves(self) for buffer in leaf.buffers()]


def leaves(value: Value) -> Iterator[Value]:
    """Yields the arrays that lazy ones are computed from, in the end."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, Lazy):
            waiting += found.sources[::-1]
        else:
            yield found


@dataclass(eq=False)
class Deferred(Stored):
    """Elements in memory, once the loop is written that computes them.

    Attributes:
        value: what they are; None once they are written.
        now: the element at the position where that loop is being written; None elsewhere.
        reads: the memory that it is read from, and until it is written that of what its elements are made of.
    """

    value: Lazy | None
    now: Operand | None = None

    def __post_init__(self) -> None:
        made_of = () if self.value is None else self.value.buffers()
        self.reads = tuple(dict.fromkeys((self.buffer, *made_of)))

    def at(self, position: Position) -> Operand:
        return super().at(position) if self.now is None else self.now

    def buffers(self) -> Iterable[Buffer]:
        return self.reads

    def written(self) -> None:
        """Notes that the loop is written: what its elements are made of is not read again."""
        self.value, self.now, self.reads = None, None, (self.buffer,)
