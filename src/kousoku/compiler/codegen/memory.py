"""Lays out a kernel's memory: buffers, constant tables, loads and stores.

A varying buffer holds element k of all lanes side by side: lane l of element k lies at k * lanes + l. Booleans are
bytes.
Where each lane reads at a position of its own, the elements are gathered; where the position is shared, one vector is
loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from . import index as ix
from .builder import I1, I8, I32, SHORT, Builder
from .index import Block, Index, Strip
from .operand import Operand, element_bytes, int_constant
from .value import Constant, Position, Registers, Stored, Value
from .vectors import first_lanes, load_vector, repeated, store_vector, tiled

ALIGN = 64
PICK_BY_SELECT = 8


def stored_type(type: str) -> str:
    """Returns the type in memory: booleans are bytes."""
    return I8 if type == I1 else type


class Buffer:
    """A piece of memory.

    Attributes:
        text: the pointer's name.
        type: LLVM type of the elements, as values.
        size: number of elements of one lane.
        varying: whether it holds them for each lane.
        region: the loop body or branch that it was made in, which alone may overwrite it; None for what nobody may.
        taken: bytes of the memory that it has taken from its home.
    """

    def __init__(
        self, text: str, type: str, size: int, varying: bool, region: object, home: KernelMemory | None = None
    ) -> None:
        self.text, self.type, self.size, self.varying, self.region, self.home = text, type, size, varying, region, home
        self.taken = 0

    def __del__(self) -> None:
        if self.home is not None:
            self.home.free(self)


class KernelMemory:
    """A kernel's buffers and tables, and what reads and writes them.

    Attributes:
        b: the builder.
        lanes: of a varying buffer; the builder has more while it writes what is done to a block of elements.
        region: the loop body or branch that is being written.
        bytes: what the buffers take.
    """

    def __init__(self, builder: Builder) -> None:
        self.b = builder
        self.lanes = builder.lanes
        self.region: object = object()
        self.bytes = 0
        self.slots: list[tuple[str, int]] = []
        self.unused: dict[int, list[str]] = {}
        self.tables: dict[object, Stored] = {}

    # ---- buffers

    def buffer(self, type: str, size: int, varying: bool) -> Buffer:
        """Returns a new buffer; what it holds is undefined."""
        lanes = self.lanes if varying else 1
        need = max(size, 1) * lanes * element_bytes(type) + 4
        need = -(-need // ALIGN) * ALIGN
        free = self.unused.get(need)
        if free:
            text = free.pop()
        else:
            text = f"%slot{len(self.slots)}"
            self.slots.append((text, need))
            self.bytes += need
        buffer = Buffer(text, type, size, varying, self.region, self)
        buffer.taken = need
        return buffer

    def free(self, buffer: Buffer) -> None:
        """Gives a buffer's memory back, to be used again."""
        self.unused.setdefault(buffer.taken, []).append(buffer.text)

    def stored(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype) -> Stored:
        """Returns the whole buffer as an array."""
        return Stored(shape, dtype, self, buffer, 0, ix.strides_of(shape))

    def table(self, array: np.ndarray) -> Stored:
        """Returns a constant array in memory, shared by all lanes."""
        identity = (array.dtype, array.shape, array.tobytes())
        if identity not in self.tables:
            plain = Constant(array.shape, array.dtype, self, array)
            name = f"@table{len(self.tables)}"
            kind = stored_type(plain.type)
            raw = array.astype(np.uint8) if plain.type == I1 else array
            body = "".join(f"\\{byte:02X}" for byte in raw.tobytes() + bytes(4))
            self.b.globals[name] = f'{name} = private constant [{raw.nbytes + 4} x i8] c"{body}", align {ALIGN}'
            buffer = Buffer(name, plain.type, array.size, False, None)
            self.tables[identity] = Stored(array.shape, array.dtype, self, buffer, 0, ix.strides_of(array.shape))
            assert kind
        return self.tables[identity]

    # ---- loads and stores

    def address(self, buffer: Buffer, terms: Sequence[Index]) -> tuple[str, Operand | Strip | None]:
        """Returns where an element lies, or a block's first: a pointer that all lanes share, and each lane's further
        elements, if they differ: a strip from 0 where they are evenly spaced.
        """
        b, kind = self.b, stored_type(buffer.type)
        lanes = self.lanes if buffer.varying else 1
        shared: Index = 0
        own: Index = 0
        strip: Strip | None = None
        for term in terms:
            if isinstance(term, Block):
                shared = ix.add(b, shared, term.base)
            elif isinstance(term, Strip):
                shared = ix.add(b, shared, term.base)
                strip = replace(term, base=0, step=term.step + (strip.step if strip else 0))
            elif isinstance(term, Operand) and term.varying:
                own = ix.add(b, own, term)
            else:
                shared = ix.add(b, shared, term)
        shared = ix.scale(b, shared, lanes)
        pointer = buffer.text
        if shared != 0:
            pointer = b.define("ptr", False, f"getelementptr {kind}, ptr {pointer}, {b.typed(ix.operand(shared))}").text  # type: ignore[arg-type]
        if own == 0:
            return pointer, strip if strip is not None and strip.step else None
        if strip is not None:
            own = ix.add(b, own, ix.as_lanes(b, strip))
        own = ix.scale(b, own, lanes)
        if buffer.varying and lanes > 1:
            own = b.add(own, self.lane_numbers())  # type: ignore[arg-type]
        return pointer, ix.operand(own, varying=True)  # type: ignore[arg-type]

    def lane_numbers(self) -> Operand:
        """Returns 0, 1, 2, ... over the lanes, i32."""
        return Operand("<" + ", ".join(f"i32 {i}" for i in range(self.b.lanes)) + ">", I32, True)

    def load(self, buffer: Buffer, terms: Sequence[Index]) -> Operand:
        """Returns the element there."""
        b, kind = self.b, stored_type(buffer.type)
        if b.lanes != self.lanes:
            return self._load_block(buffer, terms)
        pointer, own = self.address(buffer, terms)
        if own is None:
            loaded = b.define(
                kind,
                buffer.varying,
                f"load {b.type_of(kind, buffer.varying)}, ptr {pointer}, align {self.align(buffer, kind)}",
            )
        elif isinstance(own, Strip):
            loaded = self.load_strip(kind, pointer, own)
        elif b.lanes == 1:
            place = b.define("ptr", False, f"getelementptr {kind}, ptr {pointer}, {b.typed(own)}")
            loaded = b.define(kind, True, f"load {kind}, ptr {place.text}, align {element_bytes(kind)}")
        else:
            loaded = self.gather(kind, pointer, own, padded=buffer.home is not None or buffer.region is None)
        return b.icmp("ne", loaded, int_constant(0, I8)) if buffer.type == I1 else loaded

    def _load_block(self, buffer: Buffer, terms: Sequence[Index]) -> Operand:
        """Returns the elements of a block, for all lanes; where an array has one element, that one for each of them."""
        b, kind, count = self.b, stored_type(buffer.type), self.b.lanes // self.lanes
        if not any(isinstance(term, Block) for term in terms):
            with b.of_lanes(self.lanes):
                single = self.load(buffer, terms)
            return self.for_block(single)
        pointer, _ = self.address(buffer, terms)
        if buffer.varying:
            loaded = b.define(
                kind, True, f"load {b.type_of(kind, True)}, ptr {pointer}, align {self.align(buffer, kind)}"
            )
        else:
            each = f"<{count} x {kind}>"
            few = b.define(kind, False, f"load {each}, ptr {pointer}, align {element_bytes(kind)}")
            loaded = repeated(b, f"{each} {few.text}", kind, count, self.lanes)
        return b.icmp("ne", loaded, int_constant(0, I8)) if buffer.type == I1 else loaded

    def for_block(self, operand: Operand) -> Operand:
        """Returns what a lane has, for each element of the block that is being written, if one is."""
        count = self.b.lanes // self.lanes
        return operand if count == 1 or not operand.varying else tiled(self.b, operand, self.lanes, count)

    def load_strip(self, kind: str, pointer: str, strip: Strip) -> Operand:
        """Reads evenly spaced elements from `pointer` on: a vector where they lie side by side. Zeros where there
        is no lane.
        """
        b = self.b
        if strip.step != 1:
            return self.gather(kind, pointer, ix.as_lanes(b, strip), False, self._of_strip(strip))  # type: ignore[arg-type]
        return load_vector(b, kind, pointer, strip.count)

    def store_strip(self, kind: str, pointer: str, strip: Strip, value: Operand) -> None:
        """Writes evenly spaced elements from `pointer` on, as `load_strip` reads them."""
        b = self.b
        if strip.step != 1:
            self.scatter(kind, pointer, ix.as_lanes(b, strip), value, self._of_strip(strip))  # type: ignore[arg-type]
            return
        store_vector(b, kind, pointer, value, strip.count)

    def _of_strip(self, strip: Strip) -> Operand | None:
        """Returns the mask of a strip's lanes; None for all."""
        return None if strip.count is None else first_lanes(self.b, strip.count)

    def align(self, buffer: Buffer, kind: str) -> int:
        """Returns what is known of an element's address."""
        return element_bytes(kind) * (self.lanes & -self.lanes) if buffer.varying else element_bytes(kind)

    def gather(self, kind: str, pointer: str, own: Operand, padded: bool, mask: Operand | None = None) -> Operand:
        """Reads each lane's element at `pointer` + `own`. Narrow integers are read as words where that is safe."""
        b = self.b
        loaded_kind = I32 if kind in ("i8", "i16") and padded else kind
        places = b.define("ptr", True, f"getelementptr {kind}, ptr {pointer}, {b.typed(own)}")
        vector = b.type_of(loaded_kind, True)
        short = SHORT.get(loaded_kind, loaded_kind)
        name = f"llvm.masked.gather.v{b.lanes}{short}.v{b.lanes}p0"
        pointers, bits = f"<{b.lanes} x ptr>", f"<{b.lanes} x i1>"
        b.declarations[name] = f"declare {vector} @{name}({pointers}, i32, {bits}, {vector})"
        on = "splat (i1 true)" if mask is None else b.ref(mask, True)
        align = element_bytes(kind)
        loaded = b.define(
            loaded_kind,
            True,
            f"call {vector} @{name}({pointers} {places.text}, i32 {align}, {bits} {on}, {vector} zeroinitializer)",
        )
        return b.cast("trunc", loaded, kind) if loaded_kind != kind else loaded

    def store(self, buffer: Buffer, terms: Sequence[Index], value: Operand, mask: Operand | None = None) -> None:
        """Writes an element, in the lanes of `mask` if that is given."""
        b, kind = self.b, stored_type(buffer.type)
        value = b.cast("zext", value, I8) if buffer.type == I1 else value
        mask = mask and self.for_block(mask)
        pointer, own = self.address(buffer, terms)
        if isinstance(own, Strip):
            assert mask is None, "strips have masks of their own"
            self.store_strip(kind, pointer, own, value)
            return
        if not buffer.varying and own is None:
            own_to_lanes = value.varying or (mask is not None and mask.varying)
            assert not own_to_lanes or b.lanes == 1, "a lane's own element cannot be stored where all lanes share it"
        if own is not None:
            self.scatter(kind, pointer, own, value, mask)
        elif mask is None:
            b.lines.append(f"  store {b.typed(value, buffer.varying)}, ptr {pointer}, align {self.align(buffer, kind)}")
        elif not buffer.varying or b.lanes == 1:
            old = b.define(kind, False, f"load {kind}, ptr {pointer}")
            b.lines.append(f"  store {b.typed(b.select(mask, value, old))}, ptr {pointer}")
        else:
            vector, align = b.type_of(kind, True), self.align(buffer, kind)
            old = b.define(kind, True, f"load {vector}, ptr {pointer}, align {align}")
            b.lines.append(f"  store {b.typed(b.select(mask, value, old), True)}, ptr {pointer}, align {align}")

    def scatter(self, kind: str, pointer: str, own: Operand, value: Operand, mask: Operand | None) -> None:
        """Writes each lane's element at `pointer` + `own`."""
        b = self.b
        places = b.define("ptr", True, f"getelementptr {kind}, ptr {pointer}, {b.typed(own, True)}")
        if b.lanes == 1:
            if mask is not None:
                old = b.define(kind, True, f"load {kind}, ptr {places.text}")
                value = b.select(mask, value, old)
            b.lines.append(f"  store {b.typed(value, True)}, ptr {places.text}, align {element_bytes(kind)}")
            return
        vector = b.type_of(kind, True)
        short = SHORT.get(kind, kind)
        name = f"llvm.masked.scatter.v{b.lanes}{short}.v{b.lanes}p0"
        pointers, bits = f"<{b.lanes} x ptr>", f"<{b.lanes} x i1>"
        b.declarations[name] = f"declare void @{name}({vector}, {pointers}, i32, {bits})"
        on = "splat (i1 true)" if mask is None else b.ref(mask, True)
        given = f"{b.typed(value, True)}, {pointers} {places.text}, i32 {element_bytes(kind)}, {bits} {on}"
        b.lines.append(f"  call void @{name}({given})")

    # ---- registers at a position that is not known

    def pick(self, value: Registers, position: Position) -> Operand:
        """Returns an element of registers: a chain of selections, or through memory where there are many."""
        b = self.b
        if len(value.elements) > PICK_BY_SELECT:
            return self.spill(value).at(position)
        place = ix.operand(ix.as_lanes(b, ix.flat(b, position, ix.strides_of(value.shape))))
        chosen = value.elements[-1]
        for k in range(len(value.elements) - 2, -1, -1):
            chosen = b.select(b.icmp("eq", place, int_constant(k, place.type)), value.elements[k], chosen)
        return chosen

    def spill(self, value: Value) -> Stored:
        """Copies to memory."""
        if isinstance(value, Constant):
            return self.table(value.array)
        if isinstance(value, Stored):
            return value
        assert isinstance(value, Registers)
        varying = any(e.varying for e in value.elements) and self.b.lanes > 1
        buffer = self.buffer(value.type, value.size, varying)
        for k, element in enumerate(value.elements):
            self.store(buffer, [k], element)
        return self.stored(buffer, value.shape, value.dtype)


def size_of(shape: Sequence[int]) -> int:
    """Returns the number of elements."""
    return math.prod(shape)
