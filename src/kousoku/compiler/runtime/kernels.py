"""Keeps the process's compiled kernels: made once, shared by all who need the same, freed with the last of them."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..backends import Backend, InPlace, KernelRegistry
from ..ir import GraphSource, Unsupported
from ..llvm.build import build, is_kept
from ..llvm.object_cache import compiler_version
from ..llvm.target import Target
from ..no_gc import no_gc

GRAIN_NANOSECONDS = 8000
"""Nanoseconds, by the estimate, of the smallest piece of work for a thread."""
SERIAL_NANOSECONDS = 100_000
"""Nanoseconds, by the estimate, of work that a thread does by itself: to wake another one takes 50,000."""


class CompiledKernel:
    """A kernel that the handler knows for as long as this object lives.

    Attributes:
        number: what it is called by.
        lanes: lanes in a gang.
        checked: set when LLVM has read and checked the program, or has refused it.
        broken: whether there is no code and never will be.
    """

    def __init__(
        self, registry: KernelRegistry, number: int, lanes: int, grain: int, serial: int, batched: bool, devices: int
    ) -> None:
        self.number, self.lanes = number, lanes
        self.checked, self.broken = threading.Event(), False
        self._settled = threading.Event()
        self._code: list[object] = []
        self._registry = registry
        self._record = registry.add(number, lanes, grain, serial, batched, devices)
        weakref.finalize(self, registry.remove, self._record, self._code).atexit = False

    def load(self, code: bytes) -> None:
        """Gives the kernel its machine code, which calls wait for."""
        self._code.append(self._registry.load(self._record, code))
        self.checked.set()
        self._settled.set()

    def memory(self) -> int:
        """Returns the bytes of its buffers for one gang, which it takes while it runs; 0 if it never will.

        Code that is not there yet is waited for.
        """
        self._settled.wait()
        return sum(map(self._registry.memory, self._code))

    def host_call(self) -> Callable[[int, int, int], None] | None:
        """Returns what calls it from the host, past XLA, while this object lives; see `KernelRegistry.host_call`.

        None where there is no such thing. Code that is not there yet is waited for.

        Raises:
            Unsupported: if there never will be any.
        """
        self._settled.wait()
        if self.broken:
            raise Unsupported("code that LLVM could not make")
        return self._registry.host_call(self._record)

    def give_up(self) -> None:
        """Gives up: nobody finds the kernel any more, and calls of those who hold it fail."""
        _alive.pop(self.number, None)
        self.broken = True
        self._registry.give_up(self._record)
        self.checked.set()
        self._settled.set()


@dataclass(frozen=True)
class KernelSpec:
    """All that a kernel depends on.

    Attributes:
        backend: whose it is.
        source: of what it does.
        lanes: in a gang.
        batched: which of the inputs that it reads have an axis of lanes.
        has_axis: whether there is one at all.
        target: the processor.
        in_place: what lies in one place.
    """

    backend: Backend
    source: GraphSource
    lanes: int
    batched: tuple[bool, ...]
    has_axis: bool
    target: Target
    in_place: InPlace = ()

    @cached_property
    def key(self) -> str:
        """The hash of it, in hexadecimal digits."""
        sha = hashlib.sha256(self.source.summary.digest)
        sha.update(repr(self.settings).encode())
        return sha.hexdigest()

    @property
    def settings(self) -> tuple[object, ...]:
        """What it depends on beside what it does."""
        told = compiler_version(), self.target, self.lanes, self.batched, self.has_axis
        return (*told, "arrays", self.in_place) if self.source.arrays else told

    @property
    def number(self) -> int:
        """The key as a number of 63 bits."""
        return max(int(self.key[:16], 16) >> 1, 1)

    @property
    def grain(self) -> int:
        """Lanes in the smallest piece of work for a thread."""
        return self._lanes_in(GRAIN_NANOSECONDS)

    @property
    def serial(self) -> int:
        """The most lanes that one thread does by itself; the grain, where a loop's turns are not known."""
        known = self.source.summary.counted and not self.source.arrays
        return self._lanes_in(SERIAL_NANOSECONDS) if known else self.grain

    def _lanes_in(self, nanoseconds: int) -> int:
        """Returns the lanes of the gangs that take this long by the estimate, at least one gang's."""
        return self.lanes * max(1, nanoseconds // self.source.summary.nanoseconds)

    def empty(self) -> CompiledKernel:
        """Makes the kernel, yet without code."""
        registry = self.backend.registry()
        sizes = self.lanes, self.grain, self.serial
        return CompiledKernel(registry, self.number, *sizes, self.has_axis, self.source.meets)

    def code(self, checked: Callable[[], None] | None = None) -> bytes:
        """Returns machine code; see `build`.

        Raises:
            Unsupported: if there is no rule for something in it.
        """

        def text() -> str:
            graph = self.source.graph
            with no_gc():
                settings = self.batched, self.target, self.source.arrays, self.in_place
                return self.backend.emit_module(graph, self.lanes, *settings).text

        return build(self.key, text, self.target, checked)


def memory_of(number: int) -> int:
    """Returns the bytes that one gang of a kernel takes while it runs; 0 for a number that no kernel has."""
    found = _alive.get(number)
    return 0 if found is None else found.memory()


_alive: weakref.WeakValueDictionary[int, CompiledKernel] = weakref.WeakValueDictionary()
_turns: weakref.WeakValueDictionary[int, threading.Lock] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def compiled(
    backend: Backend,
    source: GraphSource,
    count: int,
    batched: tuple[bool, ...],
    has_axis: bool,
    in_place: InPlace = (),
) -> CompiledKernel:
    """Returns the kernel of a source for `count` lanes.

    What `begin` has begun is checked, and may still be without code.

    Args:
        backend: whose it will be.
        source: of what it does.
        count: lanes.
        batched: which of the function's inputs have an axis of lanes.
        has_axis: whether there is one at all.
        in_place: what whoever calls it gives one place.

    Raises:
        Unsupported: if there is no rule for something in it.
    """
    wanted = _wanted(backend, source, count, batched, has_axis, in_place)
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


def begin(
    backend: Backend,
    source: GraphSource,
    count: int,
    batched: tuple[bool, ...],
    name: str,
    in_place: InPlace = (),
) -> CompiledKernel:
    """Begins a kernel that a thread compiles. Programs that call it are compiled meanwhile.

    When they run, they wait for it.

    Where LLVM refuses it, whoever asks for it by `compiled` meets the error.

    Args:
        backend, source, count, batched, in_place: as for `compiled`; there is an axis of lanes.
        name: the thread's.
    """
    wanted = _wanted(backend, source, count, batched, True, in_place)
    with _turn(wanted.number):
        found = _alive.get(wanted.number)
        if found is None:
            if not is_kept(wanted.key):
                _ = source.graph  # traced here: a thread of its own has JAX's settings of its own
            found = _alive[wanted.number] = wanted.empty()
            try:
                threading.Thread(target=_finish, args=(found, wanted), name=name, daemon=False).start()
            except BaseException:
                found.give_up()
                raise
        return found


def _finish(begun: CompiledKernel, wanted: KernelSpec) -> None:
    try:
        begun.load(wanted.code(begun.checked.set))
    except BaseException:
        relied_on = begun.checked.is_set()
        begun.give_up()
        if relied_on:
            raise


def _wanted(
    backend: Backend,
    source: GraphSource,
    count: int,
    batched: tuple[bool, ...],
    has_axis: bool,
    in_place: InPlace,
) -> KernelSpec:
    target = backend.target()
    lanes = 1 if source.arrays else backend.gang_size(count, target)
    read = tuple(batched[i] for i in source.summary.interface.inputs)
    return KernelSpec(backend, source, lanes, read, has_axis, target, in_place)


def _turn(number: int) -> threading.Lock:
    """Returns a lock for each kernel: none is made twice, and none waits for another."""
    with _lock:
        return _turns.setdefault(number, threading.Lock())
