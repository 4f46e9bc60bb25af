"""Operations that move elements about: nothing is computed, positions are mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen import index as ix
from ..codegen.emitter import Emitter, is_flat, is_varying
from ..codegen.operand import LLVM_TYPES, Operand, int_constant
from ..codegen.value import Constant, Position, Registers, Stored, Undef, Value, asked
from ..ir import Op


def view(k: Emitter, op: Op, value: Stored, offset: ix.Index, strides: tuple[int, ...]) -> Stored:
    """Makes other axes over the same memory."""
    out = op.outputs[0]
    return Stored(out.shape, out.dtype, k.memory, value.buffer, offset, strides)


def broadcast_in_dim(k: Emitter, op: Op, x: Value, *_: Value) -> Value:
    """Repeats along new axes."""
    axes, out = op.params["broadcast_dimensions"], op.outputs[0]

    def where(p: Position) -> Position:
        return tuple(0 if n == 1 else p[axis] for axis, n in zip(axes, x.shape, strict=True))

    if isinstance(x, Stored) and out.size > k.unroll:
        strides = [0] * len(out.shape)
        for axis, n, stride in zip(axes, x.shape, x.strides, strict=True):
            strides[axis] = 0 if n == 1 else stride
        return view(k, op, x, x.offset, tuple(strides))
    return k.move(op, where, x, repeats=out.size > x.size)


def reshape(k: Emitter, op: Op, x: Value, *_: Value) -> Value:
    """Lays the same elements, in the same order, along other axes."""
    out = op.outputs[0]
    if x.size <= k.unroll:
        elements = [x.at(p) for p in ix.all_indices(x.shape)]
        return Registers(out.shape, out.dtype, k.memory, elements)
    if isinstance(x, Constant):
        return Constant(out.shape, out.dtype, k.memory, x.array.reshape(out.shape))
    ones_dropped = [n for n in x.shape if n != 1] == [n for n in out.shape if n != 1]
    if ones_dropped and not isinstance(x, Stored):
        return k.move(op, lambda p: _without_ones(p, out.shape, x.shape), x)
    if k.is_read_in_parts(x):
        first, strides = (0,) * (len(x.shape) - 1), ix.strides_of(out.shape)
        return k.move(op, lambda p: (*first, ix.flat(k.b, p, strides)), x, flat=True)
    if not isinstance(x, Stored) or x.strides != ix.strides_of(x.shape):
        x = k.copy(x)
    return view(k, op, x, x.offset, ix.strides_of(out.shape))


def _without_ones(p: Position, shape: tuple[int, ...], target: tuple[int, ...]) -> Position:
    kept = iter([i for i, n in zip(p, shape, strict=True) if n != 1])
    return tuple(0 if n == 1 else next(kept) for n in target)


def transpose(k: Emitter, op: Op, x: Value) -> Value:
    """Orders axes otherwise."""
    order = op.params["permutation"]
    if isinstance(x, Stored) and x.size > k.unroll:
        return view(k, op, x, x.offset, tuple(x.strides[axis] for axis in order))
    back = np.argsort(order)
    return k.move(op, lambda p: tuple(p[axis] for axis in back), x)


def slice_(k: Emitter, op: Op, x: Value) -> Value:
    """Takes every stride-th element from start to limit."""
    start, steps = op.params["start_indices"], op.params["strides"] or [1] * len(x.shape)
    if isinstance(x, Stored) and op.outputs[0].size > k.unroll:
        offset = ix.add(k.b, x.offset, sum(i * s for i, s in zip(start, x.strides, strict=True)))
        return view(k, op, x, offset, tuple(s * n for s, n in zip(x.strides, steps, strict=True)))

    def where(p: Position) -> Position:
        return tuple(ix.add(k.b, ix.scale(k.b, i, n), s) for i, n, s in zip(p, steps, start, strict=True))

    return k.move(op, where, x, flat=len(x.shape) == 1 and steps[0] == 1 and is_flat(x))


def rev(k: Emitter, op: Op, x: Value) -> Value:
    """Reverses some axes."""
    axes = op.params["dimensions"]

    def where(p: Position) -> Position:
        return tuple(
            ix.add(k.b, ix.scale(k.b, i, -1), n - 1) if axis in axes else i
            for axis, (i, n) in enumerate(zip(p, x.shape, strict=True))
        )

    return k.move(op, where, x)


def concatenate(k: Emitter, op: Op, *parts: Value) -> Value:
    """Joins arrays along an axis."""
    out, axis = op.outputs[0], op.params["dimension"]
    ends = np.cumsum([part.shape[axis] for part in parts]).tolist()
    if out.size <= k.unroll:
        elements = []
        for p in ix.all_indices(out.shape):
            i = next(i for i, end in enumerate(ends) if p[axis] < end)
            shifted = p[axis] - (ends[i] - parts[i].shape[axis])
            elements.append(parts[i].at((*p[:axis], shifted, *p[axis + 1 :])))
        return Registers(out.shape, out.dtype, k.memory, elements)
    target = empty(k, op, parts)
    for part, end in zip(parts, ends, strict=True):
        place = [0] * len(out.shape)
        place[axis] = end - part.shape[axis]
        k.write(window(k, target, place, part.shape), part)
    return target


def empty(k: Emitter, op: Op, inputs: tuple[Value, ...]) -> Stored:
    """Makes a new buffer for the result, varying if an input is."""
    out = op.outputs[0]
    varying = any(map(is_varying, inputs)) and k.b.lanes > 1
    return k.memory.stored(k.memory.buffer(LLVM_TYPES[out.dtype.name], out.size, varying), out.shape, out.dtype)


def window(k: Emitter, value: Stored, place: list[int], shape: tuple[int, ...]) -> Stored:
    """Makes a view of a part of an array."""
    offset = ix.add(k.b, value.offset, sum(i * s for i, s in zip(place, value.strides, strict=True)))
    return Stored(shape, value.dtype, k.memory, value.buffer, offset, value.strides)


def stack(k: Emitter, op: Op, *parts: Value) -> Value:
    """Joins arrays along a new axis."""
    axis = op.params["axis"]
    lifted = [lift(k, part, axis) for part in parts]
    joined = Op("concatenate", op.inputs, op.outputs, {"dimension": axis})
    return concatenate(k, joined, *lifted)


def lift(k: Emitter, value: Value, axis: int) -> Value:
    """Adds an axis of size one."""
    shape = (*value.shape[:axis], 1, *value.shape[axis:])
    return k.lazy(shape, value.dtype, (value,), lambda p, v: asked(v, (*p[:axis], *p[axis + 1 :])), costly=False)


def split(k: Emitter, op: Op, x: Value) -> list[Value]:
    """Splits along an axis."""
    axis, sizes = op.params["axis"], op.params["sizes"]
    x = x if k.is_read_in_parts(x) else k.reusable(x)
    pieces = []
    start = 0
    for size, out in zip(sizes, op.outputs, strict=True):
        begin = [0] * len(x.shape)
        begin[axis] = start
        params = {"start_indices": begin, "strides": None}
        pieces.append(slice_(k, Op("slice", op.inputs, [out], params), x))
        start += int(size)
    return pieces


def unstack(k: Emitter, op: Op, x: Value) -> list[Value]:
    """Splits along an axis, which goes."""
    axis = op.params["axis"]
    x = k.reusable(x)

    def part(i: int) -> Value:
        return k.move(op, lambda p: (*p[:axis], i, *p[axis:]), x)

    return [part(i) for i in range(len(op.outputs))]


def tile(k: Emitter, op: Op, x: Value) -> Value:
    """Repeats an array as a whole along its axes; more of them may come first."""
    reps, shape = op.params["reps"], x.shape
    new = len(reps) - len(shape)

    def where(p: Position) -> Position:
        return tuple(_modulo(k, i, n) for i, n in zip(p[max(new, 0) :], shape, strict=True))

    return k.move(op, where, x, repeats=True)


def _modulo(k: Emitter, i: ix.Index, n: int) -> ix.Index:
    if n == 1:
        return 0  # also of a block, which has no position of each lane's own
    if isinstance(i, int):
        return i % n
    place = ix.operand(ix.as_lanes(k.b, i))
    return k.b.binary("urem", place, int_constant(n, place.type))


def pad(k: Emitter, op: Op, x: Value, filler: Value) -> Value:
    """Pads with borders and gaps, or cuts edges off."""
    config, out, b = op.params["padding_config"], op.outputs[0], k.b
    if x.size == 0:
        return k.lazy(out.shape, out.dtype, (filler,), lambda p, f: f.at(()), costly=False)
    x = k.reusable(x)
    if out.size > k.unroll and all(low >= 0 and high >= 0 and gap == 0 for low, high, gap in config):
        target = empty(k, op, (x, filler))
        k.write(target, k.lazy(out.shape, out.dtype, (filler,), lambda p, f: f.at(()), costly=False))
        k.write(window(k, target, [low for low, _, _ in config], x.shape), x)
        return target

    def element(p: Position, source: Value, fill: Value) -> Operand:
        places: list[ix.Index] = []
        valid = int_constant(1, "i1")
        for i, n, (low, _, gap) in zip(p, x.shape, config, strict=True):
            shifted = ix.add(b, i, -low)
            if gap:
                at = ix.operand(ix.as_lanes(b, shifted))
                step = int_constant(gap + 1, at.type)
                on_grid = b.icmp("eq", b.binary("srem", at, step), int_constant(0, at.type))
                valid = b.and_(valid, on_grid)
                shifted = b.binary("sdiv", at, step)
            valid = b.and_(valid, ix.inside(b, shifted, n))
            places.append(ix.clamp(b, shifted, 0, max(n - 1, 0)))
        return b.select(valid, source.at(tuple(places)), fill.at(()))

    if out.size <= k.unroll:
        return Registers(
            out.shape, out.dtype, k.memory, [_pad_static(p, x, filler, config) for p in np.ndindex(*out.shape)]
        )
    return k.lazy(out.shape, out.dtype, (x, filler), element)


def _pad_static(p: tuple[int, ...], x: Value, filler: Value, config: Any) -> Operand:
    place = []
    for i, n, (low, _, gap) in zip(p, x.shape, config, strict=True):
        at, rest = divmod(i - low, gap + 1)
        if rest or not 0 <= at < n:
            return filler.at(())
        place.append(at)
    return x.at(tuple(place))


def iota(k: Emitter, op: Op, *_: Value) -> Value:
    """Counts 0, 1, 2, ... along an axis."""
    out, axis = op.outputs[0], op.params["dimension"]
    type = LLVM_TYPES[out.dtype.name]

    def element(p: Position) -> Operand:
        i = ix.as_lanes(k.b, p[axis])
        if isinstance(i, int):
            return k.b.const(i, type)
        if out.dtype.kind == "f":
            return k.b.cast("sitofp", i, type)
        return k.b.cast("trunc" if int(type[1:]) < int(i.type[1:]) else "sext", i, type)

    return k.lazy(out.shape, out.dtype, (), element, costly=False)


def squeeze(k: Emitter, op: Op, x: Value) -> Value:
    """Drops axes of size one."""
    return reshape(k, op, x)


def zero(k: Emitter, op: Op) -> Value:
    """Makes a number that means nothing, in what a derivative keeps of a branch that is not taken.

    XLA's is zero too.
    """
    out = op.outputs[0]
    return Constant(out.shape, out.dtype, k.memory, np.zeros(out.shape, out.dtype))


def undefined(k: Emitter, op: Op, *_: Value) -> Value:
    """Makes elements that will be written before they are read."""
    out = op.outputs[0]
    return Undef(out.shape, out.dtype, k.memory)


RULES: dict[str, Callable[..., Any]] = {
    "empty": undefined,
    "empty2": zero,
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": reshape,
    "squeeze": squeeze,
    "transpose": transpose,
    "slice": slice_,
    "rev": rev,
    "concatenate": concatenate,
    "stack": stack,
    "split": split,
    "unstack": unstack,
    "tile": tile,
    "pad": pad,
    "iota": iota,
}
