"""Compiled kernels: made once, shared by all who need the same, freed with the last of them."""

from __future__ import annotations

import hashlib
import threading
import weakref

from .assemble import NAME, assemble
from .machine.build import build
from .machine.code import Loaded
from .machine.object_cache import compiler_version
from .machine.target import Target, host
from .program import Program, digest
from .runtime.table import FREE, runtime

GRAIN_NANOSECONDS = 8000
LOOP_GUESS = 16


class Compiled:
    """A kernel in memory, known to the handler as long as this object lives.

    Attributes:
        number: what it is called by.
        lanes: lanes in a group.
    """

    def __init__(self, number: int, lanes: int, code: bytes, grain: int, batched: bool) -> None:
        self.number, self.lanes = number, lanes
        loaded = Loaded(code, [NAME])
        table = runtime().table
        record = table.add(number, loaded.address(NAME), lanes, grain, batched)
        weakref.finalize(self, table.remove, record, loaded).atexit = False


_alive: weakref.WeakValueDictionary[int, Compiled] = weakref.WeakValueDictionary()
_turns: weakref.WeakValueDictionary[int, threading.Lock] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def compiled(program: Program, count: int, batched: tuple[bool, ...], has_axis: bool) -> Compiled:
    """The kernel of a program for `count` lanes.

    Raises:
        Unsupported: if there is no rule for something in it.
    """
    target = host()
    lanes = group_size(count, target)
    key = key_of(program, target, lanes, batched, has_axis)
    number = number_of(key)
    with _lock:
        turn = _turns.setdefault(number, threading.Lock())
    with turn:
        found = _alive.get(number)
        if found is None:
            code = build(key, lambda: assemble(program, lanes, batched, target).text, target)
            grain = lanes * max(1, GRAIN_NANOSECONDS // max(1, cost(program)))
            found = _alive[number] = Compiled(number, lanes, code, grain, has_axis)
        return found


def group_size(count: int, target: Target) -> int:
    """Lanes in a group: one for a single lane, at most what fits the registers."""
    if count == 1:
        return 1
    return min(max(4, 1 << (count - 1).bit_length()), target.lanes)


def key_of(program: Program, target: Target, lanes: int, batched: tuple[bool, ...], has_axis: bool) -> str:
    """The hash of everything that the code depends on, in hexadecimal digits."""
    sha = hashlib.sha256(digest(program))
    sha.update(repr((compiler_version(), target, lanes, batched, has_axis)).encode())
    return sha.hexdigest()


def number_of(key: str) -> int:
    """63 bits of the key."""
    return max(int(key[:16], 16) >> 1, FREE + 1)


def cost(program: Program) -> int:
    """A guess of the nanoseconds that one group takes."""
    total = 0
    for op in program.ops:
        times = {"scan": op.params.get("length", 1), "while": LOOP_GUESS}.get(op.name, 1)
        inner = sum(cost(p) for p in op.programs())
        total += times * inner + sum(v.size for v in op.outputs) * (40 if op.name == "threefry2x32" else 1)
    return max(1, total // 2)
