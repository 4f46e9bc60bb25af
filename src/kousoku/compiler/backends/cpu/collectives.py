"""Writes what devices do together: threads of one process that meet, and read each other's arrays where they lie.

They meet at a rendezvous, a piece of memory that the handler gives all of them once they are here. A device that
arrives shows where its array lies and waits until all have arrived; then each reads all arrays, in the order of the
devices, so that all get the same bits; then all wait once more before anybody writes over what was read.

    bytes 0 to 7    how many have arrived
    bytes 64 to 71  how often all have arrived
    bytes 128 to 191  the handler's
    from byte 192   the address of each device's array, or of the list of them, of several

References:
    Mellor-Crummey and Scott, Algorithms for scalable synchronization on shared-memory multiprocessors, ACM TOCS 9
    (1991), doi:10.1145/103727.103729, section 3.1 (a central barrier).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...codegen.array_emitter import ArrayEmitter
from ...codegen.builder import I32, I64
from ...codegen.emitter import Rule, is_flat
from ...codegen.index import Strip
from ...codegen.memory import Buffer
from ...codegen.operand import Operand, int_constant
from ...codegen.value import Registers, Stored, Value
from ...ir import Op
from ...lowering.arrays import empty
from ...lowering.reductions import combiner

PHASE, ADDRESSES = 64, 192
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


class Rendezvous:
    """A device's part in meeting the others, as IR: `rules` are those of operations that need them.

    Attributes:
        k: writes the kernel.
        device: this one's number, i32.
        devices: how many there are.
        tables: lists of addresses, by their lengths. Nobody reads them after the second meeting of an operation.
    """

    def __init__(self, k: ArrayEmitter, device: str, devices: int) -> None:
        """Reads which device this one is.

        Args:
            k: writes the kernel, which has its rendezvous for an argument.
            device: the name of the address of this one's number.
            devices: how many there are.
        """
        self.k, self.devices = k, devices
        self.tables: dict[int, Buffer] = {}
        self.device = k.b.define(I32, False, f"load i32, ptr {device}, align 4")
        self.rules: dict[str, Rule] = {
            "psum": partial(self.reduce, "sum"),
            "pmax": partial(self.reduce, "max"),
            "pmin": partial(self.reduce, "min"),
            "all_gather": self.all_gather,
            "axis_index": self.axis_index,
        }

    # ---- operations

    def reduce(self, name: str, k: ArrayEmitter, op: Op, *parts: Value) -> Value:
        """Combines the elements of all devices, place by place; of several arrays, joined to one vector."""
        owns, target = [_contiguous(k, part) for part in parts], empty(k, op, ())
        combine, begin = combiner(name, target.dtype), 0
        for arrays in self.exchange(owns):

            def strip(at: Strip, arrays: Sequence[Stored] = arrays, begin: int = begin) -> None:
                total = k.memory.load(arrays[0].buffer, [at])
                for array in arrays[1:]:
                    total = combine(k.b, total, k.memory.load(array.buffer, [at]))
                k.memory.store(target.buffer, [begin, at], total)

            k.strips(arrays[0].size, strip)
            begin += arrays[0].size
        self.arrive()
        return target

    def all_gather(self, k: ArrayEmitter, op: Op, x: Value) -> Value:
        """Joins the arrays of all devices along the first axis, a new one or theirs."""
        own, target = _contiguous(k, x), empty(k, op, ())
        for device, array in enumerate(self.exchange([own])[0]):
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
        b = self.k.b
        b.declarations["kousoku_yield"] = "declare i32 @kousoku_yield()"
        b.function("kousoku_arrive", ["ptr %rendezvous", "i64 %others"], lambda: b.lines.append(ARRIVE))
        b.lines.append(f"  call void @kousoku_arrive(ptr %rendezvous, i64 {self.devices - 1})")

    def exchange(self, arrays: Sequence[Stored]) -> list[list[Stored]]:
        """Returns all devices' arrays like each of these, once all are there to be read."""
        b, places = self.k.b, [self._place(array) for array in arrays]
        shown = places[0] if len(places) == 1 else self._table(places)
        number = b.cast("zext", self.device, I64)
        b.lines.append(f"  store ptr {shown}, ptr {self._entry('%rendezvous', ADDRESSES, number)}, align 8")
        self.arrive()
        begins = [self._load("%rendezvous", ADDRESSES, device) for device in range(self.devices)]
        if len(arrays) == 1:
            return [[self._like(arrays[0], begin) for begin in begins]]
        return [[self._like(array, self._load(begin, 0, n)) for begin in begins] for n, array in enumerate(arrays)]

    def _place(self, array: Stored) -> str:
        return self.k.memory.address(array.buffer, [array.offset])[0]

    def _table(self, places: Sequence[str]) -> str:
        """Returns where the addresses of several arrays lie, one after the other."""
        if len(places) not in self.tables:
            self.tables[len(places)] = self.k.memory.buffer(I64, len(places), False)
        begin, _ = self.k.memory.address(self.tables[len(places)], [0])
        for n, place in enumerate(places):
            entry = self._entry(begin, 0, int_constant(n, I64))
            self.k.b.lines.append(f"  store ptr {place}, ptr {entry}, align 8")
        return begin

    def _load(self, begin: str, offset: int, number: int) -> str:
        entry = self._entry(begin, offset, int_constant(number, I64))
        return self.k.b.define("ptr", False, f"load ptr, ptr {entry}, align 8").text

    def _entry(self, begin: str, offset: int, number: Operand) -> str:
        """Returns where the address with this number lies in a list of them, `offset` bytes from `begin`."""
        b = self.k.b
        first = b.define("ptr", False, f"getelementptr i8, ptr {begin}, i64 {offset}").text
        return b.define("ptr", False, f"getelementptr ptr, ptr {first}, {b.typed(number)}").text

    def _like(self, array: Stored, place: str) -> Stored:
        return self.k.memory.stored(Buffer(place, array.type, array.size, False, None), array.shape, array.dtype)


def _contiguous(k: ArrayEmitter, value: Value) -> Stored:
    """Returns the elements in memory, one after the other."""
    stored = k.addressable(k.materialise(value))
    return stored if isinstance(stored, Stored) and is_flat(stored) else k.copy(stored)
