"""Products of arrays, as sums over contracted axes: in registers, element by element, or several sums side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..codegen import index as ix
from ..codegen.builder import I1
from ..codegen.emitter import Emitter, is_varying
from ..codegen.operand import LLVM_TYPES, Operand
from ..codegen.value import Position, Stored, Value
from ..ir import Op, Var
from .arrays import empty
from .conversions import converted
from .reductions import nest

TILE = 8  # sums side by side: as many as there are latencies of a multiplication and addition to hide


def dot_general(k: Emitter, op: Op, x: Value, y: Value) -> Value:
    """Sums products over contracted axes; batch axes first."""
    product, out = _product(k, op, x, y), op.outputs[0]
    few = x.size <= 4 * k.unroll and y.size <= 4 * k.unroll and math.prod(product.inner) <= k.unroll
    element = partial(_written_out if few else _in_a_loop, product)
    if out.size * math.prod(product.inner) <= k.unroll * 4:
        return k.lazy(out.shape, out.dtype, [k.reusable(v) for v in (x, y)], element)
    sources = [k.reusable(k.addressable(v)) for v in (x, y)]
    large = out.shape and out.shape[-1] > 1 and x.size + y.size > 4 * k.unroll
    if product.floating and (is_varying(x) or is_varying(y)) and large:
        target = empty(k, op, (x, y))
        _in_tiles(product, sources, target)
        return target
    return k.lazy(out.shape, out.dtype, sources, element)


@dataclass(frozen=True)
class _Product:
    """A product of arrays: the terms that are summed up for each of its elements.

    Attributes:
        k: writes it.
        out: the result.
        axes: of each factor: batch axes, free ones, contracted ones.
        batch, free: how many of the result's axes are batch axes, and how many after these the first factor's.
        inner: the shape of the contracted axes.
        zero, start: nothing, and what a loop begins with.
    """

    k: Emitter
    out: Var
    axes: tuple[tuple[int, ...], ...]
    batch: int
    free: int
    inner: tuple[int, ...]
    zero: Operand
    start: Operand

    @property
    def floating(self) -> bool:
        """Whether its numbers are floats."""
        return self.out.dtype.kind == "f"

    def factors(self, p: Position, *arrays: Value) -> Callable[[Position], list[Operand]]:
        """Returns the function of a place in the contracted axes whose product is a term of element p."""
        batch, free = p[: self.batch], p[self.batch :]
        outer = [(*batch, *free[: self.free]), (*batch, *free[self.free :])]

        def at(q: Position) -> list[Operand]:
            loaded = [
                array.at(_ordered(axes, (*place, *q)))
                for array, axes, place in zip(arrays, self.axes, outer, strict=True)
            ]
            return [
                converted(self.k.b, number, array.dtype, self.out.dtype)
                for number, array in zip(loaded, arrays, strict=True)
            ]

        return at

    def add(self, total: Operand, one: Operand, other: Operand) -> Operand:
        """Adds a term to a sum."""
        b = self.k.b
        if self.floating:
            return b.fma(one, other, total)
        return b.or_(total, b.and_(one, other)) if one.type == I1 else b.add(total, b.mul(one, other))


def _product(k: Emitter, op: Op, x: Value, y: Value) -> _Product:
    """Reads an operation."""
    contracted, batch = op.params["dimension_numbers"]
    free = [
        [a for a in range(len(v.shape)) if a not in (*sums, *outer)]
        for v, sums, outer in zip((x, y), contracted, batch, strict=True)
    ]
    zero = k.b.const(0, LLVM_TYPES[op.outputs[0].dtype.name])
    return _Product(
        k=k,
        out=op.outputs[0],
        axes=tuple((*outer, *own, *sums) for outer, own, sums in zip(batch, free, contracted, strict=True)),
        batch=len(batch[0]),
        free=len(free[0]),
        inner=tuple(x.shape[a] for a in contracted[0]),
        zero=zero,
        start=k.b.splat(zero) if is_varying(x) or is_varying(y) else zero,
    )


def _ordered(axes: tuple[int, ...], place: Position) -> Position:
    """Returns a place whose indices are of these axes as one whose indices are of the first axis, the second ..."""
    at = dict(zip(axes, place, strict=True))
    return tuple(at[a] for a in range(len(axes)))


def _written_out(product: _Product, p: Position, left: Value, right: Value) -> Operand:
    """Sums up one element, term after term."""
    at, total = product.factors(p, left, right), None
    for q in ix.all_indices(product.inner):
        if total is None and product.floating:
            total = product.k.b.fmul(*at(q))
        else:
            total = product.add(product.zero if total is None else total, *at(q))
    return product.zero if total is None else total


def _in_a_loop(product: _Product, p: Position, left: Value, right: Value) -> Operand:
    """Sums up one element in a loop over its terms."""
    at, start = product.factors(p, left, right), product.k.splat_within(p, product.start)
    return nest(product.k.b, product.inner, lambda q, c: [product.add(c[0], *at(q))], [start])[0]


def _in_tiles(product: _Product, sources: list[Value], target: Stored) -> None:
    """Writes rows, of each several neighbours at once."""
    b, shape = product.k.b, product.out.shape
    whole, left = divmod(shape[-1], TILE)

    def row(outer: Position) -> None:
        ix.each(b, (whole,), lambda p: _tile(product, sources, target, outer, ix.scale(b, p[0], TILE), TILE))
        if left:
            _tile(product, sources, target, outer, whole * TILE, left)

    ix.each(b, shape[:-1], row)


def _tile(
    product: _Product, sources: list[Value], target: Stored, outer: Position, begin: ix.Index, width: int
) -> None:
    """Sums up neighbours side by side: each in the order of a sum alone, none waiting for another."""
    k = product.k
    places = [(*outer, ix.add(k.b, begin, i)) for i in range(width)]
    terms = [product.factors(p, *sources) for p in places]

    def add(q: Position, totals: list[Operand]) -> list[Operand]:
        return [product.add(total, *at(q)) for total, at in zip(totals, terms, strict=True)]

    for p, total in zip(places, nest(k.b, product.inner, add, [product.start] * width), strict=True):
        k.memory.store(target.buffer, target.linear(p), total)


RULES: dict[str, Callable[..., Any]] = {"dot_general": dot_general}
