"""Writes a graph with SIMD along its arrays, for a function that is called for one lane, or a few, of large arrays.

It is the emitter with another way to visit an array's elements: along one axis in strips of neighbours, a vector at a
time. What lives in memory is one lane's, as JAX lays it out; what all elements share is a scalar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from . import index as ix
from .builder import I64, Builder
from .emitter import Emitter, Rule, is_flat
from .index import Strip
from .memory import Buffer, KernelMemory
from .operand import Operand, element_bytes, int_constant
from .value import Lazy, Position, Stored, Value

UNROLL = 4
RECOMPUTED = 3
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
    """The state of writing one kernel whose vectors are pieces of arrays."""

    def __init__(self, builder: Builder, rules: dict[str, Rule]) -> None:
        super().__init__(builder, rules)
        self.memory: ArrayMemory = ArrayMemory(builder)
        self.unroll, self.recomputed = UNROLL, RECOMPUTED

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

    def settle(self, value: Lazy, alone: bool) -> Value:
        """Computes the elements of a new array: where those lie that they are made of, if nobody needs the old ones."""
        target = self._outlived(value) if alone and value.flat else None
        if target is None:
            return super().settle(value, alone)
        made = self.memory.stored(target.buffer, value.shape, value.dtype)
        self.write(made, value)
        return made

    def _outlived(self, value: Lazy) -> Stored | None:
        """Returns an array that the elements are made of place by place, and that nobody else will read."""
        sources = list(_leaves(value))
        for source in sources:
            if not (isinstance(source, Stored) and source.whole and source.type == value.type):
                continue
            same = [other for other in sources if source.buffer in other.buffers()]
            in_place = source.size == value.size and all(isinstance(s, Stored) and s.whole for s in same)
            if in_place and self.may_overwrite(source, False, ()):
                return source
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


def _leaves(value: Value) -> Iterator[Value]:
    """Yields the arrays that lazy ones are computed from, in the end."""
    if isinstance(value, Lazy):
        for source in value.sources:
            yield from _leaves(source)
    else:
        yield value


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
