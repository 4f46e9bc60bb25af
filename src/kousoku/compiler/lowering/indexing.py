"""Reading and writing at positions that are computed: slices, gather and scatter.

Positions outside are moved inside, filled or dropped as XLA does: a slice's start is clamped so that the slice fits; a
gathered slice or a scattered window that does not fit as a whole is filled or dropped as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..codegen import index as ix
from ..codegen.builder import Builder
from ..codegen.emitter import Emitter, is_varying
from ..codegen.operand import Operand, int_constant
from ..codegen.value import Constant, Position, Registers, Stored, Value, asked
from ..ir import Graph, Op, Unsupported
from .arrays import view
from .reductions import Combine, combiner, graph_of

SELECTED = 64


def starts(k: Emitter, indices: Sequence[Value], limits: Sequence[int]) -> list[ix.Index]:
    """Returns scalars as positions in [0, limit]."""
    return [
        ix.clamp(k.b, ix.as_index(k.b, i.at(()), i.dtype.kind == "i"), 0, limit)
        for i, limit in zip(indices, limits, strict=True)
    ]


def add_positions(b: Builder, p: Sequence[ix.Index], q: Sequence[ix.Index]) -> Position:
    """Adds positions element by element."""
    return tuple(ix.add(b, i, j) for i, j in zip(p, q, strict=True))


def dynamic_slice(k: Emitter, op: Op, x: Value, *indices: Value) -> Value:
    """Takes a part of x, moved inside."""
    sizes = op.params["slice_sizes"]
    start = starts(k, indices, [n - s for n, s in zip(x.shape, sizes, strict=True)])
    x = k.reusable(x)
    if isinstance(x, Registers) and x.size > 1 and not all(isinstance(i, int) for i in start):
        x = _pickable(k, x, op.outputs[0].size)
    if isinstance(x, Stored | Constant) and op.outputs[0].size > k.unroll and not any(map(_is_of_lanes, start)):
        x = k.memory.spill(x)
        return view(k, op, x, ix.add(k.b, x.offset, ix.flat(k.b, start, x.strides)), x.strides)
    element = lambda p, v, *_: asked(v, add_positions(k.b, p, start))  # noqa: E731
    return k.lazy(op.outputs[0].shape, x.dtype, (x, *indices), element, costly=False)


def _is_of_lanes(i: ix.Index) -> bool:
    """Returns whether each lane has a position of its own."""
    return isinstance(i, Operand) and i.varying


def _pickable(k: Emitter, x: Registers, reads: int) -> Value:
    """Puts registers that are read at unknown positions into memory, unless they are few and so are the reads."""
    return x if x.size <= 8 and reads <= 2 else k.memory.spill(x)


def dynamic_update_slice(k: Emitter, op: Op, x: Value, update: Value, *indices: Value) -> Value:
    """Replaces a part of x."""
    start = starts(k, indices, [n - s for n, s in zip(x.shape, update.shape, strict=True)])
    varying = is_varying(update) or any(map(_is_of_lanes, start))
    if all(isinstance(i, int) for i in start) and x.size <= k.unroll:
        elements = [x.at(p) for p in ix.all_indices(x.shape)]
        strides = ix.strides_of(x.shape)
        for p in ix.all_indices(update.shape):
            flat = sum((i + s) * stride for i, s, stride in zip(p, start, strides, strict=True))  # type: ignore[operator]
            elements[flat] = update.at(p)
        return Registers(x.shape, x.dtype, k.memory, elements)
    if x.size <= k.unroll and update.size == 1 and x.size <= SELECTED:
        return _select_write(k, x, start, update.at((0,) * len(update.shape)), int_constant(1, "i1"), None)
    if update.size > k.unroll and any(buffer is old for buffer in update.buffers() for old in x.buffers()):
        update = k.addressable(update)  # before what it is computed from is overwritten
    if not any(map(_is_of_lanes, start)):
        target = k.writable(x, varying, (update,))
        offset = ix.add(k.b, target.offset, ix.flat(k.b, start, target.strides))
        part = Stored(update.shape, x.dtype, k.memory, target.buffer, offset, target.strides)
        k.write(part, update, k.mask_of(target.buffer))
        return target
    update = k.reusable(k.addressable(update) if update.size > k.unroll else update)
    target = k.writable(x, varying, (update,))
    mask = k.mask_of(target.buffer)

    def write(p: Position) -> None:
        k.memory.store(target.buffer, target.linear(add_positions(k.b, p, start)), update.at(p), mask)

    visit(k, update.shape, write, k.each)
    return target


def visit(k: Emitter, shape: tuple[int, ...], body: Callable[[Position], None], loops: Callable[..., None]) -> None:
    """Visits every position: written out for few, else by `loops`."""
    if math.prod(shape) <= k.unroll:
        for p in ix.all_indices(shape):
            body(p)
    else:
        loops(shape, body)


# ---- windows


@dataclass(frozen=True)
class _Windows:
    """Windows of an array, as XLA's Gather and Scatter have them: parts of one size, side by side in another array.

    Attributes:
        spare: how far a window can be moved along each axis of the array.
        batch_axes: axes of the other array that count windows.
        start_axes: of which axis each number of a window's position is.
        batching: pairs of an axis of the array and the place in `batch_axes` of the one that runs along with it.
        inner: pairs of an axis of the array and the other array's axis that runs along it within a window.
        checked: whether windows that do not fit are told from others; else they are moved inside.
    """

    spare: tuple[int, ...]
    batch_axes: tuple[int, ...]
    start_axes: tuple[int, ...]
    batching: tuple[tuple[int, int], ...]
    inner: tuple[tuple[int, int], ...]
    checked: bool

    def place(self, k: Emitter, p: Position, indices: Value) -> tuple[Position, Operand]:
        """Returns where in the array the other one's element p lies, and whether its window fits."""
        batch = [p[d] for d in self.batch_axes]
        place: list[ix.Index] = [0] * len(self.spare)
        valid = int_constant(1, "i1")
        for j, d in enumerate(self.start_axes):
            start = ix.as_index(k.b, indices.at((*batch, j)), indices.dtype.kind == "i")
            if self.checked:
                valid = _and(k.b, valid, ix.inside(k.b, start, self.spare[d] + 1))
            place[d] = ix.clamp(k.b, start, 0, self.spare[d])
        for d, axis in self.batching:
            place[d] = batch[axis]
        for d, axis in self.inner:
            place[d] = ix.add(k.b, place[d], p[axis])
        return tuple(place), valid


def _gathered(op: Op, shape: tuple[int, ...]) -> _Windows:
    """Returns the windows that a gather reads of an array."""
    numbers, sizes = op.params["dimension_numbers"], op.params["slice_sizes"]
    skipped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    within = [d for d in range(len(shape)) if d not in skipped]
    return _Windows(
        spare=tuple(n - size for n, size in zip(shape, sizes, strict=True)),
        batch_axes=tuple(d for d in range(len(op.outputs[0].shape)) if d not in numbers.offset_dims),
        start_axes=tuple(numbers.start_index_map),
        batching=tuple(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)),
        inner=tuple(zip(within, numbers.offset_dims, strict=True)),
        checked="FILL" in str(op.params["mode"]),
    )


def _scattered(op: Op, shape: tuple[int, ...], updates: tuple[int, ...]) -> _Windows:
    """Returns the windows that a scatter writes in an array."""
    numbers = op.params["dimension_numbers"]
    skipped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    within = [d for d in range(len(shape)) if d not in skipped]
    inner = dict(zip(within, numbers.update_window_dims, strict=True))
    return _Windows(
        spare=tuple(n - (updates[inner[d]] if d in inner else 1) for d, n in enumerate(shape)),
        batch_axes=tuple(d for d in range(len(updates)) if d not in numbers.update_window_dims),
        start_axes=tuple(numbers.scatter_dims_to_operand_dims),
        batching=tuple(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)),
        inner=tuple(inner.items()),
        checked="CLIP" not in str(op.params["mode"]),
    )


def gather(k: Emitter, op: Op, x: Value, indices: Value) -> Value:
    """Takes slices at positions, as XLA's Gather."""
    windows, out = _gathered(op, x.shape), op.outputs[0]
    fill = _fill_value(op) if windows.checked else None
    x = k.reusable(x)
    if isinstance(x, Registers) and x.size > 1:
        x = _pickable(k, x, out.size)

    def element(p: Position, source: Value, places: Value) -> Operand:
        place, valid = windows.place(k, p, places)
        loaded = source.at(place)
        return loaded if fill is None else k.b.select(valid, loaded, k.b.const(fill, source.type))

    return k.lazy(out.shape, out.dtype, (x, k.reusable(indices)), element)


def _and(b: Builder, x: Operand, y: Operand) -> Operand:
    if x.value is not None:
        return y if x.value else x
    if y.value is not None:
        return x if y.value else y
    return b.and_(x, y)


def _fill_value(op: Op) -> Any:
    given, dtype = op.params.get("fill_value"), op.outputs[0].dtype
    if given is not None:
        return given
    if dtype.kind == "f":
        return float("nan")
    if dtype.kind == "b":
        return True
    return int(np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max)


# ---- scatter


def scatter(k: Emitter, op: Op, x: Value, indices: Value, updates: Value) -> Value:
    """Writes windows at positions, one after the other, as XLA's Scatter."""
    windows, combine = _scattered(op, x.shape, updates.shape), combination(k, op.params["update_jaxpr"], x.dtype)
    indices, updates = k.reusable(indices), k.reusable(updates)
    if any(spare < 0 for spare in windows.spare):
        return x
    if x.size <= k.unroll and x.size * updates.size <= SELECTED:
        result: Value = x
        for p in ix.all_indices(updates.shape):
            place, valid = windows.place(k, p, indices)
            result = _select_write(k, result, place, updates.at(p), valid, combine)
        return result
    if updates.size > k.unroll:
        indices, updates = k.addressable(indices), k.addressable(updates)
    varying = is_varying(updates) or is_varying(indices)
    target = k.writable(x, varying, (indices, updates))

    def write(p: Position) -> None:
        place, valid = windows.place(k, p, indices)
        _combine_at(k, target, place, updates.at(p), valid, combine)

    visit(k, updates.shape, write, partial(ix.each, k.b))  # in order: they may meet
    return target


def combination(k: Emitter, given: str | Graph, dtype: np.dtype) -> Combine | None:
    """Returns the function of old and new elements, None for replacing."""
    if isinstance(given, Graph):
        run = graph_of(k, given)
        return lambda b, old, new: run([old, new])[0]
    if given not in ("", "add", "sub", "mul", "min", "max", "and", "or", "xor"):
        raise Unsupported(f"scatter with {given}")
    return combiner({"add": "sum", "mul": "prod"}.get(given, given), dtype) if given else None


def _combine_at(k: Emitter, target: Stored, place: Position, update: Operand, valid: Operand, combine: Any) -> None:
    """Reads, combines and writes back, where that is valid."""
    if valid.value == 0:
        return
    terms = target.linear(place)
    if combine is not None:
        update = combine(k.b, k.memory.load(target.buffer, terms), update)
    mask, lanes = None if valid.value == 1 else valid, k.mask_of(target.buffer)
    if lanes is not None:
        mask = lanes if mask is None else k.b.and_(mask, lanes)
    k.memory.store(target.buffer, terms, update, mask)


def _select_write(
    k: Emitter, x: Value, place: Sequence[ix.Index], update: Operand, valid: Operand, combine: Combine | None
) -> Registers:
    """Replaces or combines one element of x in registers."""
    b = k.b
    at, elements = ix.as_lanes(b, ix.flat(b, place, ix.strides_of(x.shape))), []
    for j, p in enumerate(ix.all_indices(x.shape)):
        old = x.at(p)
        here = int_constant(j == at, "i1") if isinstance(at, int) else b.icmp("eq", at, int_constant(j, at.type))
        hit = _and(b, here, valid)
        if hit.value == 0:
            elements.append(old)
            continue
        elements.append(b.select(hit, update if combine is None else combine(b, old, update), old))
    return Registers(x.shape, x.dtype, k.memory, elements)


RULES: dict[str, Callable[..., Any]] = {
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "gather": gather,
    **{f"scatter{suffix}": scatter for suffix in ("", "-add", "-sub", "-mul", "-min", "-max")},
}
