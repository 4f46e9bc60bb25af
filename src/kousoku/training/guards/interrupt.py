"""Stopping cleanly: the first Ctrl-C, SIGTERM or SIGHUP asks, the second one kills.

A signal that stopped a training is not swallowed: when everything is saved it does what it would have done without us.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_left_to_caller = threading.local()


class StopRequest:
    """A request to stop, if somebody made one: by a signal, or by a program that is told the reports.

    Attributes:
        signal: the number of the signal; None without one.
        requested: whether the program's function asked to stop, or failed.
        error: what it failed with; None if it did not.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.requested = False
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Asks to stop because of an error, which is raised once all is saved."""
        self.requested, self.error = True, error

    def __bool__(self) -> bool:
        return self.requested or self.signal is not None


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Sets the request on a signal within the block; the previous handlers come back with the first of them.

    A signal that is ignored, as SIGHUP is below nohup, stays so. Outside the main thread, where Python allows no
    handlers, nothing is changed.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    previous = {number: each for number, each in handlers.items() if each not in (signal.SIG_IGN, None)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        request.signal = number
        restore()

    for number in previous:
        signal.signal(number, ask)
    try:
        yield request
    finally:
        restore()


@contextlib.contextmanager
def left_to_caller() -> Iterator[None]:
    """Lets the caller answer the signal that stops a training within the block: the training returns its run."""
    before, _left_to_caller.value = is_left_to_caller(), True
    try:
        yield
    finally:
        _left_to_caller.value = before


def is_left_to_caller() -> bool:
    """Returns whether the caller answers the signal that stopped a training."""
    return getattr(_left_to_caller, "value", False)
