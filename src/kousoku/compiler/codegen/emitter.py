"""Writes a graph: one operation after the other, each by its rule.

Arrays of at most `UNROLL` elements live in registers and their operations are written out element by element; larger
ones live in memory and are walked in loops. An element-wise operation on a large array that is used once is not written
at all until its user asks for elements: chains of them become one loop, up to `DEEPEST` operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from ..ir import Atom, Graph, Literal, Op, Unsupported
from . import index as ix
from .builder import I64, Builder
from .index import Block
from .memory import Buffer, KernelMemory
from .operand import Operand, element_bytes, int_constant
from .value import Constant, Element, Lazy, Position, Registers, Request, Stored, Undef, Value, asked, computed, leaves

UNROLL = 32
WORK = {
    "div": 4, "sqrt": 4, "rsqrt": 8, "threefry2x32": 100, "integer_pow": 4, "pow": 60,
    **dict.fromkeys(("exp", "exp2", "expm1", "logistic", "log", "log1p", "tanh", "sin", "cos", "erf", "erf_inv"), 20),
}  # fmt: skip
"""Instructions of an operation on one element, about; where they are few, one."""
BLOCK = 4
"""Elements of a byte that a loop takes together: of one alone, a gang's lanes fill a quarter of a vector."""
SEVERAL = 16
"""Those of what is no operation on one element."""
DEEPEST = 320
"""Operations one after the other that a loop computes an element by, about; what comes then has a loop of its own."""
CONTROL = frozenset({"cond", "while", "scan"})
ALONE = frozenset({"add", "add_any", "sub", "mul", "div", "neg", "max", "min", "square", "sqrt", "select_n"})
"""Operations whose rules make one array and read no input but for its elements."""

Rule = Callable[..., Any]


class Emitter:
    """The state of writing one kernel.

    Attributes:
        b: the builder.
        memory: buffers and tables.
        rules: a function for each operation's name.
        unroll: elements up to which an array lives in registers.
        recomputed: operations up to which an element is computed again rather than kept in memory.
        mask: the lanes that run the branch or iteration being written, as a varying i1; None for all.
        present: the lanes that exist (the last gang of lanes may be incomplete); None for all.
        single_use: whether the operation being written has one user, which may compute its elements itself.
        live: values that operations after the one being written may read, in its graph.
    """

    def __init__(self, builder: Builder, rules: dict[str, Rule]) -> None:
        self.b = builder
        self.memory = KernelMemory(builder)
        self.rules = rules
        self.unroll = UNROLL
        self.recomputed = 0
        self.mask: Operand | None = None
        self.present: Operand | None = None
        self.single_use = False
        self.live: dict[int, Value] = {}

    # ---- graphs

    def run(self, graph: Graph, args: Sequence[Value]) -> list[Value]:
        """Writes the graph for these arguments; returns its results."""
        outer = self.live, self.single_use
        self.live = {id(v): a for v, a in zip(graph.inputs, args, strict=True)}
        last, uses = lifetimes(graph)
        for place, op in enumerate(graph.ops):
            inputs = [self.value(a) for a in op.inputs]
            self.single_use = all(uses.get(id(v), 0) == 1 for v in op.outputs)
            for a in op.inputs:
                if last.get(id(a)) == place:
                    self.live.pop(id(a), None)
            results = self.apply(op, inputs)
            del inputs
            for variable, result in zip(op.outputs, results, strict=True):
                if id(variable) in last:
                    self.live[id(variable)] = result
        results = self.finish([self.value(a) for a in graph.outputs])
        self.live, self.single_use = outer
        return results

    def finish(self, results: list[Value]) -> list[Value]:
        """Returns a graph's results, with all written that they are read from."""
        return results

    def value(self, atom: Atom) -> Value:
        """Returns what is known of a variable or constant."""
        if isinstance(atom, Literal):
            return Constant(atom.shape, atom.dtype, self.memory, atom.value)
        return self.live[id(atom)]

    def apply(self, op: Op, inputs: list[Value]) -> list[Value]:
        """Writes one operation; returns its results."""
        if op.name not in self.rules:
            raise Unsupported(op.name)
        result = self.rules[op.name](self, op, *inputs)
        return result if isinstance(result, list) else [result]

    # ---- making values

    def each(self, shape: Sequence[int], body: Callable[[Position], None], flat: bool = False, work: int = 1) -> None:
        """Runs `body` at every position of a shape, in loops, where no position depends on another.

        Args:
            shape: the array's.
            body: of a position.
            flat: whether the positions mean places in memory one after the other (see `Lazy.flat`).
            work: about how many operations the body has.
        """
        ix.each(self.b, shape, body)

    def in_blocks(self, shape: Sequence[int], body: Callable[[Position], None]) -> None:
        """Runs `body` as `each` does for flat positions, for `BLOCK` neighbours at a time while there are as many."""

        def step(position: Position, _: list[Operand]) -> list[Operand]:
            body(position)
            return []

        for position in self.blocks(shape, step, [])[1]:
            body(position)

    def blocks(
        self, shape: Sequence[int], step: Callable[[Position, list[Operand]], list[Operand]], start: Sequence[Operand]
    ) -> tuple[list[Operand], list[Position]]:
        """Writes a loop over the blocks of a shape, whose varying operands have `BLOCK` times the lanes.

        Args:
            shape: the array's.
            step: from a block's position and what is carried to what is carried then.
            start: what the loop begins with.

        Returns:
            What is carried in the end, and the positions that are left.
        """
        b, first = self.b, (0,) * (len(shape) - 1)
        whole, left = divmod(math.prod(shape), BLOCK)
        with b.of_lanes(b.lanes * BLOCK):
            at = lambda i: (*first, Block(b.mul(i, int_constant(BLOCK, I64)), BLOCK))  # noqa: E731
            carried = b.for_(int_constant(whole, I64), start, lambda i, now: step(at(i), now))
        return carried, [(*first, whole * BLOCK + i) for i in range(left)]

    def fills_blocks(self, value: Value) -> bool:
        """Returns whether an array suits blocks: its elements are bytes, made place by place of bytes, for lanes."""
        if self.b.lanes == 1 or not isinstance(value, Lazy | Stored) or work_of(value) >= SEVERAL:
            return False
        return value.size >= BLOCK and is_flat(value) and all(map(is_of_bytes, made_of(value))) and is_varying(value)

    def splat_within(self, position: Position, operand: Operand) -> Operand:
        """Returns what a loop at that position begins with, as it will be carried on."""
        return operand

    def map(self, op: Op, function: Callable[..., Operand], *inputs: Value) -> Value:
        """Maps `function(builder, *operands)` over elements; axes of size one are spread."""
        shape, dtype = op.outputs[0].shape, op.outputs[0].dtype

        def place(position: Position, source: Value) -> Position:
            return position if source.shape == shape else spread(position, source.shape)

        def at_once(position: Position, *sources: Value) -> Operand:
            return function(self.b, *[s.at(place(position, s)) for s in sources])

        def in_turn(position: Position, *sources: Value) -> Generator[Request, Operand, Operand]:
            operands = []
            for s in sources:
                p = place(position, s)
                operands.append((yield s, p) if isinstance(s, Lazy) else s.at(p))
            return function(self.b, *operands)

        element = in_turn if any(isinstance(x, Lazy) for x in inputs) else at_once
        work = WORK.get(op.name, 1)
        return self.lazy(shape, dtype, inputs, element, aligned=True, work=work, alone=op.name in ALONE)

    def move(
        self, op: Op, where: Callable[[Position], Position], value: Value, repeats: bool = False, flat: bool = False
    ) -> Value:
        """Returns elements of `value` in other places.

        Args:
            op: the operation that is written.
            where: from a position to where its element is in `value`.
            value: the array.
            repeats: whether an element may be asked for several times.
            flat: whether neighbours in memory stay neighbours (see `Lazy.flat`).
        """
        if repeats:
            value = self.reusable(value)
        out = op.outputs[0]
        element = lambda p, v: asked(v, where(p))  # noqa: E731
        aligned = value.size == 1
        return self.lazy(out.shape, out.dtype, (value,), element, costly=False, aligned=aligned, work=0, flat=flat)

    def lazy(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        sources: Sequence[Value],
        element: Callable[..., Element],
        costly: bool = True,
        aligned: bool = False,
        work: int = SEVERAL,
        alone: bool = False,
        depth: int = 1,
        flat: bool = False,
    ) -> Value:
        """Makes an array whose elements are `element(position, *sources)`.

        Args:
            shape, dtype: the array's.
            sources: arrays.
            element: from a position and the sources to the element, or to what asks for the sources' elements.
            costly: whether computing an element twice would waste work.
            aligned: whether an element depends on the sources' elements at its own position alone.
            work: about how many operations there are beside the sources' own.
            alone: whether the operation that is being written reads its inputs for these elements only.
            depth: how many operations one after the other it counts for, of the `DEEPEST`.
            flat: whether it is flat (see `Lazy`) though its sources have other shapes.
        """
        if math.prod(shape) <= self.unroll:
            elements = [computed(element(p, *sources)) for p in ix.all_indices(shape)]
            return Registers(shape, dtype, self.memory, elements)
        kept = tuple(self.addressable(s) for s in sources)
        costly = costly or any(isinstance(s, Lazy) and s.costly for s in kept)
        flat = flat or (aligned and all(s.size == 1 or (s.shape == shape and is_flat(s)) for s in kept))
        work += sum(work_of(s) for s in kept if s.size > 1)
        depth += max((s.depth for s in kept if isinstance(s, Lazy)), default=0)
        value = Lazy(shape, dtype, lambda p: element(p, *kept), kept, costly, flat, work, depth)
        if depth >= DEEPEST:
            return self.settle(value, alone=False)
        cheap = self.single_use or not costly or work <= self.worth_recomputing(value)
        return value if cheap else self.settle(value, alone)

    def worth_recomputing(self, value: Lazy) -> int:
        """Returns how many operations an element of an array may take that is computed again for each of its users."""
        del value
        return self.recomputed

    def settle(self, value: Lazy, alone: bool) -> Value:
        """Computes the elements of a new array; `alone` as of `lazy`."""
        del alone
        return self.materialise(value)

    def addressable(self, value: Value) -> Value:
        """Returns the value so that any element can be read inside a loop."""
        return self.memory.spill(value) if isinstance(value, Registers) and value.size > 1 else value

    def is_read_in_parts(self, value: Value) -> bool:
        """Returns whether an array need not be there as a whole for what the operation makes of it: its parts."""
        return False

    def reusable(self, value: Value) -> Value:
        """Returns the value so that reading an element twice costs no more than a load."""
        return self.materialise(value) if isinstance(value, Lazy) and value.costly else value

    def materialise(self, value: Value) -> Value:
        """Computes the value's elements: in registers or in memory."""
        if not isinstance(value, Lazy):
            return value
        return self.copy(value)

    def copy(self, value: Value, varying: bool | None = None) -> Stored:
        """Copies the elements to a new buffer; `varying` if it must be able to hold one for each lane."""
        made: list[Stored] = []

        def start(width: bool) -> None:
            buffer = self.memory.buffer(value.type, value.size, width and self.b.lanes > 1)
            made.append(self.memory.stored(buffer, value.shape, value.dtype))

        if isinstance(value, Registers | Constant) and value.size <= self.unroll:
            elements = [value.at(p) for p in ix.all_indices(value.shape)]
            start(bool(varying) or any(e.varying for e in elements))
            for k, e in enumerate(elements):
                self.memory.store(made[0].buffer, [k], e)
            return made[0]
        value = self.addressable(value)
        if value.size == 0 or varying is not None or isinstance(value, Undef):
            start(bool(varying))
        if isinstance(value, Undef):
            return made[0]

        def body(position: Position) -> None:
            e = value.at(position)
            if not made:
                start(e.varying)
            self.memory.store(made[0].buffer, made[0].linear(position), e)

        if self.fills_blocks(value):
            if not made:
                start(True)
            self.write(made[0], value)
            return made[0]
        self.each(value.shape, body, is_flat(value), work_of(value))
        return made[0]

    def write(self, target: Stored, value: Value, mask: Operand | None = None) -> None:
        """Copies the elements of `value` into `target`, in the lanes of `mask`."""
        if isinstance(value, Stored) and value.buffer is target.buffer and value.offset == target.offset:
            return
        value = self.addressable(value) if value.size > self.unroll else value
        if value.size <= self.unroll:
            for p in ix.all_indices(value.shape):
                self.memory.store(target.buffer, target.linear(p), value.at(p), mask)
        elif is_flat(target) and self.fills_blocks(value):
            self.in_blocks(value.shape, lambda p: self.memory.store(target.buffer, target.linear(p), value.at(p), mask))
        else:
            self.each(
                value.shape,
                lambda p: self.memory.store(target.buffer, target.linear(p), value.at(p), mask),
                is_flat(value) and is_flat(target),
                work_of(value),
            )

    # ---- overwriting

    def writable(self, value: Value, varying: bool, others: Sequence[Value] = ()) -> Stored:
        """Returns an input of the operation in a buffer that may be overwritten: its own, if nobody needs the old
        elements.

        Writers must leave the lanes outside `mask` as they are.

        Args:
            value: the input.
            varying: whether elements that differ between lanes will be written.
            others: further inputs, which will be read while the buffer is overwritten.
        """
        if isinstance(value, Stored) and value.whole and self.may_overwrite(value, varying, others):
            return value
        return self.copy(value, varying or is_varying(value))

    def may_overwrite(self, value: Stored, varying: bool, others: Sequence[Value]) -> bool:
        """Returns whether nobody else reads the buffer, now or in another iteration."""
        buffer = value.buffer
        if buffer.region is not self.memory.region or (varying and not buffer.varying and self.b.lanes > 1):
            return False
        return not any(buffer is other for v in [*self.live.values(), *others] for other in v.buffers())

    def write_all(self, moves: Sequence[tuple[Stored, Value, Operand | None]]) -> None:
        """Copies several arrays to their targets as if at once: what is read from a target are its old elements.

        Args:
            moves: (target, array, mask), as `write` takes them. Each target is all of a buffer that no other one has.
        """
        moves = [(t, v, m) for t, v, m in moves if not (isinstance(v, Stored) and v.buffer is t.buffer and v.whole)]
        moves = [(target, self._copy_if_overwritten(target, value, moves), mask) for target, value, mask in moves]
        for target, value, mask in moves:
            self.write(target, value, mask)

    def _copy_if_overwritten(
        self, target: Stored, value: Value, moves: Sequence[tuple[Stored, Value, Operand | None]]
    ) -> Value:
        """Returns the value, copied if it is read from a buffer that is about to be overwritten: with something else,
        or at other places than it is read.
        """
        written = [t.buffer for t, *_ in moves]
        if not any(buffer in written for buffer in value.buffers()):
            return value
        others = [v for t, v, _ in moves if t is not target]
        alone = not any(target.buffer is buffer for v in others for buffer in v.buffers())
        return value if alone and reads_in_place(value, target, written) else self.copy(value)

    def mask_of(self, buffer: Buffer) -> Operand | None:
        """Returns which lanes a writer may touch: where all lanes share the elements, those that do not count
        do not matter.
        """
        return self.mask if buffer.varying or self.b.lanes == 1 else None


def reads_in_place(value: Value, target: Stored, written: Sequence[Buffer]) -> bool:
    """Returns whether each element is computed from the target's at its own place, and nothing else that is written."""

    def alone(leaf: Value) -> bool:
        if not any(buffer in written for buffer in leaf.buffers()):
            return True
        return isinstance(leaf, Stored) and leaf.buffer is target.buffer and is_flat(leaf) and leaf.size == target.size

    return (not isinstance(value, Lazy) or value.flat) and all(map(alone, leaves(value)))


def is_varying(value: Value) -> bool:
    """Returns whether an array may differ between lanes."""
    return any(
        any(e.varying for e in leaf.elements)
        if isinstance(leaf, Registers)
        else any(buffer.varying for buffer in leaf.buffers())
        for leaf in leaves(value)
    )


def work_of(value: Value) -> int:
    """Returns about how many operations an element takes."""
    return value.work if isinstance(value, Lazy) else 1


def made_of(value: Value) -> Iterator[Value]:
    """Yields an array and those of more than one element that it is computed from, in the end."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Lazy):
            waiting += [source for source in found.sources[::-1] if source.size > 1]


def is_of_bytes(value: Value) -> bool:
    """Returns whether its elements take a byte each in memory."""
    return element_bytes(value.type) == 1


def is_flat(value: Value) -> bool:
    """Returns whether its elements lie one after the other, or are computed from such ones place by place."""
    if isinstance(value, Stored):
        return value.strides == ix.strides_of(value.shape)
    return value.uniform if isinstance(value, Constant) else isinstance(value, Lazy) and value.flat


def spread(position: Position, shape: tuple[int, ...]) -> Position:
    """Returns the position in an input of an element-wise operation: axes of size one are repeated, scalars
    everywhere.
    """
    if not shape:
        return ()
    return tuple(0 if n == 1 else i for i, n in zip(position[len(position) - len(shape) :], shape, strict=True))


def lifetimes(graph: Graph) -> tuple[dict[int, int], dict[int, int]]:
    """Returns for each variable the last operation that reads it (outputs: one past the end), and by how many
    it is read.

    What control flow reads counts as read many times, since it may read in a loop.
    """
    last: dict[int, int] = {}
    uses: dict[int, int] = {}
    for place, op in enumerate(graph.ops):
        for a in op.inputs:
            last[id(a)] = place
            uses[id(a)] = uses.get(id(a), 0) + (2 if op.name in CONTROL else 1)
    for a in graph.outputs:
        last[id(a)] = len(graph.ops)
        uses[id(a)] = uses.get(id(a), 0) + 1
    return last, uses
