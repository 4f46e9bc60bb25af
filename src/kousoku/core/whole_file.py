"""Files that are there whole or not at all: each is written beside its place, and then moved there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from .output_file import LONGEST

UNFINISHED = ".part"


def write_whole(path: Path, fill: Callable[[Path], object], *, sync: bool = False) -> Path:
    """Lets `fill` write a file beside `path`, then moves it there; where it fails, what was there stays.

    What a link leads to is written; what is no file, as /dev/stdout, is written to as it is.

    Args:
        path: the file.
        fill: writes what it should hold.
        sync: wait until the disk has it, so that it outlives a power cut and not just this process.

    Returns:
        `path`.

    Raises:
        OSError: naming `path`, where the disk refuses it; or what lies beside it, where that is a folder.
    """
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file() and not target.is_dir()
    name = target.name + UNFINISHED
    part = target if direct else target.with_name(name if len(os.fsencode(name)) <= LONGEST else UNFINISHED[1:])
    try:
        fill(part)
        if sync:
            flush(part)
        if not direct:
            os.replace(part, target)
    except BaseException as error:
        if not direct:
            with contextlib.suppress(OSError):  # it is not there, or the disk refuses this, too
                part.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part), part):
            raise OSError(error.errno, error.strerror, str(part if part.is_dir() else path)) from error
        raise
    return path


def write_text(path: Path, text: str) -> Path:
    """Writes text whole, in UTF-8, with a question mark for what that has no code for; returns the path."""
    return write_whole(path, lambda part: part.write_bytes(text.encode("utf-8", "replace")))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, sync: bool = False) -> None:
    """Writes named arrays as .npz.

    Raises:
        ValueError: for an array of objects, which would have to be pickled.
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name}: an array of {array.dtype} would have to be pickled")

    def fill(part: Path) -> None:
        with part.open("wb") as file:
            np.savez(file, **dict(arrays))  # pyright: ignore[reportArgumentType]

    write_whole(path, fill, sync=sync)


def flush(path: Path) -> None:
    """Waits until the disk has a file, or a folder's list of files; some systems know no such thing for folders."""
    try:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except PermissionError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
