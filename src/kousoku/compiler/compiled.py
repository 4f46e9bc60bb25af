"""Compiled kernels: made once, shared by all who need the same, freed with the last of them."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from .assemble import NAME, assemble
from .machine.build import build
from .machine.code import Loaded
from .machine.object_cache import compiler_version
from .machine.target import Target, host
from .program import Program, digest
from .runtime.table import BROKEN, FREE, runtime

GRAIN_NANOSECONDS = 8000
LOOP_GUESS = 16


class Compiled:
    """A kernel, known to the handler as long as this object lives.

    Attributes:
        number: what it is called by.
        lanes: lanes in a group.
        checked: set when LLVM has read and checked the program, or has refused it.
        broken: whether there is no code and never will be.
    """

    def __init__(self, number: int, lanes: int, grain: int, batched: bool) -> None:
        self.number, self.lanes = number, lanes
        self.checked, self.broken = threading.Event(), False
        self._code: list[Loaded] = []
        table = runtime().table
        self._record = table.add(number, lanes, grain, batched)
        weakref.finalize(self, table.remove, self._record, self._code).atexit = False

    def load(self, code: bytes) -> None:
        """Give it its machine code, which calls wait for."""
        loaded = Loaded(code, [NAME])
        self._code.append(loaded)
        self._record.function = loaded.address(NAME)
        self.checked.set()

    def give_up(self) -> None:
        """There will be no code: nobody finds it any more, and calls of those who hold it fail."""
        self._record.number = FREE
        _alive.pop(self.number, None)
        self.broken = True
        self._record.function = BROKEN
        self.checked.set()


@dataclass(frozen=True)
class Wanted:
    """All that a kernel depends on.

    Attributes:
        program: what it does.
        lanes: in a group.
        batched: which inputs have an axis of lanes.
        has_axis: whether there is one at all.
        target: the processor.
    """

    program: Program
    lanes: int
    batched: tuple[bool, ...]
    has_axis: bool
    target: Target

    @cached_property
    def key(self) -> str:
        """The hash of it, in hexadecimal digits."""
        sha = hashlib.sha256(digest(self.program))
        sha.update(repr((compiler_version(), self.target, self.lanes, self.batched, self.has_axis)).encode())
        return sha.hexdigest()

    @property
    def number(self) -> int:
        """63 bits of the key."""
        return max(int(self.key[:16], 16) >> 1, FREE + 1)

    def empty(self) -> Compiled:
        """The kernel, yet without code."""
        grain = self.lanes * max(1, GRAIN_NANOSECONDS // max(1, cost(self.program)))
        return Compiled(self.number, self.lanes, grain, self.has_axis)

    def code(self, checked: Callable[[], None] | None = None) -> bytes:
        """Machine code; see `build`.

        Raises:
            Unsupported: if there is no rule for something in it.
        """
        text = partial(assemble, self.program, self.lanes, self.batched, self.target)
        return build(self.key, lambda: text().text, self.target, checked)


_alive: weakref.WeakValueDictionary[int, Compiled] = weakref.WeakValueDictionary()
_turns: weakref.WeakValueDictionary[int, threading.Lock] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def compiled(program: Program, count: int, batched: tuple[bool, ...], has_axis: bool) -> Compiled:
    """The kernel of a program for `count` lanes. What `begin` has begun is checked, and may still be without code.

    Raises:
        Unsupported: if there is no rule for something in it.
    """
    wanted = _wanted(program, count, batched, has_axis)
    while True:
        with _turn(wanted.number):
            found = _alive.get(wanted.number)
            if found is None:
                code = wanted.code()
                found = _alive[wanted.number] = wanted.empty()
                found.load(code)
                return found
        found.checked.wait()
        if not found.broken:
            return found


def begin(program: Program, count: int, batched: tuple[bool, ...], name: str) -> Compiled:
    """A kernel that a thread compiles. Programs that call it are compiled meanwhile; when they run, they wait for it.

    Where LLVM refuses it, whoever asks for it by `compiled` meets the error.

    Args:
        program, count, batched: as for `compiled`; there is an axis of lanes.
        name: the thread's.
    """
    wanted = _wanted(program, count, batched, True)
    with _turn(wanted.number):
        found = _alive.get(wanted.number)
        if found is None:
            found = _alive[wanted.number] = wanted.empty()
            try:
                threading.Thread(target=_finish, args=(found, wanted), name=name, daemon=False).start()
            except BaseException:
                found.give_up()
                raise
        return found


def _finish(begun: Compiled, wanted: Wanted) -> None:
    try:
        begun.load(wanted.code(begun.checked.set))
    except BaseException:
        relied_on = begun.checked.is_set()
        begun.give_up()
        if relied_on:
            raise


def _wanted(program: Program, count: int, batched: tuple[bool, ...], has_axis: bool) -> Wanted:
    target = host()
    return Wanted(program, group_size(count, target), batched, has_axis, target)


def _turn(number: int) -> threading.Lock:
    """A lock for each kernel: none is made twice, and none waits for another."""
    with _lock:
        return _turns.setdefault(number, threading.Lock())


def group_size(count: int, target: Target) -> int:
    """Lanes in a group: one for a single lane, at most what fits the registers."""
    if count == 1:
        return 1
    return min(max(4, 1 << (count - 1).bit_length()), target.lanes)


def cost(program: Program) -> int:
    """A guess of the nanoseconds that one group takes."""
    total = 0
    for op in program.ops:
        times = {"scan": op.params.get("length", 1), "while": LOOP_GUESS}.get(op.name, 1)
        inner = sum(cost(p) for p in op.programs())
        total += times * inner + sum(v.size for v in op.outputs) * (40 if op.name == "threefry2x32" else 1)
    return max(1, total // 2)
