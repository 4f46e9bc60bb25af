"""Writes the whole function: lanes in gangs, inputs spread over vectors, results put back.

JAX keeps the elements of one lane side by side; a kernel wants one element of all lanes side by side. So each gang's
inputs are turned on the way in and its results on the way out; how those of many elements are is in `transposition`.
The last gang may be incomplete: the lanes it lacks read what its last lane has, and write nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...codegen import index as ix
from ...codegen.array_emitter import ArrayEmitter
from ...codegen.builder import I1, I8, I32, I64, Builder
from ...codegen.emitter import Emitter
from ...codegen.memory import Buffer, stored_type
from ...codegen.operand import LLVM_TYPES, Operand, element_bytes, int_constant
from ...codegen.value import Registers, Stored, Value
from ...ir import Atom, Graph, Var
from ...llvm.target import Target
from ...lowering import ARRAY_RULES, RULES
from ..backend import InPlace, KernelModule
from .collectives import Rendezvous
from .frame import frame
from .transposition import buffer_to_lanes, lanes_to_buffer

SHUFFLED = 8
NAME = "kousoku_kernel"
MEMORY = "kousoku_kernel_memory"
"""A number of 64 bits beside a kernel's code: the bytes of its buffers, which code that was kept has forgotten."""


def emit_module(
    graph: Graph, lanes: int, batched: Sequence[bool], target: Target, arrays: bool, in_place: InPlace = ()
) -> KernelModule:
    """Writes the function `void (ptr inputs, ptr outputs, i64 begin, i64 end)` for lanes in [begin, end).

    One in which devices meet has one more argument, `ptr rendezvous`.

    Args:
        graph: what one lane does.
        lanes: lanes in a gang; 1 for a single lane, whose inputs all count as shared.
        batched: which inputs have a leading axis of lanes; the others are shared.
        target: the processor, whose attributes the function gets.
        arrays: whether vectors lie along arrays, a lane at a time.
        in_place: each lane's. Code of gangs need not know them: it reads all inputs before it writes.
    """
    if arrays:
        writer: _Entry = _ArrayEntry(graph, batched, ArrayEmitter(Builder(target.lanes), ARRAY_RULES), in_place)
    else:
        emitter = Emitter(Builder(lanes, target.rare_convention), RULES)
        writer = (_ScalarEntry if lanes == 1 else _GangEntry)(graph, batched, emitter)
    body, k = writer.write(), writer.k
    buffers, release = frame(k.memory)
    meets = ", ptr %rendezvous" if graph.devices else ""
    header = f"define void @{NAME}(ptr %inputs, ptr %outputs, i64 %begin, i64 %end{meets}) {target.attributes()} {{"
    function = [header, "entry:", *buffers, *body, *release, "  ret void", "}"]
    beside = [line for lines in k.b.functions.values() for line in lines]
    attributes = [f"attributes #0 = {{ noinline {target.attributes()} }}"] if beside else []
    memory = f"@{MEMORY} = constant i64 {k.memory.bytes}"
    text = "\n".join([memory, *k.b.globals.values(), *k.b.declarations.values(), *beside, *function, *attributes, ""])
    return KernelModule(text, lanes, k.memory.bytes)


class _Entry(ABC):
    """The part that all forms of entry code share."""

    def __init__(self, graph: Graph, batched: Sequence[bool], emitter: Emitter, in_place: InPlace = ()) -> None:
        self.graph, self.batched = graph, batched
        self.k, self.b = emitter, emitter.b
        self.result_in = {result: given for given, result in in_place}

    @abstractmethod
    def write(self) -> list[str]:
        """Returns the function's instructions."""

    def pointer(self, array: str, place: int) -> str:
        """Returns the address of an input or output."""
        b = self.b
        slot = b.define("ptr", False, f"getelementptr ptr, ptr %{array}, i64 {place}")
        return b.define("ptr", False, f"load ptr, ptr {slot.text}").text

    def shared(self, v: Var, pointer: str) -> Value:
        """Returns an input that all lanes share."""
        return self.read(self.outer(v, pointer, "input"))

    def outer(self, v: Atom, pointer: str, region: object) -> Stored:
        """Returns the caller's memory of an input or a result; `region` as of `Buffer`."""
        return self.k.memory.stored(Buffer(pointer, LLVM_TYPES[v.dtype.name], v.size, False, region), v.shape, v.dtype)

    def read(self, stored: Stored) -> Value:
        """Returns an input: small ones are read now, large ones where they lie."""
        if stored.size > self.k.unroll:
            return stored
        elements = [stored.at(p) for p in ix.all_indices(stored.shape)]
        return Registers(stored.shape, stored.dtype, self.k.memory, elements)

    def base(self, pointer: str, first: Operand, size: int, kind: str) -> str:
        """Returns the address of a lane's first element."""
        b = self.b
        offset = b.mul(first, int_constant(size, I64))
        return b.define("ptr", False, f"getelementptr {kind}, ptr {pointer}, i64 {offset.text}").text


class _ScalarEntry(_Entry):
    """Entry code for lanes one after the other, in scalars."""

    def write(self) -> list[str]:
        """Returns the function's instructions."""
        b = self.b
        inputs = [self.pointer("inputs", i) for i in range(len(self.graph.inputs))]
        outputs = [self.pointer("outputs", i) for i in range(len(self.graph.outputs))]

        def lane(carried: list[Operand]) -> list[Operand]:
            self.lane(carried[0], inputs, outputs)
            return [b.add(carried[0], int_constant(1, I64))]

        end = Operand("%end", I64)
        b.while_([Operand("%begin", I64)], lambda c: b.icmp("slt", c[0], end), lane)
        return b.lines

    def lane(self, number: Operand, inputs: list[str], outputs: list[str]) -> None:
        """Writes one lane."""
        own = [
            self.base(p, number, v.size, stored_type(LLVM_TYPES[v.dtype.name])) if batched else p
            for v, p, batched in zip(self.graph.inputs, inputs, self.batched, strict=True)
        ]
        k, overwritten = self.k, self.result_in.values()
        regions = [k.memory.region if i in overwritten else "input" for i in range(len(own))]
        given = [self.outer(*each) for each in zip(self.graph.inputs, own, regions, strict=True)]
        results = k.run(self.graph, [self.read(stored) for stored in given])
        moves: list[tuple[Stored, Value, Operand | None]] = []
        for i, (v, value, pointer) in enumerate(zip(self.graph.outputs, results, outputs, strict=True)):
            if i in self.result_in:
                moves.append((given[self.result_in[i]], value, None))
            else:
                k.write(self.outer(v, self.base(pointer, number, v.size, stored_type(value.type)), "output"), value)
        k.write_all(moves)


class _ArrayEntry(_ScalarEntry):
    """Entry code for lanes one after the other, each in vectors of its arrays' elements.

    Of a graph of several devices it is one lane, and one more input says which device this is.
    """

    k: ArrayEmitter

    def write(self) -> list[str]:
        """Returns the function's instructions."""
        devices, count = self.graph.devices, len(self.graph.inputs)
        if not devices:
            return super().write()
        meeting = Rendezvous(self.k, self.pointer("inputs", count), devices)
        self.k.rules = self.k.rules | meeting.rules
        return super().write()


class _GangEntry(_Entry):
    """Entry code for many lanes, in vectors, a gang at a time."""

    def write(self) -> list[str]:
        """Returns the function's instructions."""
        b, graph = self.b, self.graph
        inputs = [self.pointer("inputs", i) for i in range(len(graph.inputs))]
        outputs = [self.pointer("outputs", i) for i in range(len(graph.outputs))]
        constant = {
            i: self.shared(v, p)
            for i, (v, p, varying) in enumerate(zip(graph.inputs, inputs, self.batched, strict=True))
            if not varying
        }
        begin, end = Operand("%begin", I64), Operand("%end", I64)

        def gang(carried: list[Operand]) -> list[Operand]:
            self.gang(carried[0], end, inputs, outputs, constant)
            return [b.add(carried[0], int_constant(b.lanes, I64))]

        b.while_([begin], lambda c: b.icmp("slt", c[0], end), gang)
        return b.lines

    def gang(
        self, first: Operand, end: Operand, inputs: list[str], outputs: list[str], constant: dict[int, Value]
    ) -> None:
        """Writes one gang of lanes, from `first` on."""
        b, k = self.b, self.k
        count = b.intrinsic("llvm.smin", b.sub(end, first), int_constant(b.lanes, I64))
        self.full = b.icmp("eq", count, int_constant(b.lanes, I64))
        self.count = b.cast("trunc", count, I32)
        k.present = b.icmp("slt", k.memory.lane_numbers(), self.count)
        self.lane = b.intrinsic("llvm.umin", k.memory.lane_numbers(), b.sub(self.count, int_constant(1, I32)))
        varying = {i: v for i, v in enumerate(self.graph.inputs) if i not in constant}
        small = {i: v for i, v in varying.items() if v.size <= SHUFFLED}
        args = constant | self.load_small(small, inputs, first)
        args |= {i: self.load_large(v, inputs[i], first) for i, v in varying.items() if i not in small}
        results = k.run(self.graph, [args[i] for i in range(len(self.graph.inputs))])
        self.store_all(results, outputs, first)

    # ---- in

    def load_small(self, inputs: dict[int, Var], pointers: list[str], first: Operand) -> dict[int, Value]:
        """Loads inputs of few elements into registers."""
        b = self.b
        bases = {i: self.base(pointers[i], first, v.size, self.kind(v)) for i, v in inputs.items()}

        def complete() -> list[Operand]:
            return [e for i, v in inputs.items() for e in self.load_rows(v, bases[i])]

        def incomplete() -> list[Operand]:
            return [
                self.load_strided(self.kind(v), bases[i], v.size, e) for i, v in inputs.items() for e in range(v.size)
            ]

        flat = b.if_(self.full, complete, incomplete, [True] * sum(v.size for v in inputs.values()))
        values: dict[int, Value] = {}
        at = 0
        for i, v in inputs.items():
            elements = [self.as_value(e, v) for e in flat[at : at + v.size]]
            values[i] = Registers(v.shape, v.dtype, self.k.memory, elements)
            at += v.size
        return values

    def load_rows(self, v: Var, base: str) -> list[Operand]:
        """Loads the elements of a complete gang: whole vectors, turned by shuffles."""
        b, kind, n = self.b, self.kind(v), v.size
        if n == 0:
            return []
        total = n * b.lanes
        block = b.define(kind, True, f"load <{total} x {kind}>, ptr {base}, align {element_bytes(kind)}")
        if n == 1:
            return [block]
        return [
            b.define(
                kind,
                True,
                f"shufflevector <{total} x {kind}> {block.text}, <{total} x {kind}> poison, "
                f"<{b.lanes} x i32> <{', '.join(f'i32 {lane * n + e}' for lane in range(b.lanes))}>",
            )
            for e in range(n)
        ]

    def load_strided(self, kind: str, base: str, size: int, element: ix.Index) -> Operand:
        """Loads one element of every lane, one by one."""
        own = self.strided(size)
        pointer = base
        if element != 0:
            offset = self.b.typed(ix.operand(ix.as_lanes(self.b, element)))
            pointer = self.b.define("ptr", False, f"getelementptr {kind}, ptr {base}, {offset}").text
        return self.k.memory.gather(kind, pointer, own, padded=False)

    def strided(self, size: int) -> Operand:
        """Returns where each lane's elements begin."""
        return self.b.mul(self.lane, int_constant(size, I32))

    def load_large(self, v: Var, pointer: str, first: Operand) -> Value:
        """Loads an input of many elements into a buffer, and from there into registers where it is to be in these."""
        k, kind = self.k, self.kind(v)
        base = self.base(pointer, first, v.size, kind)
        buffer = k.memory.buffer(LLVM_TYPES[v.dtype.name], v.size, True)
        value = k.memory.stored(buffer, v.shape, v.dtype)

        def complete() -> list[Operand]:
            lanes_to_buffer(self.b, kind, base, buffer.text, v.size)
            return []

        def body(p: tuple[ix.Index, ...]) -> None:
            element = self.load_strided(kind, base, v.size, p[0])
            k.memory.store(buffer, list(p), self.as_value(element, v))

        def incomplete() -> list[Operand]:
            ix.each(self.b, (v.size,), body)
            return []

        self.b.if_(self.full, complete, incomplete, [])
        if v.size > k.unroll:
            return value
        return Registers(v.shape, v.dtype, k.memory, [value.at(p) for p in ix.all_indices(v.shape)])

    def as_value(self, element: Operand, v: Var) -> Operand:
        """Returns a loaded element as the kernel computes with it: booleans as bits."""
        return self.b.icmp("ne", element, int_constant(0, I8)) if v.dtype.kind == "b" else element

    @staticmethod
    def kind(v: Var) -> str:
        """Returns the element's type in memory."""
        return stored_type(LLVM_TYPES[v.dtype.name])

    # ---- out

    def store_all(self, results: list[Value], pointers: list[str], first: Operand) -> None:
        """Writes the results of the lanes that exist."""
        b = self.b
        bases = [self.base(p, first, v.size, stored_type(v.type)) for v, p in zip(results, pointers, strict=True)]
        large = [(v, base) for v, base in zip(results, bases, strict=True) if v.size > SHUFFLED]
        small = [
            ([self.in_memory(v.at(p)) for p in ix.all_indices(v.shape)], base)
            for v, base in zip(results, bases, strict=True)
            if v.size <= SHUFFLED
        ]
        for value, base in large:
            self.store_large(value, base)

        def complete() -> list[Operand]:
            for elements, base in small:
                self.store_rows(elements, base)
            return []

        def incomplete() -> list[Operand]:
            for elements, base in small:
                for e, element in enumerate(elements):
                    self.store_strided(element, base, len(elements), e)
            return []

        b.if_(self.full, complete, incomplete, [])

    def in_memory(self, element: Operand) -> Operand:
        """Returns an element as memory holds it, in every lane."""
        element = self.b.cast("zext", element, I8) if element.type == I1 else element
        return self.b.splat(element)

    def store_rows(self, elements: list[Operand], base: str) -> None:
        """Writes the elements of a complete gang: vectors, turned by shuffles."""
        b, n = self.b, len(elements)
        if n == 0:
            return
        kind = elements[0].type
        block, width, order = self.concatenated(elements)
        if n > 1:
            mask = ", ".join(f"i32 {order[e] * b.lanes + lane}" for lane in range(b.lanes) for e in range(n))
            block = b.define(
                kind,
                True,
                f"shufflevector <{width} x {kind}> {block.text}, <{width} x {kind}> poison, "
                f"<{n * b.lanes} x i32> <{mask}>",
            )
        b.lines.append(f"  store <{n * b.lanes} x {kind}> {block.text}, ptr {base}, align {element_bytes(kind)}")

    def concatenated(self, elements: list[Operand]) -> tuple[Operand, int, list[int]]:
        """Returns vectors side by side in one: it, its length, and where each one went."""
        b, kind = self.b, elements[0].type
        count = 1 << (len(elements) - 1).bit_length()
        parts = [*elements, *[elements[-1]] * (count - len(elements))]
        width = b.lanes
        while len(parts) > 1:
            mask = ", ".join(f"i32 {i}" for i in range(2 * width))
            parts = [
                b.define(
                    kind,
                    True,
                    f"shufflevector <{width} x {kind}> {b.ref(x, True)}, <{width} x {kind}> {b.ref(y, True)}, "
                    f"<{2 * width} x i32> <{mask}>",
                )
                for x, y in zip(parts[::2], parts[1::2], strict=True)
            ]
            width *= 2
        return parts[0], width, list(range(len(elements)))

    def store_strided(self, element: Operand, base: str, size: int, place: ix.Index) -> None:
        """Writes one element of every lane that exists, one by one."""
        kind, pointer = element.type, base
        if place != 0:
            offset = self.b.typed(ix.operand(ix.as_lanes(self.b, place)))
            pointer = self.b.define("ptr", False, f"getelementptr {kind}, ptr {base}, {offset}").text
        self.k.memory.scatter(kind, pointer, self.strided(size), element, self.k.present)

    def store_large(self, value: Value, base: str) -> None:
        """Writes a result of many elements."""
        k = self.k
        stored = k.addressable(k.materialise(value))
        if isinstance(stored, Stored) and stored.buffer.varying and not stored.whole:
            stored = k.copy(stored)
        strides = ix.strides_of(value.shape)

        def body(p: tuple[ix.Index, ...]) -> None:
            flat: ix.Index = 0
            for i, stride in zip(p, strides, strict=True):
                flat = ix.add(self.b, flat, ix.scale(self.b, i, stride))
            self.store_strided(self.in_memory(stored.at(p)), base, value.size, flat)

        def one_by_one() -> list[Operand]:
            ix.each(self.b, value.shape, body)
            return []

        if not isinstance(stored, Stored) or not stored.buffer.varying:
            one_by_one()
            return
        kind, text = stored_type(value.type), stored.buffer.text

        def complete() -> list[Operand]:
            buffer_to_lanes(self.b, kind, text, base, value.size)
            return []

        self.b.if_(self.full, complete, one_by_one, [])
