"""Files that are there whole or not at all, and that nothing in them is executed when they are read.

Arrays are plain .npz without pickles, as `kousoku.core.whole_file.write_arrays` writes them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.whole_file import write_whole

GONE = "the run folder is gone, and all that was in it"
INFINITIES = ("inf", "-inf")
DAMAGE = (OSError, ValueError, EOFError, KeyError, RecursionError, zipfile.BadZipFile)
"""What reading a damaged file may raise."""


def typed(path: str | os.PathLike[str]) -> Path:
    """Returns a path as somebody typed it, with ~ for a home; where there is no such user, as it stands."""
    return Path(os.path.expanduser(path))


@dataclass(frozen=True)
class Location:
    """The place of a folder, which is found and told wherever the working folder is.

    Attributes:
        typed: its name as somebody typed it.
        absolute: its name from the root on.
    """

    typed: Path
    absolute: Path

    @staticmethod
    def of(path: str | os.PathLike[str]) -> Location:
        """Returns the place of a folder that is named in the working folder as this is now."""
        name = typed(path)
        return Location(name, name.absolute())

    @property
    def here(self) -> Path:
        """Its name as it was typed, where that leads to it still, and else from the root on."""
        try:
            return self.typed if self.typed.absolute() == self.absolute else self.absolute
        except FileNotFoundError:  # there is no working folder any more
            return self.absolute


@contextlib.contextmanager
def refusals_explained(place: Location, what_is_left: Callable[[], str]) -> Iterator[None]:
    """Adds to what a disk refuses the folder and what is left in it, where the error names no file elsewhere.

    Raises:
        OSError: the same, with its number.
    """
    try:
        yield
    except OSError as error:
        named = error.filename
        at = Path(os.path.abspath(os.fsdecode(named))) if isinstance(named, (str, bytes)) else place.absolute
        if error.errno is None or not at.is_relative_to(place.absolute):
            raise
        left = what_is_left() if os.path.isdir(place.absolute) else GONE  # it never raises
        what = str(error.strerror)
        said = what if left in what else f"{refusal(error, at)}; {left}"
        raise OSError(error.errno, said, str(place.here / at.relative_to(place.absolute))) from error


def refusal(error: OSError, at: Path) -> str:
    """Returns what a disk says of a path; where something lies in the place of a file or a folder, what to do."""
    if os.path.isdir(at) and isinstance(error, IsADirectoryError if os.name != "nt" else PermissionError):
        return "a folder lies in the place of this file: move it away"
    if isinstance(error, NotADirectoryError | FileExistsError):
        in_the_way = next((path for path in (at, *at.parents) if os.path.isfile(path)), at)
        return f"{in_the_way.name!r} is a file that lies in the place of a folder: move it away"
    return str(error.strerror)


def write_json(path: Path, value: Any, *, sync: bool = False) -> None:
    """Writes `json_bytes`."""
    write_bytes(path, json_bytes(value), sync=sync)


def json_bytes(value: Any) -> bytes:
    """Returns `json_text` as a file holds it."""
    return (json_text(value, indent=2) + "\n").encode()


def json_text(value: Any, indent: int | None = None) -> str:
    """Returns JSON; as that knows no infinity, it stands there as the word "inf" or "-inf".

    Raises:
        ValueError: for NaN.
    """
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def write_bytes(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Writes bytes."""
    write_whole(path, lambda part: part.write_bytes(data), sync=sync)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads named arrays from .npz.

    Raises:
        FileNotFoundError: if it is missing.
        ConfigError: if it is damaged, or holds a pickle.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except (*DAMAGE, AttributeError, TypeError) as error:
        raise _damaged(path, error) from error


def read_json(path: Path) -> dict[str, Any]:
    """Reads an object from JSON as `write_json` writes it: the words "inf" and "-inf" are numbers.

    Raises:
        FileNotFoundError: if it is missing.
        ConfigError: if it is damaged, or holds no object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error
    if not isinstance(value, dict):
        raise ConfigError(str(path), value, "restore it or train again: it should hold an object")
    return _infinite(value)


def _finite(value: Any) -> Any:
    """Returns a value for JSON, with infinite numbers as words."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(float(value)) if isinstance(value, float) and math.isinf(value) else value


def _infinite(value: Any) -> Any:
    """Returns a value from JSON, with words for infinite numbers as those."""
    if isinstance(value, dict):
        return {key: _infinite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_infinite(item) for item in value]
    return float(value) if value in INFINITIES else value


def group(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Returns the arrays named "NAME/..." by the rest of their names."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def _damaged(path: Path, error: BaseException) -> ConfigError:
    return ConfigError(str(path), "a damaged file", f"restore it or train again ({error})")
