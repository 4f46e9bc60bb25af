"""Sums, extremes and running totals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..codegen import index as ix
from ..codegen.builder import I64, Builder
from ..codegen.emitter import BLOCK, Emitter, is_varying, work_of
from ..codegen.operand import BITS, LLVM_TYPES, Operand, int_constant
from ..codegen.value import Position, Registers, Stored, Value
from ..codegen.vectors import parts
from ..ir import Graph, Op
from .arrays import empty
from .elementwise import extreme

Combine = Callable[[Builder, Operand, Operand], Operand]
ORDERLESS = frozenset({"and", "or", "xor", "max", "min"})
"""Reductions of bytes that may be made in any order."""
UNROLL_TERMS = 64
WRITTEN_OUT = 1024  # instructions of what is computed for terms that are written out, beyond which it is a loop
MANY_TERMS = 256  # floats from which on a sum is made in pieces
PIECE = 64
NESTED = 20  # operations one after the other that a reduction counts for: it may be a loop in the loop of its result


def combiner(name: str, dtype: np.dtype) -> Combine:
    """Returns the function of two elements that a reduction repeats."""
    floating = dtype.kind == "f"
    match name:
        case "sum":
            return (lambda b, x, y: b.fadd(x, y)) if floating else (lambda b, x, y: b.add(x, y))
        case "prod":
            return (lambda b, x, y: b.fmul(x, y)) if floating else (lambda b, x, y: b.mul(x, y))
        case "sub":
            return (lambda b, x, y: b.fsub(x, y)) if floating else (lambda b, x, y: b.sub(x, y))
        case "max" | "min":
            return extreme(name, dtype)
        case _:
            return lambda b, x, y: b.binary(name, x, y)


def neutral(name: str, dtype: np.dtype) -> Operand:
    """Returns what a reduction of nothing gives."""
    type = LLVM_TYPES[dtype.name]
    if name in ("max", "min"):
        if dtype.kind == "f":
            return Builder(1).const(float("-inf") if name == "max" else float("inf"), type)
        if dtype.kind == "b":
            return int_constant(name == "min", type)
        bounds = np.iinfo(dtype)
        return int_constant(int(bounds.min if name == "max" else bounds.max), type)
    if name == "and":
        return int_constant(-1, type)
    return Builder(1).const(1 if name == "prod" else 0, type)


def reduce(name: str) -> Callable[..., Value]:
    """Returns the rule that reduces some axes."""

    def rule(k: Emitter, op: Op, x: Value) -> Value:
        axes = tuple(op.params["axes"])
        inner = tuple(x.shape[a] for a in axes)
        if _is_written_out(inner, x) and work_of(x) * x.size > WRITTEN_OUT:
            x = k.materialise(x)
        source = k.addressable(x) if math.prod(inner) > k.unroll else x
        element, out = partial(_reduced, k, name, axes, x), op.outputs[0]
        return k.lazy(out.shape, out.dtype, (source,), element, depth=NESTED)

    return rule


def _reduced(k: Emitter, name: str, axes: tuple[int, ...], like: Value, p: Position, source: Value) -> Operand:
    """Combines the elements of `source`, which are those of `like`, along the axes: element p of the result."""
    combine, start = combiner(name, like.dtype), neutral(name, like.dtype)
    inner = tuple(like.shape[a] for a in axes)
    if name in ORDERLESS and len(inner) == len(source.shape) and k.fills_blocks(source):
        return fold_blocks(k, source, combine, start)

    def term(q: Position) -> Operand:
        return source.at(merge(p, q, axes, len(like.shape)))

    return fold(k, inner, term, combine, k.splat_within(p, start), like)


def _is_written_out(shape: tuple[int, ...], x: Value) -> bool:
    """Returns whether a reduction of x over axes of that shape is no loop."""
    count = math.prod(shape)
    return count <= UNROLL_TERMS and (x.size <= UNROLL_TERMS or (len(shape) <= 1 and count <= 8))


def merge(p: Position, q: Position, axes: tuple[int, ...], rank: int) -> Position:
    """Returns the position whose `axes` are q and whose other axes are p."""
    outer, inner = iter(p), dict(zip(axes, q, strict=True))
    return tuple(inner[a] if a in inner else next(outer) for a in range(rank))


def fold(
    k: Emitter,
    shape: tuple[int, ...],
    term: Callable[[Position], Operand],
    combine: Combine,
    start: Operand,
    like: Value,
) -> Operand:
    """Combines all terms: written out as a tree where they are few, else in a loop.

    Of many floats each axis has totals of its own, and a long one is taken in pieces: the error of a sum grows with the
    length of a piece and with the number of pieces, not with that of the terms.
    """
    if _is_written_out(shape, like):
        return tree(k.b, [term(q) for q in ix.all_indices(shape)], combine, start)
    total = k.b.splat(start) if is_varying(like) else start
    if like.dtype.kind == "f" and math.prod(shape) >= MANY_TERMS:
        return _in_pieces(k.b, shape, term, combine, total)
    return nest(k.b, shape, lambda q, c: [combine(k.b, c[0], term(q))], [total])[0]


def _in_pieces(
    b: Builder, shape: tuple[int, ...], term: Callable[[Position], Operand], combine: Combine, start: Operand
) -> Operand:
    """Combines terms axis by axis, an axis in pieces of `PIECE` and these in pieces again, each from `start` on."""
    if not shape:
        return term(())
    count, rest = shape[0], shape[1:]
    whole, left = divmod(count, PIECE)
    if count <= PIECE:

        def add(i: Operand, carried: list[Operand]) -> list[Operand]:
            return [combine(b, carried[0], _in_pieces(b, rest, lambda q: term((i, *q)), combine, start))]

        return b.for_(int_constant(count, I64), [start], add)[0]

    def of_piece(q: Position) -> Operand:
        return term((ix.add(b, ix.scale(b, q[0], PIECE), q[1]), *q[2:]))

    total = _in_pieces(b, (whole, PIECE, *rest), of_piece, combine, start)
    if not left:
        return total
    last = _in_pieces(b, (left, *rest), lambda q: term((ix.add(b, q[0], whole * PIECE), *q[1:])), combine, start)
    return combine(b, total, last)


def fold_blocks(k: Emitter, x: Value, combine: Combine, start: Operand) -> Operand:
    """Combines all elements, several side by side."""
    b = k.b
    with b.of_lanes(b.lanes * BLOCK):
        wide = b.splat(start)
    (total,), left = k.blocks(x.shape, lambda p, now: [combine(b, now[0], x.at(p))], [wide])
    return tree(b, parts(b, total, b.lanes * BLOCK) + [x.at(p) for p in left], combine, start)


def tree(b: Builder, terms: list[Operand], combine: Combine, start: Operand) -> Operand:
    """Combines neighbours first, as a balanced tree."""
    if not terms:
        return start
    while len(terms) > 1:
        pairs = [combine(b, terms[i], terms[i + 1]) for i in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[len(terms) & ~1 :]
    return terms[0]


def reduce_by(k: Emitter, op: Op, *inputs: Value) -> list[Value]:
    """Reduces several arrays together, by a function of its own."""
    count = len(inputs) // 2
    axes, combine = tuple(op.params["dimensions"]), graph_of(k, op.params["jaxpr"])
    sources, starts = [k.addressable(x) for x in inputs[:count]], [x.at(()) for x in inputs[count:]]
    inner = tuple(sources[0].shape[a] for a in axes)
    varying = any(map(is_varying, inputs))
    shape, rank = op.outputs[0].shape, len(sources[0].shape)
    targets = [empty(k, Op(op.name, [], [out], {}), inputs) for out in op.outputs]

    def element(p: Position) -> None:
        def step(q: Position, totals: list[Operand]) -> list[Operand]:
            return combine([*totals, *(x.at(merge(p, q, axes, rank)) for x in sources)])

        totals = nest(k.b, inner, step, [k.b.splat(s) if varying else s for s in starts])
        for target, total in zip(targets, totals, strict=True):
            k.memory.store(target.buffer, target.linear(p), total)

    ix.each(k.b, shape, element)
    return list(targets)


def graph_of(k: Emitter, graph: Graph) -> Callable[[list[Operand]], list[Operand]]:
    """Returns a graph of scalars as a function of operands."""

    def run(operands: list[Operand]) -> list[Operand]:
        args = [Registers((), v.dtype, k.memory, [a]) for v, a in zip(graph.inputs, operands, strict=True)]
        return [value.at(()) for value in k.run(graph, args)]

    return run


def nest(b: Builder, shape: tuple[int, ...], step: Callable, carried: list[Operand]) -> list[Operand]:
    """Writes loops over a shape that carry something."""

    def inside(outer: Position, rest: tuple[int, ...], now: list[Operand]) -> list[Operand]:
        if not rest:
            return step(outer, now)
        return b.for_(int_constant(rest[0], I64), now, lambda i, c: inside((*outer, i), rest[1:], c))

    return carried if 0 in shape else inside((), shape, carried)


# ---- argmax, argmin


def arg_extreme(which: str) -> Callable[..., Value]:
    """Returns the rule of argmax or argmin: the first of equals; NaN before everything."""

    def rule(k: Emitter, op: Op, x: Value) -> Value:
        (axis,) = op.params["axes"]
        out = op.outputs[0]
        source = k.reusable(k.addressable(x) if x.size > k.unroll else x)
        element = partial(_place_of_extreme, k, which, axis, LLVM_TYPES[out.dtype.name], x)
        return k.lazy(out.shape, out.dtype, (source,), element)

    return rule


def _place_of_extreme(k: Emitter, which: str, axis: int, type: str, like: Value, p: Position, source: Value) -> Operand:
    """Returns where the extreme of `source`, whose elements are those of `like`, is along an axis."""
    b, n = k.b, like.shape[axis]

    def term(i: ix.Index) -> Operand:
        return source.at((*p[:axis], i, *p[axis:]))

    def choose(pair: list[Operand], a: Operand, place: Operand) -> list[Operand]:
        wins = _beats(b, which, like.dtype, a, pair[0])
        return [b.select(wins, a, pair[0]), b.select(wins, place, pair[1])]

    if n <= k.unroll and like.size <= 4 * k.unroll:
        pair = [term(0), int_constant(0, type)]
        for i in range(1, n):
            pair = choose(pair, term(i), int_constant(i, type))
        return pair[1]
    first = [term(0), int_constant(0, type)]
    first = [b.splat(a) if is_varying(like) else k.splat_within(p, a) for a in first]
    return b.for_(int_constant(n, I64), first, lambda i, c: choose(c, term(i), _as(b, i, type)))[1]


def _beats(b: Builder, which: str, dtype: np.dtype, a: Operand, best: Operand) -> Operand:
    """Returns whether a later element takes the place of the best so far."""
    if dtype.kind == "f":
        beats = b.fcmp("ogt" if which == "max" else "olt", a, best)
        return b.or_(beats, b.and_(b.fcmp("uno", a, a), b.fcmp("ord", best, best)))
    sign = "s" if dtype.kind == "i" else "u"
    return b.icmp(f"{sign}{'gt' if which == 'max' else 'lt'}", a, best)


def _as(b: Builder, i: Operand, type: str) -> Operand:
    return b.cast("trunc", i, type) if BITS[type] < 64 else i


# ---- running totals


def cumulative(name: str) -> Callable[..., Value]:
    """Returns the rule of a running total along an axis."""

    def rule(k: Emitter, op: Op, x: Value) -> Value:
        axis, reverse = op.params["axis"], op.params["reverse"]
        combine = combiner(name, x.dtype)
        if x.size <= k.unroll:
            return _cumulative_in_registers(k, x, axis, reverse, combine, neutral(name, x.dtype))
        target = empty(k, op, (x,))
        source, start = k.addressable(x), neutral(name, x.dtype)
        along = partial(_cumulative_along, k, source, target, axis, reverse, combine, start)
        ix.each(k.b, (*x.shape[:axis], *x.shape[axis + 1 :]), along)
        return target

    return rule


def _cumulative_along(
    k: Emitter,
    source: Value,
    target: Stored,
    axis: int,
    reverse: bool,
    combine: Combine,
    start: Operand,
    p: Position,
) -> None:
    """Writes the running totals along one line of an array, whose place in the other axes is p."""
    n = source.shape[axis]

    def step(i: Operand, carried: list[Operand]) -> list[Operand]:
        at = k.b.sub(int_constant(n - 1, I64), i) if reverse else i
        q = (*p[:axis], at, *p[axis:])
        total = combine(k.b, carried[0], source.at(q))
        k.memory.store(target.buffer, target.linear(q), total)
        return [total]

    k.b.for_(int_constant(n, I64), [k.b.splat(start) if target.buffer.varying else start], step)


def _cumulative_in_registers(k: Emitter, x: Value, axis: int, reverse: bool, combine: Combine, start: Operand) -> Value:
    done: dict[tuple[int, ...], Operand] = {}
    order = list(np.ndindex(*x.shape))
    for p in reversed(order) if reverse else order:
        before = (*p[:axis], p[axis] + (1 if reverse else -1), *p[axis + 1 :])
        done[p] = combine(k.b, done.get(before, start), x.at(p))
    return Registers(x.shape, x.dtype, k.memory, [done[p] for p in order])


RULES: dict[str, Callable[..., Any]] = {
    **{f"reduce_{name}": reduce(name) for name in ("sum", "prod", "max", "min", "and", "or", "xor")},
    "reduce": reduce_by,
    "argmax": arg_extreme("max"),
    "argmin": arg_extreme("min"),
    "cumsum": cumulative("sum"),
    "cumprod": cumulative("prod"),
    "cummax": cumulative("max"),
    "cummin": cumulative("min"),
}
