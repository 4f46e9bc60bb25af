"""Transposes arrays of a complete gang, between JAX's order and a kernel's, in square blocks within registers.

JAX keeps the elements of one lane side by side, a kernel's buffer one element of all lanes. As many elements of every
lane as there are lanes are a square block: it is loaded by rows, transposed by shuffles, and stored by rows. The last
block ends where the array does, and may overlap the one before it, with the same elements. An array of fewer elements
than there are lanes is a part of one block.
"""

from __future__ import annotations

from ...codegen.builder import I64, SHORT, Builder
from ...codegen.operand import Operand, int_constant
from ...codegen.vectors import load_vector, store_vector, transposed


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
        rows = transposed(b, [load_vector(b, kind, pointer, size) for pointer in own])
        for row, pointer in zip(rows[:size], side, strict=True):
            store_vector(b, kind, pointer, row)
        return
    rows = [load_vector(b, kind, pointer) for pointer in side]
    for row, pointer in zip(transposed(b, [*rows, *rows[-1:] * (n - size)]), own, strict=True):
        store_vector(b, kind, pointer, row, size)


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
        rows = [load_vector(b, kind, pointer) for pointer in read]
        for row, pointer in zip(transposed(b, rows), written, strict=True):
            store_vector(b, kind, pointer, row)
        return []

    b.for_(count, [], block)


def _address(b: Builder, kind: str, base: str, place: Operand) -> str:
    return b.define("ptr", False, f"getelementptr {kind}, ptr {base}, i64 {place.text}").text
