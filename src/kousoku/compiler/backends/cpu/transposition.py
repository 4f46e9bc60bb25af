"""Transposes arrays of a complete gang, between JAX's order and a kernel's, in square blocks within registers.

JAX keeps the elements of one lane side by side, a kernel's buffer one element of all lanes. As many elements of every
lane as there are lanes are a square block: it is loaded by rows, transposed by shuffles, and stored by rows. The last
block ends where the array does, and may overlap the one before it, with the same elements. An array of fewer elements
than there are lanes is a part of one block.
"""

from __future__ import annotations

from ...codegen.builder import I32, I64, SHORT, Builder
from ...codegen.memory import element_bytes
from ...codegen.operand import Operand, int_constant


def lanes_to_buffer(b: Builder, kind: str, lanes: str, buffer: str, size: int) -> None:
    """Copies `size` elements of each lane into a buffer."""
    _call(b, "lanes_to_buffer", kind, lanes, buffer, size)


def buffer_to_lanes(b: Builder, kind: str, buffer: str, lanes: str, size: int) -> None:
    """Copies `size` elements of each lane out of a buffer."""
    _call(b, "buffer_to_lanes", kind, lanes, buffer, size)


def _call(b: Builder, name: str, kind: str, lanes: str, buffer: str, size: int) -> None:
    """Calls the function that copies elements of a type, which is written once for all arrays."""
    inward, full = name == "lanes_to_buffer", f"{name}.{SHORT.get(kind, kind)}"
    if size < b.lanes:
        full = f"{full}.{size}"
        b.function(full, ["ptr %lanes", "ptr %buffer"], lambda: _part(b, kind, inward, size))
        b.lines.append(f"  call void @{full}(ptr {lanes}, ptr {buffer})")
        return
    b.function(full, ["ptr %lanes", "ptr %buffer", "i64 %size"], lambda: _blocks(b, kind, inward))
    b.lines.append(f"  call void @{full}(ptr {lanes}, ptr {buffer}, i64 {size})")


def _part(b: Builder, kind: str, inward: bool, size: int) -> None:
    """Writes the function for arrays of fewer elements than there are lanes: rows of the lanes are masked."""
    n = b.lanes
    own = [_address(b, kind, "%lanes", int_constant(k * size, I64)) for k in range(n)]
    side = [_address(b, kind, "%buffer", int_constant(k * n, I64)) for k in range(size)]
    if inward:
        rows = transposed(b, kind, [_masked_load(b, kind, pointer, size) for pointer in own])
        for row, pointer in zip(rows[:size], side, strict=True):
            _store(b, kind, pointer, row)
        return
    rows = [_load(b, kind, pointer) for pointer in side]
    for row, pointer in zip(transposed(b, kind, [*rows, *rows[-1:] * (n - size)]), own, strict=True):
        _masked_store(b, kind, pointer, row, size)


def _load(b: Builder, kind: str, pointer: str) -> Operand:
    return b.define(kind, True, f"load <{b.lanes} x {kind}>, ptr {pointer}, align {element_bytes(kind)}")


def _store(b: Builder, kind: str, pointer: str, row: Operand) -> None:
    b.lines.append(f"  store <{b.lanes} x {kind}> {row.text}, ptr {pointer}, align {element_bytes(kind)}")


def _masked(b: Builder, kind: str, count: int) -> tuple[str, str]:
    """Returns a vector's type and the mask of its first elements."""
    bits = ", ".join(f"i1 {('false', 'true')[lane < count]}" for lane in range(b.lanes))
    return f"<{b.lanes} x {kind}>", f"<{b.lanes} x i1> <{bits}>"


def _masked_load(b: Builder, kind: str, pointer: str, count: int) -> Operand:
    vector, mask = _masked(b, kind, count)
    name = f"llvm.masked.load.v{b.lanes}{SHORT.get(kind, kind)}.p0"
    b.declarations[name] = f"declare {vector} @{name}(ptr, i32, <{b.lanes} x i1>, {vector})"
    given = f"ptr {pointer}, {I32} {element_bytes(kind)}, {mask}, {vector} zeroinitializer"
    return b.define(kind, True, f"call {vector} @{name}({given})")


def _masked_store(b: Builder, kind: str, pointer: str, row: Operand, count: int) -> None:
    vector, mask = _masked(b, kind, count)
    name = f"llvm.masked.store.v{b.lanes}{SHORT.get(kind, kind)}.p0"
    b.declarations[name] = f"declare void @{name}({vector}, ptr, i32, <{b.lanes} x i1>)"
    b.lines.append(f"  call void @{name}({vector} {row.text}, ptr {pointer}, {I32} {element_bytes(kind)}, {mask})")


def _blocks(b: Builder, kind: str, inward: bool) -> None:
    """Writes the function: a loop over blocks."""
    n, size = b.lanes, Operand("%size", I64)
    count = b.define(I64, False, f"udiv i64 {b.add(size, int_constant(n - 1, I64)).text}, {n}")
    last = b.sub(size, int_constant(n, I64))

    def block(number: Operand, _: list[Operand]) -> list[Operand]:
        first = b.intrinsic("llvm.umin", b.mul(number, int_constant(n, I64)), last)
        own = [_address(b, kind, "%lanes", b.add(b.mul(int_constant(k, I64), size), first)) for k in range(n)]
        place = b.mul(first, int_constant(n, I64))
        side = [_address(b, kind, "%buffer", b.add(place, int_constant(k * n, I64))) for k in range(n)]
        read, written = (own, side) if inward else (side, own)
        rows = [_load(b, kind, pointer) for pointer in read]
        for row, pointer in zip(transposed(b, kind, rows), written, strict=True):
            _store(b, kind, pointer, row)
        return []

    b.for_(count, [], block)


def _address(b: Builder, kind: str, base: str, place: Operand) -> str:
    return b.define("ptr", False, f"getelementptr {kind}, ptr {base}, i64 {place.text}").text


def transposed(b: Builder, kind: str, rows: list[Operand]) -> list[Operand]:
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
            made[i] = _shuffled(b, kind, upper, lower, [j if not j & bit else n + (j ^ bit) for j in range(n)])
            made[i | bit] = _shuffled(b, kind, upper, lower, [j | bit if not j & bit else n + j for j in range(n)])
        rows, bit = made, bit // 2
    return rows


def _shuffled(b: Builder, kind: str, x: Operand, y: Operand, order: list[int]) -> Operand:
    """Returns elements of two vectors side by side in an order."""
    vector, mask = f"<{b.lanes} x {kind}>", ", ".join(f"i32 {j}" for j in order)
    return b.define(kind, True, f"shufflevector {vector} {x.text}, {vector} {y.text}, <{b.lanes} x i32> <{mask}>")
