"""Transposes large arrays of a complete gang, between JAX's order and a kernel's, in square blocks within registers.

JAX keeps the elements of one lane side by side, a kernel's buffer one element of all lanes. As many elements of every
lane as there are lanes are a square block: it is loaded by rows, transposed by shuffles, and stored by rows. The last
block ends where the array does, and may overlap the one before it, with the same elements.
"""

from __future__ import annotations

from ...codegen.builder import I64, SHORT, Builder
from ...codegen.memory import element_bytes
from ...codegen.operand import Operand, int_constant


def lanes_to_buffer(b: Builder, kind: str, lanes: str, buffer: str, size: int) -> None:
    """Copies `size` elements of each lane, at least as many as there are lanes, into a buffer."""
    _call(b, "lanes_to_buffer", kind, lanes, buffer, size)


def buffer_to_lanes(b: Builder, kind: str, buffer: str, lanes: str, size: int) -> None:
    """Copies `size` elements of each lane, at least as many as there are lanes, out of a buffer."""
    _call(b, "buffer_to_lanes", kind, lanes, buffer, size)


def _call(b: Builder, name: str, kind: str, lanes: str, buffer: str, size: int) -> None:
    """Calls the function that copies elements of a type, which is written once for all arrays."""
    full = f"{name}.{SHORT.get(kind, kind)}"
    b.function(full, ["ptr %lanes", "ptr %buffer", "i64 %size"], lambda: _blocks(b, kind, name == "lanes_to_buffer"))
    b.lines.append(f"  call void @{full}(ptr {lanes}, ptr {buffer}, i64 {size})")


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
        align = element_bytes(kind)
        rows = [b.define(kind, True, f"load <{n} x {kind}>, ptr {pointer}, align {align}") for pointer in read]
        for row, pointer in zip(transposed(b, kind, rows), written, strict=True):
            b.lines.append(f"  store <{n} x {kind}> {row.text}, ptr {pointer}, align {align}")
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
