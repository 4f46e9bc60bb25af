"""Arrays in a folder, as Orbax keeps them (https://orbax.readthedocs.io), by the interface of its version 1.

What Orbax leaves open is closed here: it has no arrays without elements, which a robot without activations has; it
reports a full disk as a `ValueError`, after tracebacks of its threads; it does not wait for the disk; below a folder
whose name looks like a pattern it does not find what it wrote; its number of "the current operation" is one of the
process, so that two threads that write at once make each other's folders. It sees no flipped bit either: the checksums
are `checkpoints`'.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core import whole_file
from ...core.errors import shorten

PLAIN = re.compile(r"[\w .,=+@-]+", re.ASCII)
"""Names that mean themselves in any locale. Orbax looks for files by patterns, in which [0,1] is one character."""
ORBAX = threading.Lock()
"""Who calls Orbax has it."""
OPENED = Path("/proc/self/fd")
"""Where Linux has a plain name for each folder that this process has opened."""
Kinds = Sequence[tuple[Sequence[int], str]]
"""Shape and dtype of each array."""


def kinds_of(arrays: Sequence[np.ndarray]) -> Kinds:
    """Returns what `read` has to be told beside the folder."""
    return [(array.shape, str(array.dtype)) for array in arrays]


def write(folder: Path, arrays: Sequence[np.ndarray]) -> None:
    """Writes arrays into a folder that is not there yet, and waits until the disk has it.

    Raises:
        OSError: if the disk refuses it.
        ValueError: for an array of objects, which would have to be pickled.
    """
    for array in arrays:
        if array.dtype.hasobject:
            raise ValueError(f"an array of {array.dtype} would have to be pickled")
    with _by_orbax() as orbax, _plainly_named(folder) as plain:
        refusal = _refusal_of(lambda: orbax.save(plain, {str(i): a for i, a in enumerate(arrays) if a.size}))
        if refusal is not None:
            gc.collect()  # what was left undone is told of by asyncio when it is removed, which is here
            raise refusal
    for path in (*folder.rglob("*"), folder):
        whole_file.flush(path)


def read(folder: Path, kinds: Kinds) -> list[np.ndarray]:
    """Reads the arrays that `write` was given.

    Args:
        folder: where they are; its bytes should have been checked.
        kinds: as `kinds_of` gave them.

    Raises:
        FileNotFoundError, KeyError, ValueError: if the folder holds something else.
    """
    with _by_orbax() as orbax, _plainly_named(folder) as plain:
        found = orbax.load(plain)
    full = [found[str(i)] if np.prod(shape) else np.zeros(shape, dtype) for i, (shape, dtype) in enumerate(kinds)]
    arrays = [np.asarray(array) for array in full]
    for i, (array, (shape, dtype)) in enumerate(zip(arrays, kinds, strict=True)):
        if array.shape != tuple(shape) or str(array.dtype) != dtype:
            raise ValueError(f"array {i} is {array.dtype}{list(array.shape)} where {dtype}{list(shape)} was written")
    return arrays


@dataclass(frozen=True)
class _ClosedLoopFilter:
    """The hook for errors that nobody can catch, without those of threads that come back to a loop that is closed.

    After a refusal TensorStore's threads do so, some of them a little later than the refusal: it stays in place.

    Attributes:
        hook: the one that was there, which is told all else.
    """

    hook: Callable[[Any], object]

    def __call__(self, raised: Any) -> None:
        """Tells what was raised."""
        error = raised.exc_value
        if not (isinstance(error, RuntimeError) and str(error) == "Event loop is closed" and raised.object is None):
            self.hook(raised)


@contextmanager
def _by_orbax() -> Iterator[Any]:
    """Imports Orbax when it is needed, for one thread at a time; what its own would print is in the error too.

    So is what asyncio prints of tasks that have failed, and what TensorStore's threads report of a closed loop.
    """
    try:
        from orbax.checkpoint import v1  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:  # up to 0.12
        from orbax.checkpoint.experimental import v1
    logs = [logging.getLogger(name) for name in ("absl", "asyncio")]
    with ORBAX:
        levels = [log.level for log in logs]
        for log in logs:
            log.setLevel(logging.CRITICAL + 1)
        if not isinstance(sys.unraisablehook, _ClosedLoopFilter):
            sys.unraisablehook = _ClosedLoopFilter(sys.unraisablehook)
        try:
            yield v1
        finally:
            for log, level in zip(logs, levels, strict=True):
                log.setLevel(level)


@contextmanager
def _plainly_named(folder: Path) -> Iterator[Path]:
    """Gives a folder, which need not be there yet, an absolute name of plain parts.

    Where it has none, that is its parent's as an opened folder, or a link's below the system's folder for such files;
    its own where the system lets nobody make links, as Windows may.
    """
    absolute = folder.absolute()
    if all(PLAIN.fullmatch(part) for part in absolute.parts[1:]):
        yield absolute
        return
    if OPENED.is_dir():
        parent = os.open(absolute.parent, os.O_RDONLY)
        try:
            yield OPENED / str(parent) / absolute.name
        finally:
            os.close(parent)
        return
    with tempfile.TemporaryDirectory(prefix="kousoku-") as made:
        link = Path(made) / "folder"
        try:
            link.symlink_to(absolute.parent, target_is_directory=True)
        except OSError:
            link = absolute.parent
        yield link / absolute.name


def _refusal_of(save: Callable[[], object]) -> OSError | None:
    """Returns what the system said, as the error that it is, or None: TensorStore tells it inside of a text.

    Nothing of what was at work is held by it.
    """
    try:
        save()
    except ValueError as error:
        told = re.search(r"os_error_code='(\d+)'", str(error))
        if told is None:
            return OSError(errno.EIO, shorten(str(error), 200))
        return OSError(int(told[1]), os.strerror(int(told[1])))
    except OSError as error:
        return OSError(*error.args)
    return None
