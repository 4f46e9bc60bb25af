"""Writes what devices do together: threads of one process that meet, and read each other's arrays where they lie.

They meet at a rendezvous, a piece of memory that one of them makes and all get the address of. A device that arrives
shows where its array lies and waits until all have arrived; then each reads all arrays, in the order of the devices, so
that all get the same bits; then all wait once more before anybody writes over what was read. Who leaves last frees it.

    bytes 0 to 7    how many have arrived
    bytes 64 to 71  how often all have arrived
    bytes 128 to 135  how many have left
    from byte 192   the address of each device's array

References:
    Mellor-Crummey and Scott, Algorithms for scalable synchronization on shared-memory multiprocessors, ACM TOCS 9
    (1991), doi:10.1145/103727.103729, section 3.1 (a central barrier).
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from ...codegen.array_emitter import ArrayEmitter
from ...codegen.builder import I32, I64
from ...codegen.emitter import Rule, is_flat
from ...codegen.index import Strip
from ...codegen.memory import Buffer
from ...codegen.operand import Operand, int_constant
from ...codegen.value import Registers, Stored, Value
from ...ir import Graph, GraphSource, GraphSummary, Interface, Op, Var, summarise
from ...lowering.arrays import empty
from ...lowering.reductions import combiner

PHASE, LEFT, ADDRESSES = 64, 128, 192
SPINS = 4000
"""Looks at the rendezvous, a few nanoseconds each, after which a device that waits lets other threads run."""

ARRIVE = f"""\
  %phase.at = getelementptr i8, ptr %rendezvous, i64 {PHASE}
  %phase = load atomic i64, ptr %phase.at acquire, align 8
  %before = atomicrmw add ptr %rendezvous, i64 1 acq_rel, align 8
  %last = icmp eq i64 %before, %others
  br i1 %last, label %open, label %wait
open:
  store atomic i64 0, ptr %rendezvous monotonic, align 8
  %next = add i64 %phase, 1
  store atomic i64 %next, ptr %phase.at release, align 8
  br label %gone
wait:
  %turn = phi i64 [ 0, %entry ], [ %again.turn, %again ], [ {SPINS}, %rest ]
  %now = load atomic i64, ptr %phase.at acquire, align 8
  %moved = icmp ne i64 %now, %phase
  br i1 %moved, label %gone, label %again
again:
  %again.turn = add i64 %turn, 1
  %patient = icmp ult i64 %again.turn, {SPINS}
  br i1 %patient, label %wait, label %rest
rest:
  %yielded = call i32 @kousoku_yield()
  br label %wait
gone:"""

LEAVE = f"""\
  %left.at = getelementptr i8, ptr %rendezvous, i64 {LEFT}
  %before = atomicrmw add ptr %left.at, i64 1 acq_rel, align 8
  %last = icmp eq i64 %before, %others
  br i1 %last, label %free, label %gone
free:
  call void @free(ptr %rendezvous)
  br label %gone
gone:"""


class Rendezvous:
    """A device's part in meeting the others, as IR: `rules` are those of operations that need them.

    Attributes:
        k: writes the kernel.
        device: this one's number, i32.
        pointer: the name of the address of what they share.
        devices: how many there are.
    """

    def __init__(self, k: ArrayEmitter, device: str, words: str, devices: int) -> None:
        """Reads where the devices meet, and which of them this one is.

        Args:
            k: writes the kernel.
            device: the name of the address of this one's number.
            words: of that of the rendezvous' address, as `create` makes it.
            devices: how many there are.
        """
        self.k, self.devices = k, devices
        self.device = k.b.define(I32, False, f"load i32, ptr {device}, align 4")
        address = k.b.define(I64, False, f"load i64, ptr {words}, align 4")
        self.pointer = k.b.define("ptr", False, f"inttoptr i64 {address.text} to ptr").text
        self.rules: dict[str, Rule] = {
            "psum": partial(self.reduce, "sum"),
            "pmax": partial(self.reduce, "max"),
            "pmin": partial(self.reduce, "min"),
            "all_gather": self.all_gather,
            "axis_index": self.axis_index,
        }

    # ---- operations

    def reduce(self, name: str, k: ArrayEmitter, op: Op, x: Value) -> Value:
        """Combines the elements of all devices, place by place."""
        own, target, combine = _contiguous(k, x), empty(k, op, ()), combiner(name, x.dtype)
        arrays = self.exchange(own)

        def strip(at: Strip) -> None:
            total = k.memory.load(arrays[0].buffer, [at])
            for array in arrays[1:]:
                total = combine(k.b, total, k.memory.load(array.buffer, [at]))
            k.memory.store(target.buffer, [at], total)

        k.strips(x.size, strip)
        self.arrive()
        return target

    def all_gather(self, k: ArrayEmitter, op: Op, x: Value) -> Value:
        """Joins the arrays of all devices along the first axis, a new one or theirs."""
        own, target = _contiguous(k, x), empty(k, op, ())
        for device, array in enumerate(self.exchange(own)):
            part = Stored(x.shape, x.dtype, k.memory, target.buffer, device * x.size, array.strides)
            k.memory.copy_block(part, array)
        self.arrive()
        return target

    def axis_index(self, k: ArrayEmitter, op: Op) -> Value:
        """Returns this device's number."""
        return Registers((), np.dtype(np.int32), k.memory, [self.device])

    # ---- meeting

    def arrive(self) -> None:
        """Waits until all devices are here."""
        self.k.b.declarations["kousoku_yield"] = "declare i32 @kousoku_yield()"
        self._call("kousoku_arrive", ARRIVE)

    def leave(self) -> None:
        """Ends this device's part: it will not come again."""
        self.k.b.declarations["free"] = "declare void @free(ptr)"
        self._call("kousoku_leave", LEAVE)

    def _call(self, name: str, text: str) -> None:
        b = self.k.b
        b.function(name, ["ptr %rendezvous", "i64 %others"], lambda: b.lines.append(text))
        b.lines.append(f"  call void @{name}(ptr {self.pointer}, i64 {self.devices - 1})")

    def exchange(self, array: Stored) -> list[Stored]:
        """Returns all devices' arrays like this one, once all are there to be read."""
        b = self.k.b
        place, _ = self.k.memory.address(array.buffer, [array.offset])
        number = b.cast("zext", self.device, I64)
        b.lines.append(f"  store ptr {place}, ptr {self._address_of(number)}, align 8")
        self.arrive()
        return [self._of(device, array) for device in range(self.devices)]

    def _of(self, device: int, array: Stored) -> Stored:
        b = self.k.b
        place = b.define("ptr", False, f"load ptr, ptr {self._address_of(int_constant(device, I64))}, align 8").text
        return self.k.memory.stored(Buffer(place, array.type, array.size, False, None), array.shape, array.dtype)

    def _address_of(self, device: Operand) -> str:
        b = self.k.b
        begin = b.define("ptr", False, f"getelementptr i8, ptr {self.pointer}, i64 {ADDRESSES}").text
        return b.define("ptr", False, f"getelementptr ptr, ptr {begin}, {b.typed(device)}").text


def _contiguous(k: ArrayEmitter, value: Value) -> Stored:
    """Returns the elements in memory, one after the other."""
    stored = k.addressable(k.materialise(value))
    return stored if isinstance(stored, Stored) and is_flat(stored) else k.copy(stored)


def create(k: ArrayEmitter, op: Op, device: Value) -> Value:
    """Makes what devices meet at, on device 0; returns the two words of its address, zeros on others."""
    b, devices = k.b, op.params["meeting"]
    b.declarations["malloc"] = "declare noalias ptr @malloc(i64)"

    def made() -> list[Operand]:
        pointer = b.define("ptr", False, f"call ptr @malloc(i64 {ADDRESSES + 8 * devices})").text
        for offset in (0, PHASE, LEFT):
            place = b.define("ptr", False, f"getelementptr i8, ptr {pointer}, i64 {offset}").text
            b.lines.append(f"  store i64 0, ptr {place}, align 8")
        address = b.define(I64, False, f"ptrtoint ptr {pointer} to i64")
        return [b.cast("trunc", a, I32) for a in (address, b.lshr(address, int_constant(32, I64)))]

    first = b.icmp("eq", device.at(()), int_constant(0, I32))
    words = b.if_(first, made, lambda: [int_constant(0, I32)] * 2, [False, False])
    return Registers((2,), np.dtype(np.uint32), k.memory, words)


class NewRendezvous(GraphSource):
    """The maker of a rendezvous: a graph of a device's number, whose result is the address on device 0.

    Args:
        devices: how many will meet.
    """

    arrays = True

    def __init__(self, devices: int) -> None:
        self.devices = devices

    @cached_property
    def graph(self) -> Graph:
        device, words = Var((), np.dtype(np.int32)), Var((2,), np.dtype(np.uint32))
        return Graph([device], [Op("rendezvous", [device], [words], {"meeting": self.devices})], [words])

    @cached_property
    def summary(self) -> GraphSummary:
        return summarise(self.graph, Interface.of(self.graph))


RULES: dict[str, Rule] = {"rendezvous": create}
"""Those of kernels that meet nobody."""
