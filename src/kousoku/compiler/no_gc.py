"""Pauses Python's collector of cycles where a great many objects are made that all stay."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_frozen = threading.Event()
"""Set once this process has been seen to freeze objects."""


@contextmanager
def no_gc() -> Iterator[None]:
    """Pauses Python's collector of cycles, which takes a third of the time of tracing and reading a robot.

    What was made meanwhile then counts as old: to look through it for cycles at once would find none. Where the process
    has objects frozen, they stay so, and the collector looks. Python counts them one by one, so it is asked only until
    there are some.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not _frozen.is_set() and gc.get_freeze_count() > 0:
            _frozen.set()
        if not _frozen.is_set():
            gc.freeze()  # all objects go past the generations that are looked through often
            gc.unfreeze()  # into the oldest
        gc.enable()
