"""The folder where compiled programs are kept between processes."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from .errors import RunWarning
from .output_file import is_elsewhere
from .own_line import warn_at_own_line

SWITCH = "KOUSOKU_COMPILATION_CACHE"
WRITABLE = f"set {SWITCH} to a folder that can be written, or to off"
_told_unwritten, _told_unread = threading.Event(), threading.Event()


def chosen_folder() -> Path | None:
    """Returns the folder that the user names by `KOUSOKU_COMPILATION_CACHE`, or None.

    Raises:
        RuntimeError: if it begins with ~ and there is no such home.
    """
    setting = os.environ.get(SWITCH, "")
    named = setting and setting.lower() not in ("1", "on", "yes", "true")
    return Path(setting).expanduser() if named and not is_off() else None


def is_off() -> bool:
    """Returns whether the user wants nothing kept: `KOUSOKU_COMPILATION_CACHE` is "off" (or "0")."""
    return os.environ.get(SWITCH, "").lower() in ("0", "off", "no", "false")


def cache_root() -> Path | None:
    """Returns the folder below which everything lies.

    None if the user wants nothing kept, or has no home: a container may run with any user number and no `HOME`. None,
    too, with a warning, for the address of another machine, and for a folder whose name is no UTF-8, which JAX and LLVM
    do not take.
    """
    if is_off():
        return None
    try:
        root = chosen_folder() or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kousoku"
    except RuntimeError:
        return None
    elsewhere = is_elsewhere(os.environ.get(SWITCH, ""))
    if elsewhere or not _is_utf8(root):
        warn_nothing_is_kept("that is no folder of this machine" if elsewhere else "the folder's name is no UTF-8")
        return None
    return root


def _is_utf8(path: Path) -> bool:
    """Returns whether a path can be written in UTF-8: not where it holds bytes that are no text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_trusted(about: os.stat_result) -> bool:
    """Returns whether what these facts are of was written by the user or root, and nobody else may write it.

    What is kept is code, so this is asked of folder and file before anything is read, as ssh asks it of keys. Windows
    knows no owners by number: there a user's folder is private by itself.
    """
    return not hasattr(os, "geteuid") or (about.st_uid in (0, os.geteuid()) and not about.st_mode & 0o022)


def warn_nothing_is_kept(reason: str) -> None:
    """Warns that compiled programs are not kept: once in a process, whichever kind of them it was found out for."""
    _warn_once(_told_unwritten, f"compiled programs are not kept: {reason}; {WRITABLE}")


def warn_only_read(folder: Path, reason: str) -> None:
    """Warns that compiled programs are read from a folder, but new ones are not kept: once in a process."""
    _warn_once(_told_unwritten, f"compiled programs in {folder} are read, but new ones not kept: {reason}; {WRITABLE}")


def warn_not_trusted(folder: Path) -> None:
    """Warns that what is kept in a folder is not read, since others may have written it: once in a process."""
    fix = f"make it yours alone (chmod -R go-w), or set {SWITCH} to another folder"
    _warn_once(_told_unread, f"compiled programs in {folder} are not read: others may write there; {fix}")


def _warn_once(told: threading.Event, text: str) -> None:
    """Warns once, at the line of the user's code that needed a program."""
    if told.is_set():
        return
    told.set()
    warn_at_own_line(text, RunWarning)
