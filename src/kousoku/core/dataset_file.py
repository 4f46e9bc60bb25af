"""A data set on disk: one .npz file with its arrays, its environment's id and its spaces."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .dataset import ARRAYS, BROKEN_OFF, Dataset, DatasetFile, absolute, named_arrays
from .errors import ConfigError
from .output_file import output_file
from .spaces import Box, Dict, Discrete, MultiDiscrete, Space

ABOUT = "about"
SUFFIX = ".npz"
FORMAT = 1
GIVE = "give a kousoku.Dataset, or the .npz file of one that `kousoku.save_dataset` wrote"


def save_dataset(data: Dataset, path: str | os.PathLike[str]) -> Dataset:
    """Writes a data set to a file, whole or not at all; nothing in it is executed when it is read.

    Args:
        data: what is to be written.
        path: the file's name, which ends in .npz.

    Returns:
        The same data set, which knows its file.

    Raises:
        ConfigError: for another ending, a folder, or a file in a folder that does not exist.
    """
    if not isinstance(data, Dataset):
        raise ConfigError("data", data, "give a kousoku.Dataset")
    target = Path(absolute(output_file("path", path)))
    if target.suffix != SUFFIX:
        raise ConfigError("path", str(path), f"use a name that ends in {SUFFIX}")
    spaces = {name: _told(getattr(data, name)) for name in ("observation_space", "action_space")}
    about = json.dumps({"format": FORMAT, "env": data.env, **spaces})
    arrays = {path: array for name in data.held for path, array in named_arrays(name, getattr(data, name))}
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as file:
            np.savez(file, **{ABOUT: np.array(about)}, **arrays)  # pyright: ignore[reportArgumentType]
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return dataclasses.replace(data, path=str(target))


def load_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Reads a data set that `save_dataset` wrote.

    Raises:
        ConfigError: for what is no such file, or is damaged.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigError("dataset", path, GIVE)
    target = absolute(path)
    if not os.path.isfile(target):
        raise ConfigError("dataset", str(path), f"there is no such file; {GIVE}")
    try:
        with np.load(target, allow_pickle=False) as file:
            about = json.loads(str(file[ABOUT]))
            if about["format"] != FORMAT:
                fix = f"it has format {about['format']!r}, and this version of Kousoku reads format {FORMAT}"
                raise ConfigError("dataset", str(path), f"{fix}; install the one that wrote it")
            arrays = {name: _gathered(name, file) for name in ARRAYS}
            broken_off = file[BROKEN_OFF] if BROKEN_OFF in file.files else None
        spaces = {name: _space(about[name]) for name in ("observation_space", "action_space")}
    except (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("dataset", str(path), f"it is damaged or none ({error!r}); {GIVE}") from error
    return Dataset(**arrays, **spaces, env=about.get("env"), path=target, broken_off=broken_off)


def as_dataset(given: Any) -> Dataset | DatasetFile | None:
    """Returns a data set that is given as one, or as a file's name; None for none.

    Raises:
        ConfigError: for anything else.
    """
    if given is None or isinstance(given, (Dataset, DatasetFile)):
        return given
    if isinstance(given, (str, os.PathLike)):
        return load_dataset(given)
    raise ConfigError("dataset", given, GIVE)


def with_numbers(data: Dataset | DatasetFile) -> Dataset:
    """Returns a data set with its numbers, read from its file if need be.

    Raises:
        ConfigError: if the file is not there, or holds other numbers than those that were learned from.
    """
    if isinstance(data, Dataset):
        return data
    if data.path is None or not os.path.isfile(data.path):
        where = "it was made in Python" if data.path is None else "the file is not there"
        raise ConfigError("dataset", data.path or data.hash, f"{where}; give the agent, with its data set, again")
    found = load_dataset(data.path)
    if found.hash != data.hash:
        fix = f"the run learned from other numbers, {data.hash}, and these are {found.hash}; restore the file"
        raise ConfigError("dataset", data.path, fix)
    return found


def of_described(told: dict[str, Any]) -> DatasetFile:
    """Returns the data set that `described` told of, without its numbers."""
    return DatasetFile(**{name: told[name] for name in ("path", "hash", "transitions", "env")})


def _gathered(name: str, file: Any) -> Any:
    """Returns an array by its name, or a dict of those whose names begin with it."""
    if name in file.files:
        return file[name]
    parts = sorted({path[len(name) + 1 :].split("/")[0] for path in file.files if path.startswith(f"{name}/")})
    if not parts:
        raise KeyError(name)
    return {part: _gathered(f"{name}/{part}", file) for part in parts}


def _told(space: Space) -> dict[str, Any]:
    """Returns a space as JSON."""
    if isinstance(space, Dict):
        return {"type": "Dict", "spaces": {name: _told(part) for name, part in space.spaces.items()}}
    if isinstance(space, Box):
        return {
            "type": "Box", "low": space.low, "high": space.high, "shape": space.shape, "dtype": space.dtype.name
        }  # fmt: skip
    return {"type": "Discrete", "n": space.n} if isinstance(space, Discrete) else {
        "type": "MultiDiscrete", "nvec": space.nvec
    }  # fmt: skip


def _space(told: dict[str, Any]) -> Space:
    """Returns the space that `_told` told of."""
    kind, fields = told["type"], {name: part for name, part in told.items() if name != "type"}
    if kind == "Dict":
        return Dict({name: _space(part) for name, part in fields["spaces"].items()})
    if kind == "Box":
        return Box(fields["low"], fields["high"], tuple(fields["shape"]), fields["dtype"])
    return Discrete(**fields) if kind == "Discrete" else MultiDiscrete(tuple(fields["nvec"]))
