"""Multiplies matrices by micro-kernels: a tile of the result stays in registers while rows and columns pass by.

A tile has as many rows and vectors of columns as there are registers for; each step of the inner loop loads one vector
of each of its columns and spreads one number of each of its rows. See Goto & van de Geijn, Anatomy of high-performance
matrix multiplication (2008), doi:10.1145/1356052.1356053, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codegen import index as ix
from ..codegen.array_emitter import ArrayEmitter
from ..codegen.builder import I64
from ..codegen.index import Strip
from ..codegen.memory import Buffer
from ..codegen.operand import Operand, int_constant
from ..codegen.value import Constant, Lazy, Position, Registers, Stored, Value
from ..codegen.vectors import transposed
from ..ir import Atom, Graph, Literal, Op, digest
from ..passes.product_ends import is_in_tiles
from . import elementwise, products
from .array_reductions import across
from .arrays import empty

UNROLLED = 4
BLOCK_ROWS, BLOCK_COLUMNS = 160, 64
"""Of a factor that stays in a core's first cache while another passes by."""


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory.

    Attributes:
        array: where its elements are, its first one at its offset.
        rows, columns: how many.
        row, column: elements from one row to the next, and from one column to the next.
    """

    array: Stored
    rows: int
    columns: int
    row: int
    column: int

    @property
    def transposed(self) -> Matrix:
        """The same memory, rows and columns exchanged."""
        return Matrix(self.array, self.columns, self.rows, self.column, self.row)

    def part(self, k: ArrayEmitter, rows: range, columns: range) -> Matrix:
        """Returns a block of it."""
        offset = ix.add(k.b, self.array.offset, rows.start * self.row + columns.start * self.column)
        return replace(self, array=replace(self.array, offset=offset), rows=len(rows), columns=len(columns))

    def place(self, k: ArrayEmitter, i: ix.Index, j: ix.Index) -> list[ix.Index]:
        """Returns the terms whose sum is an element's place in the buffer."""
        return [self.array.offset, ix.scale(k.b, i, self.row), ix.scale(k.b, j, self.column)]

    def load(self, k: ArrayEmitter, i: ix.Index, j: ix.Index) -> Operand:
        """Returns an element, or a strip of them."""
        return k.memory.load(self.array.buffer, self.place(k, i, j))

    def store(self, k: ArrayEmitter, i: ix.Index, j: ix.Index, value: Operand) -> None:
        """Writes an element, or a strip of them."""
        k.memory.store(self.array.buffer, self.place(k, i, j), value)


@dataclass(frozen=True)
class End:
    """The operations on each element of a product before it is stored.

    Attributes:
        graph: of numbers: the product's element, and those of others at its place, become the one that is stored.
        others: matrices like the product.
    """

    graph: Graph
    others: tuple[Matrix, ...]

    @property
    def transposed(self) -> End:
        """The same for the product that is transposed."""
        return End(self.graph, tuple(m.transposed for m in self.others))

    def part(self, k: ArrayEmitter, rows: range, columns: range) -> End:
        """Returns it for a block of the product."""
        return End(self.graph, tuple(m.part(k, rows, columns) for m in self.others))

    def at(self, k: ArrayEmitter, i: ix.Index, j: ix.Index, element: Operand) -> Operand:
        """Returns what becomes of an element, or of a strip of them."""
        read = [element, *(m.load(k, i, j) for m in self.others)]
        known = {id(v): _number(k, v.dtype, e) for v, e in zip(self.graph.inputs, read, strict=True)}

        def value(atom: Atom) -> Value:
            return Constant((), atom.dtype, k.memory, atom.value) if isinstance(atom, Literal) else known[id(atom)]

        for op in self.graph.ops:
            known[id(op.outputs[0])] = k.rules[op.name](k, op, *map(value, op.inputs))
        return value(self.graph.outputs[0]).at(())


def _number(k: ArrayEmitter, dtype: np.dtype, element: Operand) -> Value:
    return Registers((), dtype, k.memory, [element])


def dot_general(k: ArrayEmitter, op: Op, x: Value, y: Value, *read: Value) -> Value:
    """Sums products over contracted axes, batch axes first; see `narrow_products` and `product_ends` for what is `read`
    beside: a row, [1, ..., 1, N], that is added to each row of them, and what is done with them.
    """
    (x_sum, y_sum), (x_batch, y_batch) = op.params["dimension_numbers"]
    out, graph = op.outputs[0], op.params.get("end")
    count = len(read) if graph is None else len(read) - len(graph.inputs) + 1
    row, others = (read[0] if count else None), read[count:]
    if not is_in_tiles(op):
        plain = products.dot_general(k, op, x, y)
        return plain if row is None else elementwise.RULES["add"](k, op, plain, row)
    left, right, first = in_memory(k, x), in_memory(k, y), None if row is None else in_memory(k, row)
    beside = [in_memory(k, v) for v in others]
    target = empty(k, op, (x, y))
    x_free = [a for a in range(len(x.shape)) if a not in (*x_sum, *x_batch)]
    y_free = [a for a in range(len(y.shape)) if a not in (*y_sum, *y_batch)]
    count, free = len(x_batch), len(x_batch) + len(x_free)
    rows, columns = _last(range(count, free)), _last(range(free, len(out.shape)))
    outer = [axis for axis in range(len(out.shape)) if axis not in (rows, columns)]

    def product(p: Position) -> None:
        at = dict(zip(outer, p, strict=True))
        x_at = {a: at[i] for i, a in enumerate([*x_batch, *x_free]) if i in at}
        y_at = {a: at[i] for i, a in [*enumerate(y_batch), *enumerate(y_free, free)] if i in at}
        a = _matrix(k, left, x_at, _last(x_free), _last(x_sum))
        b = _matrix(k, right, y_at, _last(y_sum), _last(y_free))
        c = _matrix(k, target, at, rows, columns)
        begin = None if first is None else Matrix(first, c.rows, c.columns, 0, first.strides[-1])
        end = None if graph is None else End(graph, tuple(_matrix(k, m, at, rows, columns) for m in beside))
        multiply(k, a, b, c, begin, end)

    ix.each(k.b, tuple(out.shape[axis] for axis in outer), product)
    return target


def in_memory(k: ArrayEmitter, value: Value) -> Stored:
    """Returns the value in memory, where it is read more than once."""
    return k.copy(value) if isinstance(value, Lazy) else k.memory.spill(value)


def _last(axes: Sequence[int]) -> int | None:
    return axes[-1] if len(axes) else None


def _matrix(k: ArrayEmitter, array: Stored, at: dict[int, ix.Index], rows: int | None, columns: int | None) -> Matrix:
    """Returns a matrix of an array: the other axes are at known positions; an axis that is None has one element."""
    offset = array.offset
    for axis, i in at.items():
        offset = ix.add(k.b, offset, ix.scale(k.b, i, array.strides[axis]))
    sizes = [1 if axis is None else array.shape[axis] for axis in (rows, columns)]
    steps = [1 if axis is None else array.strides[axis] for axis in (rows, columns)]
    return Matrix(replace(array, offset=offset), *sizes, *steps)


def multiply(k: ArrayEmitter, a: Matrix, b: Matrix, c: Matrix, first: Matrix | None, end: End | None = None) -> None:
    """Computes c = end(first + a b), along whichever axis vectors lie best; first is 0 where it is None."""
    lanes = k.b.lanes
    wide = a.rows * -(-b.columns // lanes) * a.columns + (0 if b.column == 1 else a.columns * b.columns)
    tall = b.columns * -(-a.rows // lanes) * a.columns + (0 if a.row == 1 else a.columns * a.rows)
    tall += 0 if c.row == 1 or c.columns == 1 else c.rows * c.columns
    deep = a.rows * b.columns * (-(-a.columns // lanes) + 8)
    if a.column == 1 and b.row == 1 and deep < min(wide, tall):
        _call(k, _multiply_deep, a, b, c, first, end)
    elif wide <= tall:
        _multiply_in_blocks(k, a, b, c, first, end)
    else:
        flipped = None if first is None else first.transposed
        ended = None if end is None else end.transposed
        _multiply_in_blocks(k, b.transposed, a.transposed, c.transposed, flipped, ended)


def _multiply_in_blocks(
    k: ArrayEmitter, a: Matrix, b: Matrix, c: Matrix, first: Matrix | None, end: End | None
) -> None:
    """Computes c = end(first + a b) in blocks of b that fit a core's first cache, each copied to lie in one piece."""
    rows = range(a.rows)
    for columns in blocks(b.columns, BLOCK_COLUMNS):
        for inner in blocks(a.columns, BLOCK_ROWS):
            block = _in_one_piece(k, b.part(k, inner, columns))
            begin = c if inner.start else first
            begin = None if begin is None else begin.part(k, rows, columns)
            last = None if end is None or inner.stop < a.columns else end.part(k, rows, columns)
            _call(k, _multiply_wide, a.part(k, rows, inner), block, c.part(k, rows, columns), begin, last)


def blocks(size: int, most: int) -> Iterator[range]:
    """Yields the parts of an axis, none longer than `most` and all about equally long."""
    count = max(1, -(-size // most))
    ends = [size * i // count for i in range(count + 1)]
    yield from map(range, ends[:-1], ends[1:])


def _call(
    k: ArrayEmitter,
    multiply: Callable[..., None],
    a: Matrix,
    b: Matrix,
    c: Matrix,
    first: Matrix | None,
    end: End | None,
) -> None:
    """Calls `multiply(k, a, b, c, first, end)` as a function that others share."""
    begin = [] if first is None else [first]

    def write(k: ArrayEmitter, a: Matrix, b: Matrix, c: Matrix, *beside: Matrix) -> None:
        own, others = beside[: len(begin)], beside[len(begin) :]
        multiply(k, a, b, c, own[0] if own else None, None if end is None else End(end.graph, others))

    ends = "" if end is None else f"_ends_{digest(end.graph).hex()[:16]}"
    name = multiply.__name__.strip("_") + ends
    call_shared(k, name, write, a, b, c, *begin, *(() if end is None else end.others))


def call_shared(k: ArrayEmitter, what: str, write: Callable[..., None], *matrices: Matrix) -> None:
    """Writes `write(k, *matrices)` as a function that is called wherever `what` is done with matrices like these, and
    calls it.
    """
    shapes = "_by_".join(f"{m.array.type}_{m.rows}_{m.columns}_{m.row}_{m.column}" for m in matrices)
    name = f"{what}_{shapes}".replace("-", "m")
    arguments = [_of_argument(m, f"%matrix{i}") for i, m in enumerate(matrices)]
    k.b.function(name, [f"ptr {m.array.buffer.text}" for m in arguments], lambda: write(k, *arguments))
    pointers = [k.memory.address(m.array.buffer, [m.array.offset])[0] for m in matrices]
    k.b.lines.append(f"  call void @{name}({', '.join(f'ptr {p}' for p in pointers)})")


def _of_argument(m: Matrix, name: str) -> Matrix:
    """Returns a matrix like that one that begins where an argument says."""
    buffer = Buffer(name, m.array.type, m.array.buffer.size, False, None)
    return replace(m, array=replace(m.array, buffer=buffer, offset=0))


def _in_one_piece(k: ArrayEmitter, b: Matrix) -> Matrix:
    """Returns the matrix with the elements of each row side by side, and rows not far apart: copied if they are."""
    if (b.column == 1 or b.columns == 1) and b.row <= BLOCK_COLUMNS:
        return replace(b, column=1)
    view = replace(b.array, shape=(b.rows, b.columns), strides=(b.row, b.column))
    if b.row != 1:
        return Matrix(k.copy(view), b.rows, b.columns, b.columns, 1)
    buffer = k.memory.buffer(view.type, view.size, False)
    copy = Matrix(k.memory.stored(buffer, view.shape, view.dtype), b.rows, b.columns, b.columns, 1)
    call_shared(k, "transpose", _transpose, b, copy)
    return copy


def _transpose(k: ArrayEmitter, source: Matrix, target: Matrix) -> None:
    """Copies a matrix whose columns lie side by side to one whose rows do, in square blocks."""
    lanes = k.b.lanes

    def strips(size: int) -> tuple[int, list[Strip]]:
        whole, left = divmod(size, lanes)
        return whole, [Strip(whole * lanes, 1, left)] if left else []

    (rows, last_row), (columns, last_column) = strips(source.rows), strips(source.columns)

    def block(down: Strip, right: Strip) -> None:
        e = k.b
        width, height = right.count or lanes, down.count or lanes
        vectors = [source.load(k, down, ix.add(e, right.base, j)) for j in range(width)]
        vectors += [vectors[0]] * (lanes - width)
        for i, vector in enumerate(transposed(e, vectors)[:height]):
            target.store(k, ix.add(e, down.base, i), right, vector)

    def along(down: Strip) -> None:
        ix.each(k.b, (columns,), lambda p: block(down, Strip(ix.scale(k.b, p[0], lanes))))  # type: ignore[arg-type]
        for right in last_column:
            block(down, right)

    ix.each(k.b, (rows,), lambda p: along(Strip(ix.scale(k.b, p[0], lanes))))  # type: ignore[arg-type]
    for down in last_row:
        along(down)


def _multiply_deep(k: ArrayEmitter, a: Matrix, b: Matrix, c: Matrix, first: Matrix | None, end: End | None) -> None:
    """Computes each element as the product of a row and a column, both in strips."""
    e = k.b
    whole, left = divmod(a.columns, e.lanes)
    strips = [Strip(v * e.lanes) for v in range(whole)] + ([Strip(whole * e.lanes, 1, left)] if left else [])
    zero = e.splat(e.const(0, c.array.type))

    def column(j: ix.Index) -> None:
        factors = [b.load(k, s, j) for s in strips]

        def element(p: Position) -> None:
            total = zero
            for s, factor in zip(strips, factors, strict=True):
                total = e.fma(a.load(k, p[0], s), factor, total)
            product = across(e, total, lambda _, x, y: e.fadd(x, y))
            begun = product if first is None else e.fadd(product, first.load(k, p[0], j))
            c.store(k, p[0], j, begun if end is None else end.at(k, p[0], j, begun))

        ix.each(e, (a.rows,), element)

    ix.each(e, (b.columns,), lambda p: column(p[0]))


def _multiply_wide(k: ArrayEmitter, a: Matrix, b: Matrix, c: Matrix, first: Matrix | None, end: End | None) -> None:
    """Computes tiles of c = end(first + a b) whose rows lie in strips; `first` may be c."""
    e = k.b
    height, width = tile_size(e.lanes, b.columns)
    panels, rest = divmod(b.columns, width * e.lanes)

    def panel(origin: ix.Index, strips: list[Strip]) -> None:
        columns = [replace(s, base=ix.add(e, origin, s.base)) for s in strips]  # type: ignore[arg-type]

        def tiles(begin: ix.Index, count: int) -> None:
            _tile(k, a, b, c, [ix.add(e, begin, r) for r in range(count)], columns, first, end)

        whole, left = divmod(a.rows, height)
        ix.each(e, (whole,), lambda p: tiles(ix.scale(e, p[0], height), height))
        if left:
            tiles(whole * height, left)

    full = [Strip(v * e.lanes) for v in range(width)]
    ix.each(e, (panels,), lambda p: panel(ix.scale(e, p[0], width * e.lanes), full))
    whole, left = divmod(rest, e.lanes)
    strips = full[:whole] + ([Strip(whole * e.lanes, 1, left)] if left else [])
    if strips:
        panel(panels * width * e.lanes, strips)


def tile_size(lanes: int, columns: int) -> tuple[int, int]:
    """Returns rows and vectors of columns of a tile: what 32 registers hold where vectors are wide, else 16."""
    needed = -(-columns // lanes)
    if lanes >= 16:
        return {1: (14, 1), 2: (12, 2), 3: (8, 3)}.get(needed, (6, 4))
    return {1: (8, 1)}.get(needed, (6, 2))


def _tile(
    k: ArrayEmitter,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    rows: list[ix.Index],
    columns: list[Strip],
    first: Matrix | None,
    end: End | None,
) -> None:
    """Computes one tile of c."""
    e = k.b

    def add(i: ix.Index, now: list[Operand]) -> list[Operand]:
        vectors = [b.load(k, i, s) for s in columns]
        totals = iter(now)
        added = []
        for r in rows:
            factor = e.splat(a.load(k, r, i))
            added += [e.fma(factor, vector, next(totals)) for vector in vectors]
        return added

    def several(i: Operand, now: list[Operand]) -> list[Operand]:
        begin = ix.scale(e, i, UNROLLED)
        for step in range(UNROLLED):
            now = add(ix.add(e, begin, step), now)
        return now

    if first is None:
        now = [e.splat(e.const(0, c.array.type))] * (len(rows) * len(columns))
    else:
        now = [e.splat(first.load(k, r, s)) for r in rows for s in columns]
    whole, left = divmod(a.columns, UNROLLED)
    if whole:
        now = e.for_(int_constant(whole, I64), now, several)
    for i in range(left):
        now = add(whole * UNROLLED + i, now)
    totals = iter(now)
    for r in rows:
        for s in columns:
            total = next(totals)
            c.store(k, r, s, total if end is None else end.at(k, r, s, total))


RULES = {"dot_general": dot_general}
