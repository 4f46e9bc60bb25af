"""Keeps machine code on disk, by content, so that a second start compiles nothing.

An entry is one file, named by the hash of what its code depends on. It is written beside its place and then moved
there, so another process sees all of it or nothing, and one that is killed leaves nothing but a file that is cleared
later. As it is run, it is read only where nobody but the user (and root) may have written it. An entry that does not
agree with its own checksum is thrown away and made anew. What was not used for longest goes some time after the folder
got too large.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import llvmlite

from ...core.cache_folder import cache_root, is_trusted, warn_not_trusted, warn_nothing_is_kept

LIMIT = 512 * 2**20
WORTH_SECONDS = 0.02
STALE_SECONDS = 3600.0
TURNS = 32
SUFFIX, UNFINISHED = ".o", ".part"
CHECKSUM = hashlib.sha256().digest_size


@dataclass(frozen=True)
class ObjectCache:
    """A cache of machine code in a folder.

    Attributes:
        folder: made when something is put into it.
        limit: bytes that the entries may take together.
        worth: seconds of compiling from which a result is kept.
    """

    folder: Path
    limit: int = LIMIT
    worth: float = WORTH_SECONDS

    def get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Returns the code of that key, from the folder or else made, and kept if it was worth it."""
        found = self.get(key)
        if found is not None:
            return found
        began = time.perf_counter()
        code = make()
        if time.perf_counter() - began >= self.worth:
            self.put(key, code)
        return code

    def get(self, key: str) -> bytes | None:
        """Returns the code of that key, or None where there is none or a damaged one, which is removed.

        None, too, with a warning, where somebody else may have written it: it would be run.
        """
        file = self.folder / (key + SUFFIX)
        try:
            data = self._read(file)
        except OSError:
            return None
        if data is None:
            warn_not_trusted(self.folder)
            return None
        code = data[CHECKSUM:]
        if hashlib.sha256(code).digest() != data[:CHECKSUM]:
            self.remove(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return code

    def _read(self, file: Path) -> bytes | None:
        """Returns a file's bytes; None if others than the user may write it, or put another one in its place.

        Raises:
            OSError: if it cannot be read.
        """
        with file.open("rb") as opened:
            trusted = is_trusted(self.folder.stat()) and is_trusted(os.fstat(opened.fileno()))
            return opened.read() if trusted else None

    def has(self, key: str) -> bool:
        """Returns whether there is an entry of that key, damaged or not."""
        return os.path.exists(self.folder / (key + SUFFIX))  # False, too, for a path that no disk would have

    def remove(self, key: str) -> None:
        """Throws an entry away, if it is there."""
        with contextlib.suppress(OSError):
            (self.folder / (key + SUFFIX)).unlink()

    def put(self, key: str, code: bytes) -> None:
        """Keeps code; where the disk refuses, warns and goes on."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            data = hashlib.sha256(code).digest() + code
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=UNFINISHED, delete=False) as file:
                file.write(data)
            os.replace(file.name, self.folder / (key + SUFFIX))
            self.clear_unfinished()
            if self._has_a_turn(data):
                self.trim()
        except OSError as error:
            warn_nothing_is_kept(str(error))

    def entries(self) -> list[tuple[float, int, Path]]:
        """Returns when each entry was last used, its bytes and its file; the oldest first."""
        return sorted(_seen(self.folder.glob(f"*{SUFFIX}")))

    def files(self) -> list[Path]:
        """Returns every file of the cache, unfinished ones too."""
        return [file for suffix in (SUFFIX, UNFINISHED) for file in self.folder.glob(f"*{suffix}")]

    def clear_unfinished(self) -> None:
        """Removes what others left unfinished."""
        unfinished = [self.folder / name for name in os.listdir(self.folder) if name.endswith(UNFINISHED)]
        _remove([file for when, _, file in _seen(unfinished) if when < time.time() - STALE_SECONDS])

    def trim(self) -> None:
        """Removes what was not used for longest until the rest is within the limit."""
        entries = self.entries()
        excess = sum(size for _, size, _ in entries) - self.limit
        gone = []
        for _, size, file in entries:
            if excess <= 0:
                break
            gone.append(file)
            excess -= size
        _remove(gone)

    def _has_a_turn(self, data: bytes) -> bool:
        """Returns whether the folder is trimmed after this entry, which asks the system about every file.

        That is `TURNS` times for each `limit` bytes that are kept, on average: an entry's checksum draws whether it is.
        """
        return int.from_bytes(data[:4]) * self.limit < TURNS * len(data) * 2**32


def object_cache() -> ObjectCache | None:
    """Returns the user's cache, or None if nothing is kept."""
    root = cache_root()
    return None if root is None else ObjectCache(root / "kernels")


@cache
def compiler_version() -> str:
    """Returns a hash of the compiler's own source and of LLVM's version: other source, other code."""
    return f"{llvmlite.__version__} {source_version('kousoku.compiler')}"


@cache
def source_version(package: str) -> str:
    """Returns a hash of the source of a package and of all below it."""
    sha = hashlib.sha256()
    for name, text in sorted(_sources(resources.files(package), "")):
        sha.update(name.encode() + text)
    return sha.hexdigest()


def _sources(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            found += _sources(entry, name)
        elif name.endswith((".py", ".ll")):
            found.append((name, entry.read_bytes()))
    return found


def _seen(files: Iterable[Path]) -> list[tuple[float, int, Path]]:
    """Returns time of last use, size and path of the files; another process may remove some meanwhile."""
    found = []
    for file in files:
        with contextlib.suppress(OSError):
            about = file.stat()
            found.append((about.st_mtime, about.st_size, file))
    return found


def _remove(files: Iterable[Path]) -> None:
    """Removes files; another process may have removed some."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
