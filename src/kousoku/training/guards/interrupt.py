"""Stopping cleanly: the first Ctrl-C or SIGTERM asks, the second one kills."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class StopRequest:
    """A request to stop, if somebody made one, and the signal it came with."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Sets the request on SIGINT and SIGTERM within the block; the previous handlers come back with the first of them.

    Outside the main thread, where Python allows no handlers, nothing is changed.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.getsignal(number) for number in signals}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        request.signal = number
        restore()

    for number in signals:
        signal.signal(number, ask)
    try:
        yield request
    finally:
        restore()
