"""Compiled kernels: made once, shared by all who need the same, freed with the last of them."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..backends.cpu.entry import NAME, assemble
from ..backends.cpu.ffi import BROKEN, FREE, runtime
from ..ir import Source
from ..llvm.compile import Loaded
from ..llvm.target import Target, host
from ..no_gc import without_collection
from .build import build, is_kept
from .object_cache import compiler_version

GRAIN_NANOSECONDS = 8000


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
        source: of what it does.
        lanes: in a group.
        batched: which inputs have an axis of lanes.
        has_axis: whether there is one at all.
        target: the processor.
    """

    source: Source
    lanes: int
    batched: tuple[bool, ...]
    has_axis: bool
    target: Target

    @cached_property
    def key(self) -> str:
        """The hash of it, in hexadecimal digits."""
        sha = hashlib.sha256(self.source.summary.digest)
        sha.update(repr((compiler_version(), self.target, self.lanes, self.batched, self.has_axis)).encode())
        return sha.hexdigest()

    @property
    def number(self) -> int:
        """63 bits of the key."""
        return max(int(self.key[:16], 16) >> 1, FREE + 1)

    def empty(self) -> Compiled:
        """The kernel, yet without code."""
        grain = self.lanes * max(1, GRAIN_NANOSECONDS // self.source.summary.nanoseconds)
        return Compiled(self.number, self.lanes, grain, self.has_axis)

    def code(self, checked: Callable[[], None] | None = None) -> bytes:
        """Machine code; see `build`.

        Raises:
            Unsupported: if there is no rule for something in it.
        """

        def text() -> str:
            program = self.source.program
            with without_collection():
                return assemble(program, self.lanes, self.batched, self.target).text

        return build(self.key, text, self.target, checked)


_alive: weakref.WeakValueDictionary[int, Compiled] = weakref.WeakValueDictionary()
_turns: weakref.WeakValueDictionary[int, threading.Lock] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def compiled(source: Source, count: int, batched: tuple[bool, ...], has_axis: bool) -> Compiled:
    """The kernel of a source for `count` lanes. What `begin` has begun is checked, and may still be without code.

    Raises:
        Unsupported: if there is no rule for something in it.
    """
    wanted = _wanted(source, count, batched, has_axis)
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


def begin(source: Source, count: int, batched: tuple[bool, ...], name: str) -> Compiled:
    """A kernel that a thread compiles. Programs that call it are compiled meanwhile; when they run, they wait for it.

    Where LLVM refuses it, whoever asks for it by `compiled` meets the error.

    Args:
        source, count, batched: as for `compiled`; there is an axis of lanes.
        name: the thread's.
    """
    wanted = _wanted(source, count, batched, True)
    with _turn(wanted.number):
        found = _alive.get(wanted.number)
        if found is None:
            if not is_kept(wanted.key):
                _ = source.program  # traced here: a thread of its own has JAX's settings of its own
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


def _wanted(source: Source, count: int, batched: tuple[bool, ...], has_axis: bool) -> Wanted:
    target = host()
    return Wanted(source, group_size(count, target), batched, has_axis, target)


def _turn(number: int) -> threading.Lock:
    """A lock for each kernel: none is made twice, and none waits for another."""
    with _lock:
        return _turns.setdefault(number, threading.Lock())


def group_size(count: int, target: Target) -> int:
    """Lanes in a group: one for a single lane, at most what fits the registers."""
    if count == 1:
        return 1
    return min(max(4, 1 << (count - 1).bit_length()), target.lanes)
