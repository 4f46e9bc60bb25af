"""Loads, stores, repeats and transposes whole vectors: neighbours in memory, or the first of them."""

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


def tiled(b: Builder, value: Operand, lanes: int, count: int) -> Operand:
    """Returns a vector of so many lanes `count` times over, one after the other."""
    vector = f"<{lanes} x {value.type}>"
    return _shuffle(b, value.type, f"{vector} {value.text}, {vector} poison", [*range(lanes)] * count)


def repeated(b: Builder, vector: str, type: str, count: int, lanes: int) -> Operand:
    """Returns each of a vector's `count` elements so many lanes long."""
    order = [i for i in range(count) for _ in range(lanes)]
    return _shuffle(b, type, f"{vector}, <{count} x {type}> poison", order)


def parts(b: Builder, value: Operand, whole: int) -> list[Operand]:
    """Returns the vectors of the builder's lanes that lie in one of `whole` lanes, one after the other."""
    vector = f"<{whole} x {value.type}>"
    given = f"{vector} {value.text}, {vector} poison"
    return [_shuffle(b, value.type, given, list(range(i, i + b.lanes))) for i in range(0, whole, b.lanes)]


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
    return _shuffle(b, x.type, f"{b.typed(x)}, {b.typed(y)}", order)


def _shuffle(b: Builder, type: str, vectors: str, order: list[int]) -> Operand:
    mask = ", ".join(f"i32 {j}" for j in order)
    return b.define(type, True, f"shufflevector {vectors}, <{len(order)} x i32> <{mask}>")
