"""Arrays in a folder, as Orbax keeps them (https://orbax.readthedocs.io), by the interface of its version 1.

What Orbax leaves open is closed here: it has no arrays without elements, which a robot without activations has; it
reports a full disk as a `ValueError`, after tracebacks of its threads; it does not wait for the disk; below a folder
whose name looks like a pattern it does not find what it wrote; its number of "the current operation" is one of the
process, so that two threads that write at once make each other's folders. It sees no flipped bit either: the checksums
are `checkpoints`'.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import shorten
from . import files

PLAIN = re.compile(r"[\w .,=+@-]+", re.ASCII)
"""Names that mean themselves in any locale. Orbax looks for files by patterns, in which [0,1] is one character."""
ORBAX = threading.Lock()
"""Who calls Orbax has it."""
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
    with _by_orbax() as orbax, _refusals(), _plainly_named(folder) as plain:
        orbax.save(plain, {str(i): array for i, array in enumerate(arrays) if array.size})
    for path in (*folder.rglob("*"), folder):
        files.flush(path)


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


@contextmanager
def _by_orbax() -> Iterator[Any]:
    """Imports Orbax when it is needed, for one thread at a time; what its own would print is in the error too."""
    try:
        from orbax.checkpoint import v1  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:  # up to 0.12
        from orbax.checkpoint.experimental import v1
    log = logging.getLogger("absl")
    with ORBAX:
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            yield v1
        finally:
            log.setLevel(level)


@contextmanager
def _plainly_named(folder: Path) -> Iterator[Path]:
    """Gives a folder, which need not be there yet, an absolute name of plain parts: by a link where it has none."""
    absolute = folder.absolute()
    if all(PLAIN.fullmatch(part) for part in absolute.parts[1:]):
        yield absolute
        return
    with tempfile.TemporaryDirectory(prefix="kousoku-") as made:
        link = Path(made) / "folder"
        link.symlink_to(absolute.parent, target_is_directory=True)
        yield link / absolute.name


@contextmanager
def _refusals() -> Iterator[None]:
    """Raises what the system said as the error that it is: TensorStore tells it inside of a text."""
    try:
        yield
    except ValueError as error:
        told = re.search(r"os_error_code='(\d+)'", str(error))
        if told is None:
            raise OSError(errno.EIO, shorten(str(error), 200)) from error
        raise OSError(int(told[1]), os.strerror(int(told[1]))) from error
