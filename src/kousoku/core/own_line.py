"""The lines of a user's own code in which an error arose, or which called us."""

from __future__ import annotations

import linecache
import os
import sysconfig
import traceback
from pathlib import Path

from .ours import LIBRARY

_PYTHON = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = ("site-packages", "dist-packages")
LONGEST = 60
"""Letters of a line of code that are shown."""


def own_line(error: BaseException) -> str:
    """Returns file, number and text of the innermost line that is the user's; "" where there is none."""
    frames = _own_frames(error)
    return _shown(*frames[-1]) if frames else ""


def own_lines(error: BaseException | None) -> list[str]:
    """Returns file, number and text of every line that is the user's, each once, the outermost first."""
    return [_shown(file, number) for file, number in dict.fromkeys(_own_frames(error))]


def _own_frames(error: BaseException | None) -> list[tuple[str, int]]:
    """Returns file and number of the lines that are not of this library, nor of installed ones, nor of Python."""
    trace = error.__traceback__ if error else None
    frames = [(frame.f_code.co_filename, number) for frame, number in traceback.walk_tb(trace)]
    return [(file, number) for file, number in frames if is_own(file)]


def _shown(file: str, number: int) -> str:
    text = linecache.getline(file, number).strip()
    name = file if file.startswith("<") else Path(file).name
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return f"{name}, line {number}" + (f": {shown}" if shown else "")


def is_own(file: str) -> bool:
    """Returns whether a file is the user's; code that was typed into a prompt is, made by a library it is not."""
    if file.startswith("<"):
        return file.startswith(("<stdin", "<string", "<ipython", "<doctest"))
    path = Path(file)
    installed = any(part in _INSTALLED for part in path.parts)
    return not (installed or file.startswith((LIBRARY, _PYTHON)))
