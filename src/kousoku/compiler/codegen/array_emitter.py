"""Writes a graph with SIMD along its arrays, for a function that is called for one lane, or a few, of large arrays.

It is the emitter with another way to visit an array's elements: along one axis in strips of neighbours, a vector at a
time. What lives in memory is one lane's, as JAX lays it out; what all elements share is a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ..ir import Graph, Op
from . import index as ix
from .builder import I64, Builder
from .emitter import ALONE, Emitter, Rule, is_flat
from .index import Strip
from .memory import Buffer, KernelMemory
from .operand import Operand, element_bytes, int_constant
from .value import Deferred, Lazy, Position, Stored, Value, leaves

UNROLL = 4
RECOMPUTED = 3
LARGE, SPREAD, RECOMPUTED_OF_LARGE, SUMMED_OF_LARGE = 1 << 20, 8, 24, 64
"""Bytes of an array that the caches next to a core do not hold; and, for its elements to be computed and not kept: how
many times smaller all has to be that it is made of, and how many operations an element may take, for each that reads
it, or where it is summed up. The quantiles' loss and its derivative, 101 x 101 pairs of each of 512, took 37.6 ms where
the pairs were kept, most of that the system's for the memory, and takes 0.7 ms.
"""
TOGETHER = 32
"""Arrays of one loop, at most: each has its place in memory from the beginning, and a register in the loop."""
SCATTERED = 40
"""Instructions that a vector's elements take which are read and written one by one, about."""


class ArrayMemory(KernelMemory):
    """The memory of a kernel whose buffers are all of one lane."""

    def buffer(self, type: str, size: int, varying: bool) -> Buffer:
        return super().buffer(type, size, False)

    def copy_block(self, target: Stored, source: Stored) -> None:
        """Copies an array that lies in one piece to another place."""
        places = [f"ptr {self.address(v.buffer, [v.offset])[0]}" for v in (target, source)]
        name, size = "llvm.memcpy.p0.p0.i64", source.size * element_bytes(source.type)
        self.b.declarations[name] = f"declare void @{name}(ptr, ptr, i64, i1)"
        self.b.lines.append(f"  call void @{name}({', '.join(places)}, i64 {size}, i1 false)")


class ArrayEmitter(Emitter):
    """The state of writing one kernel whose vectors are pieces of arrays.

    Arrays of one shape that are made one after the other, element by element, are written in one loop. It waits until
    somebody reads one of them in another way, until an array of another shape is made so, and for what has graphs of
    its own and the graph's end. An optimiser's moments, its step and the parameters are such arrays; each element of
    the gradient is loaded once for all of them.

    Attributes:
        waiting: those whose loop is not written yet, in their order.
    """

    def __init__(self, builder: Builder, rules: dict[str, Rule]) -> None:
        super().__init__(builder, rules)
        self.memory: ArrayMemory = ArrayMemory(builder)
        self.unroll, self.recomputed = UNROLL, RECOMPUTED
        self.waiting: list[Deferred] = []

    def run(self, graph: Graph, args: Sequence[Value]) -> list[Value]:
        assert not self.waiting, "their loop would lie in one that an operation writes"
        return super().run(graph, args)

    def apply(self, op: Op, inputs: list[Value]) -> list[Value]:
        if self.waiting and (op.graphs() or (op.name not in ALONE and self._wait(inputs))):
            self.write_waiting([*self.live.values(), *inputs])
        return super().apply(op, inputs)

    def finish(self, results: list[Value]) -> list[Value]:
        kept = list(results)
        for i, value in enumerate(results):
            if isinstance(value, Lazy):
                self.live = {n: other for n, other in enumerate(kept) if n != i}
                kept[i] = self._settled_in_place(value)
        self.write_waiting(kept)
        return kept

    def _wait(self, values: Iterable[Value]) -> bool:
        """Returns whether any of these is read from an array whose loop is not written yet."""
        awaited = [made.buffer for made in self.waiting]
        return any(buffer is other for v in values for buffer in v.buffers() for other in awaited)

    def write_waiting(self, read: Sequence[Value] | None = None) -> None:
        """Writes the loop of the arrays that wait for it.

        Args:
            read: all that anybody may read from now on: an array that is not among it has no place in memory. None if
                that is not known, for a place for each.
        """
        if not self.waiting:
            return
        made, self.waiting = self.waiting, []
        places = [leaf.buffer for v in read or () for leaf in leaves(v) if isinstance(leaf, Stored)]
        needed = made if read is None else [one for one in made if any(one.buffer is place for place in places)]

        def body(position: Position) -> None:
            for one in made:
                assert one.value is not None  # only those are without one that are written
                one.now = one.value.at(position)
                if one in needed:
                    self.memory.store(one.buffer, one.linear(position), one.now)
            for one in made:
                one.now = None

        self.each(made[0].shape, body, flat=True)
        for one in made:
            one.written()

    def each(self, shape: Sequence[int], body: Callable[[Position], None], flat: bool = False, work: int = 1) -> None:
        """Runs `body` at every position: along one axis in strips of neighbours, and a last one that is shorter."""
        if flat and shape:
            size, first = math.prod(shape), (0,) * (len(shape) - 1)
            self.strips(size, lambda strip: body((*first, strip)))
            return
        axis = strip_axis(shape, self.b.lanes, work)
        if axis is None:
            ix.each(self.b, shape, body)
            return
        outer = (*shape[:axis], *shape[axis + 1 :])
        ix.each(self.b, outer, lambda p: self.strips(shape[axis], lambda s: body((*p[:axis], s, *p[axis:]))))

    def is_read_in_parts(self, value: Value) -> bool:
        return isinstance(value, Lazy) and value.flat and (self.single_use or value.work <= self.recomputed)

    def worth_recomputing(self, value: Lazy) -> int:
        return RECOMPUTED_OF_LARGE if _is_made_of_little(value) else self.recomputed

    def is_summed_as_computed(self, value: Value) -> bool:
        """Returns whether what reads each element once had better compute it, and no array is kept of them."""
        return isinstance(value, Lazy) and value.work <= SUMMED_OF_LARGE and _is_made_of_little(value)

    def settle(self, value: Lazy, alone: bool) -> Value:
        """Computes the elements of a new array, in a loop with others: where those lie that they are made of, if nobody
        needs the old ones.
        """
        if not (alone and value.flat):
            if self._wait([value]):
                self.write_waiting()
            return super().settle(value, alone)
        target = self._outlived(value)
        return self._deferred(value, self.memory.buffer(value.type, value.size, False) if target is None else target)

    def _settled_in_place(self, value: Lazy) -> Value:
        """Returns a result as one of the loop that waits, if it can lie where an array does that it is made of."""
        if not (value.flat and self.waiting and value.shape == self.waiting[0].shape):
            return value
        target = self._outlived(value)
        return value if target is None else self._deferred(value, target)

    def _deferred(self, value: Lazy, buffer: Buffer) -> Deferred:
        if self.waiting and (value.shape != self.waiting[0].shape or len(self.waiting) >= TOGETHER):
            self.write_waiting()
        strides = ix.strides_of(value.shape)
        self.waiting.append(Deferred(value.shape, value.dtype, self.memory, buffer, 0, strides, value))
        return self.waiting[-1]

    def may_overwrite(self, value: Stored, varying: bool, others: Sequence[Value]) -> bool:
        return super().may_overwrite(value, varying, [*others, *self.waiting])

    def _outlived(self, value: Lazy) -> Buffer | None:
        """Returns where an array lies that the elements are made of place by place, and that nobody else will read."""
        sources = list(leaves(value))
        for source in sources:
            if not (isinstance(source, Stored) and source.whole and source.type == value.type):
                continue
            same = [other for other in sources if source.buffer in other.buffers()]
            in_place = source.size == value.size and all(isinstance(s, Stored) and s.whole for s in same)
            if in_place and self.may_overwrite(source, False, ()):
                return source.buffer
        return None

    def write(self, target: Stored, value: Value, mask: Operand | None = None) -> None:
        """Copies the elements of `value` into `target`; what lies in one piece, as a piece."""
        if isinstance(value, Stored) and is_flat(value) and is_flat(target) and value.buffer is not target.buffer:
            self.memory.copy_block(target, value)
        else:
            super().write(target, value, mask)

    def strips(self, size: int, body: Callable[[Strip], None]) -> None:
        """Runs `body` for the strips of an axis."""
        b = self.b
        whole, left = divmod(size, b.lanes)
        if whole == 1:
            body(Strip(0))
        elif whole:

            def step(i: Operand, _: list[Operand]) -> list[Operand]:
                body(Strip(b.mul(i, int_constant(b.lanes, I64))))
                return []

            b.for_(int_constant(whole, I64), [], step)
        if left:
            body(Strip(whole * b.lanes, 1, left))

    def splat_within(self, position: Position, operand: Operand) -> Operand:
        """Returns what a loop at that position begins with: a vector within a strip."""
        return self.b.splat(operand) if any(isinstance(i, Strip) for i in position) else operand


def strip_axis(shape: Sequence[int], lanes: int, work: int) -> int | None:
    """Returns the axis along which strips lie: the last one of some length, whose elements lie side by side; or the
    longest, where the last one fills so little of a vector that moving elements one by one costs less.
    """
    long = [axis for axis, n in enumerate(shape) if n > 1]
    if not long:
        return None
    last, widest = long[-1], max(long, key=lambda axis: shape[axis])
    along_last = -(-shape[last] // lanes) * lanes / shape[last] * work
    along_widest = -(-shape[widest] // lanes) * lanes / shape[widest] * (work + SCATTERED)
    return widest if along_widest < along_last else last


def _is_made_of_little(value: Lazy) -> bool:
    """Returns whether a large array is made of much smaller ones."""
    if value.size * element_bytes(value.type) < LARGE:
        return False
    return SPREAD * sum({id(leaf): leaf.size for leaf in leaves(value)}.values()) <= value.size
