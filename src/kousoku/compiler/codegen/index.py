"""Computes positions in arrays: a Python int known here, a uniform i64, a varying i32 with one for each lane, a strip
of evenly spaced ones, or a block of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from .builder import I32, I64, Builder
from .operand import Operand, int_constant


@dataclass(frozen=True)
class Strip:
    """Evenly spaced positions, one for each lane: where elements lie side by side, one vector is loaded.

    Attributes:
        base: the first lane's position, an int or a uniform i64.
        step: from each lane's to the next one's.
        count: how many lanes have one; None for all.
    """

    base: int | Operand
    step: int = 1
    count: int | None = None


@dataclass(frozen=True)
class Block:
    """Neighbouring positions, each for all lanes: their elements lie side by side, and are one wide vector.

    Attributes:
        base: the first of them, an int or a uniform i64.
        count: how many there are.
    """

    base: int | Operand
    count: int


Index = int | Operand | Strip | Block


def as_index(b: Builder, a: Operand, signed: bool = True) -> Index:
    """Returns an integer operand as a position."""
    if a.value is not None:
        bits = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}[a.type]
        value = int(a.value)
        return value - (1 << bits) if signed and bits > 1 and value >> (bits - 1) else value
    if a.varying:
        return _as_word(b, a, signed)
    if not signed and a.type == I64:
        a = b.intrinsic("llvm.umin", a, int_constant((1 << 63) - 1, I64))
    return b.cast("sext" if signed and a.type != "i1" else "zext", a, I64)


def _as_word(b: Builder, a: Operand, signed: bool) -> Operand:
    """Returns a varying position as i32.

    What does not fit becomes the nearest that does, which is outside of every array.
    """
    highest = int_constant((1 << 31) - 1, a.type)
    if a.type == I64 and signed:
        a = b.intrinsic("llvm.smax", a, int_constant(-(1 << 31), I64))
        return b.cast("trunc", b.intrinsic("llvm.smin", a, highest), I32)
    if a.type in (I32, I64) and not signed:
        return b.cast("trunc", b.intrinsic("llvm.umin", a, highest), I32)
    return b.cast("sext" if signed and a.type != "i1" else "zext", a, I32)


def operand(index: int | Operand, varying: bool = False) -> Operand:
    """Returns a position as an operand."""
    return int_constant(index, I32 if varying else I64) if isinstance(index, int) else index


def as_lanes(b: Builder, i: Index) -> int | Operand:
    """Returns a position with which anything can be computed: of a strip, each lane's own.

    Lanes that it does not have are where its last one is, so that what they read is there.
    """
    assert not isinstance(i, Block), "a block has no position of each lane's own"
    if not isinstance(i, Strip):
        return i
    last = (i.count or b.lanes) - 1
    offsets = Operand("<" + ", ".join(f"i32 {min(lane, last) * i.step}" for lane in range(b.lanes)) + ">", I32, True)
    base = int_constant(i.base, I32) if isinstance(i.base, int) else b.cast("trunc", i.base, I32)
    return b.binary("add", offsets, base)


def add(b: Builder, i: Index, j: Index) -> Index:
    """Computes i + j."""
    for one, other in ((i, j), (j, i)):
        if isinstance(one, Block):
            return replace(one, base=add(b, one.base, other))
    if isinstance(i, Strip) and isinstance(j, Strip):
        return Strip(add(b, i.base, j.base), i.step + j.step, i.count)  # type: ignore[arg-type]
    for one, other in ((i, j), (j, i)):
        if isinstance(one, Strip) and not (isinstance(other, Operand) and other.varying):
            return replace(one, base=add(b, one.base, other))
    i, j = as_lanes(b, i), as_lanes(b, j)
    if isinstance(i, int) and isinstance(j, int):
        return i + j
    if isinstance(i, int):
        i, j = j, i
    if isinstance(j, int):
        return i if j == 0 else b.add(i, int_constant(j, i.type))  # type: ignore[union-attr, arg-type]
    return b.add(*_alike(b, i, j))  # type: ignore[arg-type]


def scale(b: Builder, i: Index, n: int) -> Index:
    """Computes i * n."""
    if isinstance(i, int):
        return i * n
    if isinstance(i, Strip):
        return replace(i, base=scale(b, i.base, n), step=i.step * n) if n else 0
    if isinstance(i, Block):
        assert n in (0, 1), "the elements of a block lie side by side"
        return i if n else 0
    return 0 if n == 0 else i if n == 1 else b.mul(i, int_constant(n, i.type))


def _alike(b: Builder, i: Operand, j: Operand) -> tuple[Operand, Operand]:
    if i.varying != j.varying:
        i = i if i.varying else b.cast("trunc", i, I32)
        j = j if j.varying else b.cast("trunc", j, I32)
    return i, j


def clamp(b: Builder, i: Index, low: int, high: int) -> int | Operand:
    """Computes i, moved into [low, high]."""
    i = as_lanes(b, i)
    if isinstance(i, int):
        return min(max(i, low), high)
    if low == high:
        return low
    i = b.intrinsic("llvm.smax", i, int_constant(low, i.type))
    return b.intrinsic("llvm.smin", i, int_constant(high, i.type))


def inside(b: Builder, i: Index, size: int) -> Operand:
    """Returns whether 0 <= i < size."""
    i = as_lanes(b, i)
    if isinstance(i, int):
        return int_constant(0 <= i < size, "i1")
    return b.icmp("ult", i, int_constant(size, i.type))


def flat(b: Builder, position: Sequence[Index], strides: Sequence[int]) -> Index:
    """Returns how far an element is from the first one."""
    total: Index = 0
    for i, stride in zip(position, strides, strict=True):
        total = add(b, total, scale(b, i, stride))
    return total


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns row-major strides in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def all_indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Returns every position, row-major."""
    return product(*map(range, shape))


def each(b: Builder, shape: Sequence[int], body: Callable[[tuple[Index, ...]], None]) -> None:
    """Runs `body` at every position of a shape, in loops."""
    _nest(b, tuple(shape), (), body)


def _nest(b: Builder, shape: tuple[int, ...], outer: tuple[Index, ...], body: Callable) -> None:
    if not shape:
        body(outer)
    elif shape[0] <= 1:
        for i in range(shape[0]):
            _nest(b, shape[1:], (*outer, i), body)
    else:

        def inner(i: Operand, _: list[Operand]) -> list[Operand]:
            _nest(b, shape[1:], (*outer, i), body)
            return []

        b.for_(int_constant(shape[0], I64), [], inner)
