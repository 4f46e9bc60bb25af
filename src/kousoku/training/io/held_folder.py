"""A folder that a run is at work in: found again where it is moved, and never taken for another of its name."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import warnings
from pathlib import Path

from ...core.errors import RunWarning
from .files import Location

TAKEN = "the run's own folder is gone, and another one has its name, which is left as it is"


class HeldFolder:
    """The folder of a run, from when it is locked on.

    Args:
        place: where it is then.
    """

    def __init__(self, place: Location) -> None:
        self._place, self._handle = place, None
        if os.name != "nt":  # where a folder that is in use cannot be moved
            self._handle = os.open(place.absolute, os.O_RDONLY | os.O_DIRECTORY)
        self._identity = _identity(os.stat(place.absolute))

    def close(self) -> None:
        """Lets go of it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def place(self) -> Location:
        """Where it is now. That it was moved is warned of.

        Raises:
            FileNotFoundError: if it is gone.
        """
        at = self._place.absolute
        if self._is(at):
            return self._place
        moved = None if self._handle is None else _path_of(self._handle)
        if moved is None or not self._is(moved):
            why = TAKEN if os.path.lexists(at) else os.strerror(errno.ENOENT)
            raise FileNotFoundError(errno.ENOENT, why, str(at))
        text = f"the run folder {self._place.typed} was moved to {moved}; the run goes on there"
        warnings.warn(text, RunWarning, stacklevel=2)
        self._place = Location(moved, moved)
        return self._place

    def _is(self, path: Path) -> bool:
        """Returns whether this is the folder; asked of the opened one, as some file systems number folders anew."""
        try:
            own = self._identity if self._handle is None else _identity(os.fstat(self._handle))
            return _identity(os.stat(path)) == own
        except OSError:
            return False

    def remove(self, name: str) -> None:
        """Removes a file in it, if both are there still; a folder of that name is somebody else's, and stays."""
        with contextlib.suppress(FileNotFoundError):
            path = self.place.absolute / name
            if not path.is_dir():
                path.unlink()


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _path_of(handle: int) -> Path | None:
    """Returns the path of an open folder; None where the system does not tell it."""
    try:
        if sys.platform == "darwin":
            import fcntl

            return Path(os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
        return Path(os.readlink(f"/proc/self/fd/{handle}"))
    except OSError:
        return None
