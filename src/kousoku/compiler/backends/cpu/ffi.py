"""Tells XLA's programs of kernels: records by number, and the handler that reads them.

A number is made of what the kernel means, so that a program that XLA keeps on disk finds it again in another process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import Any

import jax.ffi

from ...llvm.build import build_own
from ...llvm.compile import LoadedCode
from ...llvm.target import host
from .entry import MEMORY, NAME
from .host_call import host_caller

PLATFORM = "cpu"
CALL_TARGET = "kousoku_kernel"
TYPE_NAME = "kousoku_kernel_record"
FREE = 0
BROKEN = 1
EXPORTED = ("kousoku_handler", "kousoku_records", "kousoku_type", "kousoku_type_info", "kousoku_threads")


class KernelRecord(ctypes.Structure):
    """The twin of `%Record` in handler.ll. It never moves and is never freed, but used again for another kernel."""

    _fields_ = (
        ("number", ctypes.c_int64),
        ("next", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("gang", ctypes.c_int64),
        ("grain", ctypes.c_int64),
        ("serial", ctypes.c_int64),
        ("batched", ctypes.c_int64),
        ("programs", ctypes.c_int64),
        ("devices", ctypes.c_int64),
    )


class KernelTable:
    """The list of records. The handler reads it without a lock while others write: a number is written last.

    A kernel that is let go of stays while a program of XLA's holds it: a computation runs on, in XLA's own threads,
    when the function that began it is gone.
    """

    def __init__(self, first: int) -> None:
        self.lock = threading.RLock()
        self.first = ctypes.c_void_p.from_address(first)
        self.records: list[KernelRecord] = []
        self.free: list[KernelRecord] = []
        self.leaving: list[tuple[KernelRecord, list[LoadedCode]]] = []

    def add(self, number: int, gang: int, grain: int, serial: int, batched: bool, devices: int) -> KernelRecord:
        """Makes a kernel known, before it has its code: programs may hold it, and calls of it wait."""
        with self.lock:
            self.clear()
            record = self.free.pop() if self.free else self._another()
            record.function, record.gang, record.batched = None, gang, batched
            record.grain, record.serial, record.devices = grain, serial, devices
            record.number = number
            return record

    def _another(self) -> KernelRecord:
        record = KernelRecord()
        record.next = self.first.value
        self.records.append(record)
        self.first.value = ctypes.addressof(record)
        return record

    def load(self, record: KernelRecord, code: bytes) -> LoadedCode:
        """Gives a kernel its machine code, which calls wait for; returns what keeps the code in memory."""
        loaded = LoadedCode(code, [NAME, MEMORY], {"kousoku_yield": _address("sched_yield")})
        record.function = loaded.address(NAME)
        return loaded

    def memory(self, code: LoadedCode) -> int:
        """Returns the bytes of a kernel's buffers for one gang, from what `load` returned."""
        return ctypes.c_int64.from_address(code.address(MEMORY)).value

    def host_call(self, record: KernelRecord) -> Callable[[int, int, int], None] | None:
        """Returns what calls a kernel that has its code from the host, past XLA; see `KernelRegistry`."""
        caller = host_caller()
        return None if caller is None else partial(caller.call, record.function)

    def give_up(self, record: KernelRecord) -> None:
        """Says that there will be no code: nobody finds the kernel any more, and calls of those who hold it fail."""
        record.number = FREE
        record.function = BROKEN

    def remove(self, record: KernelRecord, code: list[LoadedCode]) -> None:
        """Forgets a kernel and frees its code, as soon as no program holds it."""
        with self.lock:
            record.number = FREE
            self.leaving.append((record, code))
            self.clear()

    def clear(self) -> None:
        """Frees what nobody holds any more."""
        with self.lock:
            gone = [record for record, _ in self.leaving if record.programs == 0]
            self.free.extend(gone)
            self.leaving = [(record, code) for record, code in self.leaving if record not in gone]

    def __len__(self) -> int:
        """Returns how many kernels are known, with their code or on the way to it."""
        with self.lock:
            self.clear()
            return len(self.records) - len(self.free)


class KernelRuntime:
    """The handler as XLA knows it, and its table."""

    def __init__(self) -> None:
        text = resources.files("kousoku.compiler.backends.cpu").joinpath("handler.ll").read_text(encoding="utf-8")
        imported = {"kousoku_yield": _address("sched_yield"), "kousoku_nap": _address("usleep")}
        imported |= {name: _address(name) for name in ("pthread_create", "pthread_detach")}
        self.code = LoadedCode(build_own("kousoku_handler", lambda: text, host()), EXPORTED, imported)
        ctypes.c_int64.from_address(self.code.address("kousoku_threads")).value = sys.platform != "win32"
        self.table = KernelTable(self.code.address("kousoku_records"))
        state: Any = {"type_id": self._capsule("kousoku_type"), "type_info": self._capsule("kousoku_type_info")}
        jax.ffi.register_ffi_type(TYPE_NAME, state, platform=PLATFORM)
        handler = self._capsule("kousoku_handler")
        jax.ffi.register_ffi_target(CALL_TARGET, {"instantiate": handler, "execute": handler}, platform=PLATFORM)

    def _capsule(self, name: str) -> object:
        return jax.ffi.pycapsule(ctypes.c_void_p(self.code.address(name)))


def _address(name: str) -> int:
    """Returns a function of the system's: one that lets another thread run, for a moment or for some microseconds, or
    that begins one. On Windows it is in any case the first.
    """
    function = ctypes.windll.kernel32.SwitchToThread if sys.platform == "win32" else getattr(ctypes.CDLL(None), name)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def registry() -> KernelTable:
    """Returns the process's one table of kernels; the handler is registered with XLA at the first call."""
    with _lock:
        return _runtime().table


_lock = threading.Lock()
_runtime = cache(KernelRuntime)
