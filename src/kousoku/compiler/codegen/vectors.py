"""Loads, stores and transposes whole vectors: neighbours in memory, or the first of them."""

from __future__ import annotations

from .builder import I1, SHORT, Builder
from .operand import Operand, element_bytes


def first_lanes(b: Builder, count: int) -> Operand:
    """Returns the mask of the first `count` lanes."""
    bits = ", ".join(f"i1 {('false', 'true')[lane < count]}" for lane in range(b.lanes))
    return Operand(f"<{bits}>", I1, True)


def load_vector(b: Builder, kind: str, pointer: str, count: int | None = None) -> Operand:
    """Reads the elements from `pointer` on; of the first `count` lanes only, zeros in the others."""
    vector, align = b.type_of(kind, True), element_bytes(kind)
    if count is None:
        return b.define(kind, True, f"load {vector}, ptr {pointer}, align {align}")
    name = f"llvm.masked.load.v{b.lanes}{SHORT.get(kind, kind)}.p0"
    b.declarations[name] = f"declare {vector} @{name}(ptr, i32, {b.type_of(I1, True)}, {vector})"
    given = f"ptr {pointer}, i32 {align}, {b.typed(first_lanes(b, count), True)}, {vector} zeroinitializer"
    return b.define(kind, True, f"call {vector} @{name}({given})")


def store_vector(b: Builder, kind: str, pointer: str, value: Operand, count: int | None = None) -> None:
    """Writes the elements from `pointer` on; of the first `count` lanes only."""
    vector, align = b.type_of(kind, True), element_bytes(kind)
    if count is None:
        b.lines.append(f"  store {b.typed(value, True)}, ptr {pointer}, align {align}")
        return
    name = f"llvm.masked.store.v{b.lanes}{SHORT.get(kind, kind)}.p0"
    b.declarations[name] = f"declare void @{name}({vector}, ptr, i32, {b.type_of(I1, True)})"
    given = f"{b.typed(value, True)}, ptr {pointer}, i32 {align}, {b.typed(first_lanes(b, count), True)}"
    b.lines.append(f"  call void @{name}({given})")


def transposed(b: Builder, rows: list[Operand]) -> list[Operand]:
    """Returns the columns of a square of vectors, whose side is a power of two.

    Each round exchanges one bit of an element's row with the same bit of its column.
    """
    n, bit = len(rows), len(rows) // 2
    while bit:
        made = list(rows)
        for i in range(n):
            if i & bit:
                continue
            upper, lower = rows[i], rows[i | bit]
            made[i] = _shuffled(b, upper, lower, [j if not j & bit else n + (j ^ bit) for j in range(n)])
            made[i | bit] = _shuffled(b, upper, lower, [j | bit if not j & bit else n + j for j in range(n)])
        rows, bit = made, bit // 2
    return rows


def _shuffled(b: Builder, x: Operand, y: Operand, order: list[int]) -> Operand:
    """Returns elements of two vectors side by side in an order."""
    mask = ", ".join(f"i32 {j}" for j in order)
    return b.define(x.type, True, f"shufflevector {b.typed(x)}, {b.typed(y)}, <{b.lanes} x i32> <{mask}>")
