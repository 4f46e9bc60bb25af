"""One run in one folder at a time. The system holds the lock, and frees it when its process ends, however that ends.

Beside the lock lies the name of its owner, for the message to a second run, and for file systems where a lock made on
another machine does not hold on this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ...core.errors import ConfigError
from .files import Location, write_json
from .held_folder import HeldFolder

LOCK = "lock.json"
"""The owner's process number and machine, while there is one."""
HELD = "lock"
"""The empty file that the system locks."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[HeldFolder]:
    """Holds a folder's lock, wherever the working folder or the folder itself goes meanwhile.

    Raises:
        ConfigError: if another run holds it, naming its process; or if the folder cannot be locked.
    """
    try:
        lock = FileLock(folder.absolute() / HELD).acquire(blocking=False)
    except Timeout:
        pid, _ = _owner(folder)
        named = f"process {pid}" if pid else "another process"
        raise ConfigError("run folder", str(folder), f"{named} is at work in it; wait for it, or stop it") from None
    except OSError as error:
        fix = f"choose one on another disk ({error})"
        if os.path.isdir(folder / HELD):
            fix = f"a folder lies in the place of {folder / HELD}: move it away"
        raise ConfigError("run folder", str(folder), f"it cannot be locked; {fix}") from error
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock)
        held = HeldFolder(Location.of(folder))
        stack.callback(held.close)
        if os.name != "nt":  # there an open file cannot be removed, and the library does it afterwards
            stack.callback(held.remove, HELD)
        pid, host = _owner(folder)
        if host != platform.node():
            fix = f"whether process {pid} lives cannot be seen from here; if it does not, delete {folder / LOCK}"
            raise ConfigError("run folder", str(folder), f"a run on {host or 'another machine'} holds it: {fix}")
        stack.callback(held.remove, LOCK)
        write_json(folder / LOCK, {"pid": os.getpid(), "host": host})
        yield held


def _owner(folder: Path) -> tuple[int, str]:
    """Returns the process that took the lock last, and its machine; 0 and this machine where nothing tells."""
    try:
        owner = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        return int(owner["pid"]), str(owner["host"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # nobody's, or damaged
        return 0, platform.node()
