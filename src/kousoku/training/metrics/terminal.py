"""Standard error as progress is written to it: missing, closed, or closed on the way, and training goes on."""

from __future__ import annotations

import sys
from typing import Any


class StandardError:
    """The process's standard error at the time when it is made; it has fallen silent once it refuses to be written to.

    A bar is for whoever looks. Programs without a console have no stream at all, a service may have closed it, a reader
    may close a pipe's other end: none of them is a reason to end a run.
    """

    def __init__(self) -> None:
        self._stream: Any = sys.stderr

    @property
    def encoding(self) -> str:
        """The stream's encoding; UTF-8 where it tells none, as it then takes any text."""
        return str(getattr(self._stream, "encoding", None) or "utf-8")

    def isatty(self) -> bool:
        """Returns whether somebody looks."""
        return bool(self._ask("isatty", False))

    def fileno(self) -> int:
        """Returns the number of its file.

        Raises:
            OSError: if it has none.
        """
        number = self._ask("fileno", None)
        if number is None:
            raise OSError("standard error has no file")
        return number

    def write(self, text: str) -> int:
        """Writes, as long as the stream takes it; returns how many characters were asked for."""
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Shows what was written, as long as the stream takes it."""
        self._try("flush")

    def _ask(self, name: str, otherwise: Any) -> Any:
        try:
            return getattr(self._stream, name)()
        except (AttributeError, OSError, ValueError):  # it is none, knows no such question, or is closed
            return otherwise

    def _try(self, name: str, *words: str) -> None:
        act = getattr(self._stream, name, None)
        if act is None:
            return
        try:
            act(*words)
        except (OSError, ValueError):  # its reader went away, or it is closed
            self._stream = None
