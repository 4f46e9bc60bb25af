"""Sorting: odd-even transposition, which is stable, has no branches and suits few elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..emit import index as ix
from ..emit.builder import I64, Builder
from ..emit.emitter import UNROLL, Emitter, is_wide
from ..emit.operand import Operand, int_constant
from ..emit.value import Position, Registers, Stored, Value
from ..program import Op, Unsupported

LONGEST = 1024


def less(b: Builder, x: Operand, y: Operand, dtype: np.dtype) -> Operand:
    """x before y: NaN last, -0 and 0 equal."""
    if dtype.kind == "f":
        return b.or_(b.fcmp("olt", x, y), b.and_(b.fcmp("ord", x, x), b.fcmp("uno", y, y)))
    return b.icmp("slt" if dtype.kind == "i" else "ult", x, y)


def before(b: Builder, xs: Sequence[Operand], ys: Sequence[Operand], dtypes: Sequence[np.dtype]) -> Operand:
    """xs before ys, the first key deciding first."""
    result = less(b, xs[-1], ys[-1], dtypes[-1])
    for x, y, dtype in list(zip(xs, ys, dtypes, strict=True))[-2::-1]:
        result = b.or_(less(b, x, y, dtype), b.and_(b.not_(less(b, y, x, dtype)), result))
    return result


def sort(k: Emitter, op: Op, *arrays: Value) -> list[Value]:
    """The arrays in the order of the first `num_keys` of them, along an axis."""
    axis, n = op.params["dimension"], arrays[0].shape[op.params["dimension"]]
    keys = op.params["num_keys"]
    dtypes = [a.dtype for a in arrays[:keys]]
    if n > LONGEST:
        raise Unsupported(f"sort of {n} elements")

    def exchange(low: list[Operand], high: list[Operand]) -> tuple[list[Operand], list[Operand]]:
        swap = before(k.b, high[:keys], low[:keys], dtypes)
        firsts = [k.b.select(swap, h, x) for x, h in zip(low, high, strict=True)]
        seconds = [k.b.select(swap, x, h) for x, h in zip(low, high, strict=True)]
        return firsts, seconds

    if arrays[0].size <= UNROLL:
        return _in_registers(k, arrays, axis, exchange)
    wide = any(map(is_wide, arrays))
    targets = [k.copy(a, wide) for a in arrays]
    outer = (*arrays[0].shape[:axis], *arrays[0].shape[axis + 1 :])
    ix.each(k.b, outer, lambda p: _line(k, targets, axis, n, p, exchange))
    return list(targets)


def _in_registers(k: Emitter, arrays: Sequence[Value], axis: int, exchange: Any) -> list[Value]:
    shape, n = arrays[0].shape, arrays[0].shape[axis]
    now = {p: [a.at(p) for a in arrays] for p in ix.all_indices(shape)}
    for outer in ix.all_indices((*shape[:axis], *shape[axis + 1 :])):
        for phase in range(n):
            for j in range(phase % 2, n - 1, 2):
                p, q = (*outer[:axis], j, *outer[axis:]), (*outer[:axis], j + 1, *outer[axis:])
                now[p], now[q] = exchange(now[p], now[q])
    return [
        Registers(shape, a.dtype, k.memory, [now[p][i] for p in ix.all_indices(shape)]) for i, a in enumerate(arrays)
    ]


def _line(k: Emitter, targets: list[Stored], axis: int, n: int, outer: Position, exchange: Any) -> None:
    def pass_over(parity: int) -> None:
        def pair(i: Operand, _: list[Operand]) -> list[Operand]:
            j = ix.add(k.b, ix.scale(k.b, i, 2), parity)
            places = [(*outer[:axis], at, *outer[axis:]) for at in (j, ix.add(k.b, j, 1))]
            low, high = ([t.at(p) for t in targets] for p in places)
            for p, values in zip(places, exchange(low, high), strict=True):
                for t, v in zip(targets, values, strict=True):
                    k.memory.store(t.buffer, t.linear(p), v)
            return []

        count = (n - parity) // 2
        if count:
            k.b.for_(int_constant(count, I64), [], pair)

    def phases(_: Operand, __: list[Operand]) -> list[Operand]:
        pass_over(0)
        pass_over(1)
        return []

    k.b.for_(int_constant((n + 1) // 2, I64), [], phases)


RULES: dict[str, Callable[..., Any]] = {"sort": sort}
