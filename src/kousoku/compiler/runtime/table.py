"""The table from a kernel's number to its code, and the handler that reads it.

A number is made of what the kernel means, so that a program that XLA keeps on disk finds it again in another process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from importlib import resources

import jax.ffi
import numpy as np

from ..machine.code import Loaded, object_code
from ..machine.target import host

TARGET_NAME = "kousoku_kernel"
COLUMNS = 5
EMPTY, REMOVED = 0, 1


class Table:
    """Rows of (number, function, lanes in a group, lanes in the smallest chunk, whether there is a lane axis).

    The handler reads it without a lock while others write: a row's number is written last, a full table is replaced
    by a larger one, and old ones are kept (they add up to no more than the current one).
    """

    def __init__(self, pointer: int) -> None:
        self.lock = threading.RLock()
        self.pointer = ctypes.c_void_p.from_address(pointer)
        self.kept: list[np.ndarray] = []
        self.used = 0
        self._replace(64)

    def _replace(self, size: int) -> None:
        live = [row.copy() for row in self.rows if row[0] not in (EMPTY, REMOVED)] if self.kept else []
        memory = np.zeros(1 + COLUMNS * size, np.int64)
        memory[0] = size - 1
        self.kept.append(memory)
        self.rows = memory[1:].reshape(size, COLUMNS)
        self.used = 0
        for row in live:
            self._put(row)
        self.pointer.value = memory.ctypes.data

    def _put(self, row: np.ndarray) -> None:
        mask = len(self.rows) - 1
        slot = int(row[0]) & mask
        while self.rows[slot, 0] != EMPTY:
            slot = (slot + 1) & mask
        self.rows[slot, 1:] = row[1:]
        self.rows[slot, 0] = row[0]
        self.used += 1

    def add(self, number: int, function: int, group: int, grain: int, batched: bool) -> None:
        """Make a kernel known."""
        with self.lock:
            if 2 * (self.used + 1) > len(self.rows):
                live = int(np.sum(self.rows[:, 0] > REMOVED)) + 1
                self._replace(max(len(self.rows), 1 << (4 * live - 1).bit_length()))
            self._put(np.array([number, function, group, grain, batched], np.int64))

    def remove(self, number: int) -> None:
        """Forget a kernel."""
        with self.lock:
            self.rows[self.rows[:, 0] == number, 0] = REMOVED

    def __len__(self) -> int:
        with self.lock:
            return int(np.sum(self.rows[:, 0] > REMOVED))


class Runtime:
    """The handler, registered with XLA, and its table."""

    def __init__(self) -> None:
        text = resources.files("kousoku.compiler.runtime").joinpath("handler.ll").read_text(encoding="utf-8")
        symbols = {"kousoku_yield": _yield_address()}
        self.code = Loaded(object_code(text, host()), host(), symbols)
        self.table = Table(self.code.address("kousoku_table"))
        handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self.code.address("kousoku_handler"))
        jax.ffi.register_ffi_target(TARGET_NAME, jax.ffi.pycapsule(handler), platform="cpu")


def _yield_address() -> int:
    """The system's function that lets another thread run."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.SwitchToThread
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def runtime() -> Runtime:
    """The process's one runtime."""
    return Runtime()
