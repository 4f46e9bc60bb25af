"""A data set on disk: one .npz file with its arrays, its environment's id and its spaces."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .dataset import ARRAYS, MARKS, Dataset, DatasetFile, absolute, named_arrays
from .errors import ConfigError, shorten
from .output_file import output_file
from .spaces import Box, Dict, Discrete, MultiDiscrete, Space
from .whole_file import write_arrays

ABOUT = "about"
SPELT = "keys_spelt"
"""Says that keys are in the arrays' names as `_spelt` returns them; it is there where a key has "~" or "/" only."""
SUFFIX = ".npz"
FORMAT = 1
GIVE = "give a kousoku.Dataset, or the .npz file of one that `kousoku.save_dataset` wrote"
MAKE = (
    "make its arrays a kousoku.Dataset(obs, action, reward, terminated, truncated, next_obs, ...): `terminals` "
    "elsewhere are terminated, `timeouts` are truncated, and next_obs has to be given"
)
HDF5 = b"\x89HDF\r\n\x1a\n"
"""What files of that kind begin with."""


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
    held = [(name, getattr(data, name)) for name in data.held]
    arrays = {path: array for name, value in held for path, array in named_arrays(name, value, _spelt)}
    spelt = (
        {} if {path for name, value in held for path, _ in named_arrays(name, value)} == set(arrays) else {SPELT: True}
    )
    about = json.dumps({"format": FORMAT, "env": data.env, **spaces, **spelt})
    write_arrays(target, {ABOUT: np.array(about), **arrays})
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
        _check_kind(str(path), target)
        with np.load(target, allow_pickle=False) as file:
            about = json.loads(str(_plain(ABOUT, file)))
            if about["format"] != FORMAT:
                fix = f"it has format {about['format']!r}, and this version of Kousoku reads format {FORMAT}"
                raise ConfigError("dataset", str(path), f"{fix}; install the one that wrote it")
            spaces = _spaces(about)
            kept = [*ARRAYS, *(name for name in MARKS if name in file.files)]
            arrays = {name: _gathered(name, _space_of(name, spaces), file, about.get(SPELT, False)) for name in kept}
    except ConfigError:
        raise
    except Exception as error:  # of any kind: a file's bytes, taken for an archive, JSON, arrays and spaces
        more = ", or larger than this machine's memory" if isinstance(error, MemoryError) else ""
        raise ConfigError("dataset", str(path), f"it is damaged or none{more} ({error!r}); {GIVE}") from error
    return Dataset(**arrays, **spaces, env=about.get("env"), path=target)


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
        ways = "`kousoku resume RUN --dataset FILE`, or in Python agent=ks.make_agent(..., dataset=FILE)"
        raise ConfigError(
            "dataset", data.path or data.hash, f"{where}; give the agent, with its data set, again: {ways}"
        )
    found = load_dataset(data.path)
    if found.hash != data.hash:
        fix = f"the run learned from other numbers, {data.hash}, and these are {found.hash}; restore the file"
        raise ConfigError("dataset", data.path, fix)
    return found


def of_described(told: dict[str, Any]) -> DatasetFile:
    """Returns the data set that `described` told of, without its numbers."""
    return DatasetFile(**{name: told[name] for name in ("path", "hash", "transitions", "env")})


def _spelt(part: str) -> str:
    """Returns a key of a Dict as names of arrays have it, where "/" stands between keys: as in a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def _space_of(name: str, spaces: dict[str, Space]) -> Space | None:
    """Returns the space that an array's entries are in; None of numbers and flags."""
    if name == "action":
        return spaces["action_space"]
    return spaces["observation_space"] if name in ("obs", "next_obs") else None


def _gathered(name: str, space: Space | None, file: Any, spelt: bool) -> Any:
    """Returns an array by its name, or those of a Dict by theirs; where no key needed it, none is spelt otherwise."""
    if isinstance(space, Dict):
        names = {part: _spelt(part) if spelt else part for part in space.spaces}
        return {part: _gathered(f"{name}/{names[part]}", inner, file, spelt) for part, inner in space.spaces.items()}
    return _plain(f"{name}.npy", file)  # the whole name: a key may end in .npy itself


def _plain(name: str, file: Any) -> np.ndarray:
    """Returns an array of numbers or text; refuses one of Python objects, which would be executed to be read."""
    try:
        return file[name]
    except ValueError as error:
        raise ValueError(f"{name} is damaged, or an array of Python objects, which are not read") from error


def _check_kind(given: str, target: str) -> None:
    """Refuses a file of another kind, and arrays that `save_dataset` did not write, saying what may be made of them.

    Raises:
        ConfigError: naming the arrays that are there.
    """
    with open(target, "rb") as file:
        start = file.read(len(HDF5))
    if start == HDF5:
        raise ConfigError("dataset", given, f"it is an HDF5 file; read it with h5py, and {MAKE}")
    if not zipfile.is_zipfile(target):
        raise ConfigError("dataset", given, f"it is damaged or none (no .npz file); {GIVE}")
    with zipfile.ZipFile(target) as file:
        names = [name.removesuffix(".npy") for name in file.namelist()]
    if ABOUT not in names:
        found = f"it holds the arrays {shorten(names, 160)}" if names else "it holds nothing"
        raise ConfigError("dataset", given, f"it is damaged or none: {found}; {MAKE}")


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


def _spaces(about: dict[str, Any]) -> dict[str, Space]:
    """Returns the two spaces of a description.

    Raises:
        ValueError: for one that is none, in the words of its refusal.
    """
    try:
        return {name: _space(about[name]) for name in ("observation_space", "action_space")}
    except ConfigError as error:
        raise ValueError(str(error)) from error


def _space(told: dict[str, Any]) -> Space:
    """Returns the space that `_told` told of."""
    kind, fields = told["type"], {name: part for name, part in told.items() if name != "type"}
    if kind == "Dict":
        return Dict({name: _space(part) for name, part in fields["spaces"].items()})
    if kind == "Box":
        return Box(fields["low"], fields["high"], tuple(fields["shape"]), fields["dtype"])
    return Discrete(**fields) if kind == "Discrete" else MultiDiscrete(tuple(fields["nvec"]))
