"""The lines of a user's own code in which an error arose, or which called us."""

from __future__ import annotations

import inspect
import linecache
import os
import sysconfig
import traceback
import warnings
from pathlib import Path
from types import FrameType

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


def warn_at_own_line(text: str, category: type[Warning]) -> None:
    """Warns at the innermost line of the user's code that called us: once for each text there."""
    frame = _asking(inspect.currentframe())
    file, registry = frame.f_code.co_filename, frame.f_globals.setdefault("__warningregistry__", {})
    try:
        warnings.warn_explicit(text, category, file, frame.f_lineno, frame.f_globals.get("__name__"), registry)
    finally:
        del frame  # with it all that its callers hold


def _asking(frame: FrameType | None) -> FrameType:
    """Returns the innermost frame of the user's code; of a thread that runs ours alone, the outermost of ours."""
    ours = frame
    while frame is not None and not is_own(frame.f_code.co_filename):
        ours = frame if frame.f_code.co_filename.startswith(LIBRARY) else ours
        frame = frame.f_back
    found = frame or ours
    assert found is not None
    return found


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
