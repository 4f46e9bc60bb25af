"""Reduces arrays whose neighbours are the lanes: along the last axis by vectors of partial results, which are combined
at the end; along others a vector of results at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..codegen import index as ix
from ..codegen.array_emitter import ArrayEmitter
from ..codegen.builder import I64, Builder
from ..codegen.index import Strip
from ..codegen.operand import Operand, int_constant
from ..codegen.value import Position, Stored, Value
from ..codegen.vectors import first_lanes
from ..ir import Op
from . import reductions
from .arrays import empty
from .reductions import Combine, combiner, merge, nest, neutral

SIDE_BY_SIDE = 8


def reduce(name: str) -> Callable[..., Value]:
    """Returns the rule that reduces some axes."""
    plain = reductions.reduce(name)

    def rule(k: ArrayEmitter, op: Op, x: Value) -> Value:
        axes = tuple(op.params["axes"])
        long = [axis for axis, n in enumerate(x.shape) if n > 1]
        if x.size <= k.unroll or not long:
            return plain(k, op, x)
        x = k.addressable(x)
        if not (x.shape[long[-1]] >= k.b.lanes and k.is_summed_as_computed(x)):
            x = k.reusable(x)
        target = empty(k, op, (x,))
        assert isinstance(target, Stored)
        combine, start = combiner(name, x.dtype), neutral(name, x.dtype)
        if long[-1] in axes:
            ix.each(k.b, target.shape, partial(_along, k, x, axes, long[-1], combine, start, target))
        elif x.size // x.shape[long[-1]] > 1:
            kept = [axis for axis in range(len(x.shape)) if axis not in axes]
            _columns(k, x, axes, kept.index(long[-1]), combine, start, target)
        else:
            return plain(k, op, x)
        return target

    return rule


def _along(
    k: ArrayEmitter,
    x: Value,
    axes: tuple[int, ...],
    last: int,
    combine: Combine,
    start: Operand,
    target: Stored,
    p: Position,
) -> None:
    """Reduces what belongs to the result at p, the axis `last` in strips."""
    b = k.b
    outer = tuple(a for a in axes if a != last)
    whole, left = divmod(x.shape[last], b.lanes)

    def term(q: Position, at: Strip) -> Operand:
        return b.splat(x.at(merge(p, _inserted(q, at, axes, last), axes, len(x.shape))))

    def row(q: Position, now: list[Operand]) -> list[Operand]:
        def step(i: Operand, c: list[Operand]) -> list[Operand]:
            return [combine(b, c[0], term(q, Strip(b.mul(i, int_constant(b.lanes, I64)))))]

        if whole == 1:
            now = [combine(b, now[0], term(q, Strip(0)))]
        elif whole:
            now = b.for_(int_constant(whole, I64), now, step)
        if left:
            rest = b.select(first_lanes(b, left), term(q, Strip(whole * b.lanes, 1, left)), b.splat(start))
            now = [combine(b, now[0], rest)]
        return now

    total = nest(b, tuple(x.shape[a] for a in outer), row, [b.splat(start)])[0]
    k.memory.store(target.buffer, target.linear(p), across(b, total, combine))


def _inserted(q: Position, at: ix.Index, axes: tuple[int, ...], last: int) -> Position:
    """Returns a position in the reduced axes, `at` that of `last` and q those of the others."""
    others = iter(q)
    return tuple(at if axis == last else next(others) for axis in axes)


def across(b: Builder, vector: Operand, combine: Combine) -> Operand:
    """Combines the lanes of a vector: halves, then quarters, ..."""
    kind, reach = b.type_of(vector.type, True), b.lanes // 2
    while reach:
        places = ", ".join(f"i32 {(lane + reach) % b.lanes}" for lane in range(b.lanes))
        moved = f"shufflevector {kind} {vector.text}, {kind} poison, <{b.lanes} x i32> <{places}>"
        vector = combine(b, vector, b.define(vector.type, True, moved))
        reach //= 2
    return b.define(vector.type, False, f"extractelement {kind} {vector.text}, i64 0")


def _columns(
    k: ArrayEmitter, x: Value, axes: tuple[int, ...], axis: int, combine: Combine, start: Operand, target: Stored
) -> None:
    """Reduces axes that come before the result's `axis`, which lies in strips, several of them at a time."""
    b, inner = k.b, tuple(x.shape[a] for a in axes)
    size = target.shape[axis]
    outer = (*target.shape[:axis], *target.shape[axis + 1 :])

    def columns(p: Position, strips: list[Strip]) -> None:
        places = [(*p[:axis], s, *p[axis:]) for s in strips]

        def add(q: Position, now: list[Operand]) -> list[Operand]:
            terms = (x.at(merge(place, q, axes, len(x.shape))) for place in places)
            return [combine(b, total, b.splat(term)) for total, term in zip(now, terms, strict=True)]

        for place, total in zip(places, nest(b, inner, add, [b.splat(start)] * len(places)), strict=True):
            k.memory.store(target.buffer, target.linear(place), total)

    def row(p: Position) -> None:
        width = SIDE_BY_SIDE * b.lanes
        panels, rest = divmod(size, width)

        def panel(i: ix.Index) -> None:
            first = ix.scale(b, i, width)
            columns(p, [Strip(ix.add(b, first, v * b.lanes)) for v in range(SIDE_BY_SIDE)])  # type: ignore[arg-type]

        ix.each(b, (panels,), lambda i: panel(i[0]))
        whole, left = divmod(rest, b.lanes)
        strips = [Strip(panels * width + v * b.lanes) for v in range(whole)]
        if left:
            strips.append(Strip(panels * width + whole * b.lanes, 1, left))
        if strips:
            columns(p, strips)

    ix.each(b, outer, row)


RULES = {f"reduce_{name}": reduce(name) for name in ("sum", "prod", "max", "min", "and", "or", "xor")}
