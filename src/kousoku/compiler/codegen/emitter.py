"""Writes a program: one operation after the other, each by its rule.

Arrays of at most `UNROLL` elements live in registers and their operations are written out element by element; larger
ones live in memory and are walked in loops. An element-wise operation on a large array that is used once is not written
at all until its user asks for elements: chains of them become one loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import Atom, Literal, Op, Program, Unsupported
from . import index as ix
from .builder import Builder
from .memory import Buffer, Memory
from .operand import Operand
from .value import Blank, Described, Known, Position, Registers, Stored, Value

UNROLL = 32
CONTROL = frozenset({"cond", "while", "scan"})

Rule = Callable[..., Any]


class Emitter:
    """The state of writing one kernel.

    Attributes:
        b: the builder.
        memory: buffers and tables.
        rules: a function for each operation's name.
        mask: the lanes that run the branch or iteration being written, as a wide i1; None for all.
        present: the lanes that exist (the last group of lanes may be incomplete); None for all.
        single_use: whether the operation being written has one user, which may compute its elements itself.
        dying: inputs of the operation being written that nothing needs after it.
        live: values that later operations of the program being written may read.
    """

    def __init__(self, builder: Builder, rules: dict[str, Rule]) -> None:
        self.b = builder
        self.memory = Memory(builder)
        self.rules = rules
        self.mask: Operand | None = None
        self.present: Operand | None = None
        self.single_use = False
        self.dying: set[int] = set()
        self.live: dict[int, Value] = {}

    # ---- programs

    def run(self, program: Program, args: Sequence[Value]) -> list[Value]:
        """The program's results for these arguments."""
        outer = self.live, self.dying, self.single_use
        self.live = {id(v): a for v, a in zip(program.inputs, args, strict=True)}
        last, uses = lifetimes(program)
        for place, op in enumerate(program.ops):
            inputs = [self.value(a) for a in op.inputs]
            self.dying = {i for i, a in enumerate(op.inputs) if last.get(id(a)) == place}
            self.single_use = all(uses.get(id(v), 0) == 1 for v in op.outputs)
            for i in self.dying:
                self.live.pop(id(op.inputs[i]), None)
            results = self.apply(op, inputs)
            del inputs
            for variable, result in zip(op.outputs, results, strict=True):
                if id(variable) in last:
                    self.live[id(variable)] = result
        results = [self.value(a) for a in program.outputs]
        self.live, self.dying, self.single_use = outer
        return results

    def value(self, atom: Atom) -> Value:
        """What is known of a variable or constant."""
        if isinstance(atom, Literal):
            return Known(atom.shape, atom.dtype, self.memory, atom.value)
        return self.live[id(atom)]

    def apply(self, op: Op, inputs: list[Value]) -> list[Value]:
        """The results of one operation."""
        if op.name not in self.rules:
            raise Unsupported(op.name)
        result = self.rules[op.name](self, op, *inputs)
        return result if isinstance(result, list) else [result]

    # ---- making values

    def map(self, op: Op, function: Callable[..., Operand], *inputs: Value) -> Value:
        """The element-wise `function(builder, *operands)`; axes of size one are spread."""
        shape, dtype = op.outputs[0].shape, op.outputs[0].dtype

        def element(position: Position, *sources: Value) -> Operand:
            return function(self.b, *(s.at(spread(position, s.shape)) for s in sources))

        return self.describe(shape, dtype, inputs, element)

    def move(self, op: Op, where: Callable[[Position], Position], value: Value, repeats: bool = False) -> Value:
        """Elements of `value` in other places; `repeats` if one may be asked for several times."""
        if repeats:
            value = self.settled(value)
        out = op.outputs[0]
        return self.describe(out.shape, out.dtype, (value,), lambda p, v: v.at(where(p)), costly=False)

    def describe(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        sources: Sequence[Value],
        element: Callable[..., Operand],
        costly: bool = True,
    ) -> Value:
        """An array whose elements are `element(position, *sources)`."""
        if math.prod(shape) <= UNROLL:
            elements = [element(p, *sources) for p in ix.all_indices(shape)]
            return Registers(shape, dtype, self.memory, elements)
        kept = tuple(self.addressable(s) for s in sources)
        costly = costly or any(isinstance(s, Described) and s.costly for s in kept)
        value = Described(shape, dtype, lambda p: element(p, *kept), kept, costly)
        return value if self.single_use or not costly else self.materialise(value)

    def addressable(self, value: Value) -> Value:
        """The value so that any element can be read inside a loop."""
        return self.memory.spill(value) if isinstance(value, Registers) and value.size > 1 else value

    def settled(self, value: Value) -> Value:
        """The value so that reading an element twice costs no more than a load."""
        return self.materialise(value) if isinstance(value, Described) and value.costly else value

    def materialise(self, value: Value) -> Value:
        """The value with its elements computed: in registers or in memory."""
        if not isinstance(value, Described):
            return value
        return self.copy(value)

    def copy(self, value: Value, wide: bool | None = None) -> Stored:
        """A new buffer with the elements; `wide` if it must be able to hold one for each lane."""
        made: list[Stored] = []

        def start(width: bool) -> None:
            buffer = self.memory.buffer(value.type, value.size, width and self.b.lanes > 1)
            made.append(self.memory.stored(buffer, value.shape, value.dtype))

        if isinstance(value, Registers | Known) and value.size <= UNROLL:
            elements = [value.at(p) for p in ix.all_indices(value.shape)]
            start(bool(wide) or any(e.wide for e in elements))
            for k, e in enumerate(elements):
                self.memory.store(made[0].buffer, [k], e)
            return made[0]
        value = self.addressable(value)
        if value.size == 0 or wide is not None or isinstance(value, Blank):
            start(bool(wide))
        if isinstance(value, Blank):
            return made[0]

        def body(position: Position) -> None:
            e = value.at(position)
            if not made:
                start(e.wide)
            self.memory.store(made[0].buffer, made[0].linear(position), e)

        ix.each(self.b, value.shape, body)
        return made[0]

    def write(self, target: Stored, value: Value, mask: Operand | None = None) -> None:
        """Copy the elements of `value` into `target`, in the lanes of `mask`."""
        if isinstance(value, Stored) and value.buffer is target.buffer and value.offset == target.offset:
            return
        value = self.addressable(value) if value.size > UNROLL else value
        if value.size <= UNROLL:
            for p in ix.all_indices(value.shape):
                self.memory.store(target.buffer, target.linear(p), value.at(p), mask)
        else:
            ix.each(
                self.b,
                value.shape,
                lambda p: self.memory.store(target.buffer, target.linear(p), value.at(p), mask),
            )

    # ---- overwriting

    def owned(self, value: Value, wide: bool, others: Sequence[Value] = ()) -> Stored:
        """The operation's first input in a buffer that may be overwritten: its own, if nobody needs the old elements.

        Writers must leave the lanes outside `mask` as they are.

        Args:
            wide: whether elements that differ between lanes will be written.
            others: further inputs, which will be read while the buffer is overwritten.
        """
        if isinstance(value, Stored) and 0 in self.dying and value.whole and self.may_overwrite(value, wide, others):
            return value
        return self.copy(value, wide or is_wide(value))

    def may_overwrite(self, value: Stored, wide: bool, others: Sequence[Value]) -> bool:
        """Whether nobody else reads the buffer, now or in another iteration."""
        buffer = value.buffer
        if buffer.region is not self.memory.region or (wide and not buffer.wide and self.b.lanes > 1):
            return False
        return not any(buffer is other for v in [*self.live.values(), *others] for other in v.buffers())

    def mask_of(self, buffer: Buffer) -> Operand | None:
        """Which lanes a writer may touch: where all lanes share the elements, those that do not count do not matter."""
        return self.mask if buffer.wide or self.b.lanes == 1 else None


def is_wide(value: Value) -> bool:
    """Whether an array may differ between lanes."""
    if isinstance(value, Registers):
        return any(e.wide for e in value.elements)
    if isinstance(value, Described):
        return any(map(is_wide, value.sources))
    return any(buffer.wide for buffer in value.buffers())


def spread(position: Position, shape: tuple[int, ...]) -> Position:
    """The position in an input of an element-wise operation: axes of size one are repeated, scalars everywhere."""
    if not shape:
        return ()
    return tuple(0 if n == 1 else i for i, n in zip(position[len(position) - len(shape) :], shape, strict=True))


def lifetimes(program: Program) -> tuple[dict[int, int], dict[int, int]]:
    """For each variable the last operation that reads it (outputs: one past the end), and by how many it is read.

    What control flow reads counts as read many times, since it may read in a loop.
    """
    last: dict[int, int] = {}
    uses: dict[int, int] = {}
    for place, op in enumerate(program.ops):
        for a in op.inputs:
            last[id(a)] = place
            uses[id(a)] = uses.get(id(a), 0) + (2 if op.name in CONTROL else 1)
    for a in program.outputs:
        last[id(a)] = len(program.ops)
        uses[id(a)] = uses.get(id(a), 0) + 1
    return last, uses
