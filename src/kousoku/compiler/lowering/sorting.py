"""Sorting with Batcher's odd-even merging: no branches, the same comparisons in every lane.

References:
    Batcher (1968), Sorting networks and their applications, AFIPS Spring Joint Computer Conference, pages 307-314.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen import index as ix
from ..codegen.builder import I32, I64, Builder
from ..codegen.emitter import Emitter, is_varying
from ..codegen.operand import Operand, int_constant
from ..codegen.value import Position, Registers, Stored, Value
from ..ir import Op, Unsupported
from .arrays import window
from .floats import rank

LONGEST = 1024
PLACE = np.dtype(np.int32)

Elements = list[Operand]


def less(b: Builder, x: Operand, y: Operand, dtype: np.dtype, total: bool) -> Operand:
    """Returns whether x comes before y: NaN last, -0 and 0 equal; or, in the total order, by rank."""
    if dtype.kind == "f" and total:
        return b.icmp("slt", rank(b, x), rank(b, y))
    if dtype.kind == "f":
        return b.or_(b.fcmp("olt", x, y), b.and_(b.fcmp("ord", x, x), b.fcmp("uno", y, y)))
    return b.icmp("slt" if dtype.kind == "i" else "ult", x, y)


@dataclass(frozen=True)
class Order:
    """An order of tuples.

    Attributes:
        dtypes: of the elements that decide, the first deciding first.
        descending: whether larger ones come first, and floats are in their total order.
        stable: whether the last element is the place, which decides between equals.
    """

    dtypes: tuple[np.dtype, ...]
    descending: bool
    stable: bool

    def before(self, b: Builder, xs: Elements, ys: Elements) -> Operand:
        """Returns whether xs come before ys; never true of equals."""
        result = b.icmp("slt", xs[-1], ys[-1]) if self.stable else None
        for x, y, dtype in list(zip(xs, ys, self.dtypes, strict=False))[::-1]:
            x, y = (y, x) if self.descending else (x, y)
            first = less(b, x, y, dtype, self.descending)
            if result is not None:
                first = b.or_(first, b.and_(b.not_(less(b, y, x, dtype, self.descending)), result))
            result = first
        assert result is not None
        return result

    def exchange(self, b: Builder, low: Elements, high: Elements) -> tuple[Elements, Elements]:
        """Returns both, in order."""
        swap = self.before(b, high, low)
        firsts = [b.select(swap, h, x) for x, h in zip(low, high, strict=True)]
        seconds = [b.select(swap, x, h) for x, h in zip(low, high, strict=True)]
        return firsts, seconds


def sort(k: Emitter, op: Op, *arrays: Value) -> list[Value]:
    """Sorts the arrays in the order of the first `num_keys` of them, along an axis."""
    keys = arrays[: op.params["num_keys"]]
    alone = len(arrays) == 1 and arrays[0].dtype.kind != "f"
    order = Order(tuple(a.dtype for a in keys), False, op.params["is_stable"] and not alone)
    axis = op.params["dimension"]
    places = [numbers(k, arrays[0].shape, axis)] if order.stable else []
    return in_order(k, order, [*arrays, *places], axis)[: len(arrays)]


def top_k(k: Emitter, op: Op, x: Value) -> list[Value]:
    """Finds the largest elements along an axis, in descending order, and where they are; the first of equals first.

    XLA puts floats in their total order here, and only here.
    """
    axis = op.params["axis"]
    values, places = in_order(k, Order((x.dtype,), True, True), [x, numbers(k, x.shape, axis)], axis)
    shape = op.outputs[0].shape
    if isinstance(values, Stored) and isinstance(places, Stored):
        start = [0] * len(shape)
        return [window(k, values, start, shape), window(k, places, start, shape)]
    return [Registers(shape, v.dtype, k.memory, [v.at(p) for p in ix.all_indices(shape)]) for v in (values, places)]


def numbers(k: Emitter, shape: tuple[int, ...], axis: int) -> Value:
    """Counts 0, 1, 2, ... along an axis."""

    def element(p: Position) -> Operand:
        i = ix.as_lanes(k.b, p[axis])
        return int_constant(i, I32) if isinstance(i, int) else k.b.cast("trunc", i, I32)

    return k.lazy(shape, PLACE, (), element, costly=False)


def in_order(k: Emitter, order: Order, arrays: list[Value], axis: int) -> list[Value]:
    """Sorts the arrays along an axis."""
    shape = arrays[0].shape
    n = shape[axis]
    if n > LONGEST:
        raise Unsupported(f"sort of {n} elements")
    if arrays[0].size <= k.unroll:
        return _in_registers(k, order, arrays, axis)
    varying = any(map(is_varying, arrays))
    targets = [k.copy(a, varying) for a in arrays]
    outer = (*shape[:axis], *shape[axis + 1 :])
    ix.each(k.b, outer, lambda p: _line(k, order, targets, axis, p))
    return list(targets)


def network(n: int) -> Iterator[tuple[int, int]]:
    """Yields the pairs that are compared, in order, for n elements."""
    for size, reach in _stages(n):
        for start in range(reach % size, n - reach, 2 * reach):
            for i in range(start, min(start + reach, n - reach)):
                if i // (2 * size) == (i + reach) // (2 * size):
                    yield i, i + reach


def _stages(n: int) -> Iterator[tuple[int, int]]:
    """Yields lengths of the sorted runs that are merged, and distances of the elements compared."""
    size = 1
    while size < n:
        reach = size
        while reach:
            yield size, reach
            reach //= 2
        size *= 2


def _in_registers(k: Emitter, order: Order, arrays: Sequence[Value], axis: int) -> list[Value]:
    shape, n = arrays[0].shape, arrays[0].shape[axis]
    now = {p: [a.at(p) for a in arrays] for p in ix.all_indices(shape)}
    for outer in ix.all_indices((*shape[:axis], *shape[axis + 1 :])):
        for i, j in network(n):
            p, q = (*outer[:axis], i, *outer[axis:]), (*outer[:axis], j, *outer[axis:])
            now[p], now[q] = order.exchange(k.b, now[p], now[q])  # type: ignore[index]
    return [
        Registers(shape, a.dtype, k.memory, [now[p][i] for p in ix.all_indices(shape)]) for i, a in enumerate(arrays)
    ]


def _line(k: Emitter, order: Order, targets: list[Stored], axis: int, outer: Position) -> None:
    """Sorts in memory: the pairs come from a table."""
    b = k.b
    pairs = np.array(list(network(targets[0].shape[axis])), np.int32).reshape(-1, 2)
    table = k.memory.table(pairs)

    def step(i: Operand, _: list[Operand]) -> list[Operand]:
        ends = [b.cast("sext", table.at((i, side)), I64) for side in (0, 1)]
        places = [(*outer[:axis], end, *outer[axis:]) for end in ends]
        low, high = ([t.at(p) for t in targets] for p in places)
        for p, elements in zip(places, order.exchange(b, low, high), strict=True):
            for t, e in zip(targets, elements, strict=True):
                k.memory.store(t.buffer, t.linear(p), e)
        return []

    b.for_(int_constant(len(pairs), I64), [], step)


RULES: dict[str, Callable[..., Any]] = {"sort": sort, "top_k": top_k}
