"""A run on disk: written so that nothing half-written is ever read, read so that nothing in it is executed.

config.json    what was asked for
run.json       what happened: status, versions, device, speed, members, sweep points
metrics.jsonl  one line for each report, written as it is made
tables.npz     curves, tables, evaluation and the agents' states, as plain arrays
picture.json   how states lie in a picture, and the best member's episode
checkpoints/   the run's whole state at some steps, see `checkpoints`
lock.json      the process at work in it, while there is one; beside it `lock`, which the system holds for it
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from ...core.errors import ConfigError
from ...core.panel import Panel
from ...core.record import RunRecord
from . import checkpoints, files
from .files import group, read_arrays, read_json, write_arrays, write_json
from .film_files import film_arrays, film_json, film_of, frozen

CONFIG, FACTS, METRICS, TABLES, PICTURE = "config.json", "run.json", "metrics.jsonl", "tables.npz", "picture.json"
FORMAT = 1
UNFINISHED = "unfinished"
"""The status of a run that is on its way, was killed, or was not evaluated yet."""
T = TypeVar("T")
GROUPS = ("curves", "tables", "evaluation")


def make_folder(out: str | None, name: str, asked: dict[str, Any]) -> Path:
    """Makes the run folder: the one asked for, or a new one below runs/ named after the run and the time.

    Args:
        out: the folder asked for, or None.
        name: of the run.
        asked: what the run is to do, which the folder holds from its beginning.

    Raises:
        ConfigError: if the folder holds a run already, or cannot be made.
    """
    config = files.json_bytes(asked)
    try:
        if out is not None:
            folder = check_name("out", out)
            folder.mkdir(parents=True, exist_ok=True)
            _claim(folder, out, config)
            return folder
        stem = f"{re.sub('[/:]', '-', name)}-{time.strftime('%Y%m%d-%H%M%S')}"
        for attempt in range(1000):
            folder = Path("runs") / (stem if attempt == 0 else f"{stem}-{attempt}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            _claim(folder, str(folder), config)
            return folder
        raise ConfigError("out", stem, "name a folder with out=")
    except OSError as error:
        raise ConfigError("out", out, f"name a folder that can be written ({error.strerror})") from error


def check_name(field: str, given: str | os.PathLike[str]) -> Path:
    """Returns the folder of this name.

    Raises:
        ConfigError: for an address of another machine, or a name that is no text.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ConfigError(field, given, "give the name of a folder")
    text = os.fspath(given)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", text):  # a single letter is a drive
        raise ConfigError(field, text, "name a folder on this machine; copy it to where it should be afterwards")
    try:
        os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise ConfigError(field, text, "name a folder in UTF-8: this one has bytes that are no characters") from None
    if "\0" in text:
        raise ConfigError(field, text, "name a folder without NUL characters")
    return files.typed(text)


def _claim(folder: Path, given: str, config: bytes) -> None:
    """Creates the configuration file exclusively: of two runs in one folder the second is refused."""
    try:
        file = (folder / CONFIG).open("xb")
    except FileExistsError:
        raise ConfigError("out", given, "it holds a run already; name another folder") from None
    try:
        with file:
            file.write(config)
    except BaseException:
        (folder / CONFIG).unlink()
        raise


def open_metrics(folder: Path, kept: bytes = b"") -> TextIO:
    """Opens the metrics file with what is kept of it, line buffered: each report is on disk when it has been made."""
    files.write_bytes(folder / METRICS, kept)
    return (folder / METRICS).open("a", buffering=1, newline="\n")


def save(folder: Path, record: RunRecord, state_leaves: list[np.ndarray]) -> None:
    """Writes everything but the metrics."""
    arrays = {f"{part}/{name}": a for part in GROUPS for name, a in getattr(record, part).items()}
    arrays |= {f"state/{i}": leaf for i, leaf in enumerate(state_leaves)}
    arrays |= {"lane_seed": record.member_seed, "lane_point": record.member_point}
    arrays |= {f"film/{name}": array for name, array in film_arrays(record.film).items()}
    write_arrays(folder / TABLES, arrays)
    picture = {
        "panels": [dataclasses.asdict(panel) for panel in record.panels],
        "film": film_json(record.film),
    }
    write_json(folder / PICTURE, picture)
    write_json(folder / FACTS, {"format": FORMAT, **record.facts, "points": list(record.points)})


def load(path: str | Path) -> tuple[RunRecord, list[np.ndarray]]:
    """Reads a run folder: the record and the agents' states.

    Raises:
        ConfigError: if there is no run in it, a file is missing or damaged, or a newer format is needed.
    """
    folder = files.typed(path)
    config = read_config(folder)
    facts, picture = (_read(read_json, folder / name) for name in (FACTS, PICTURE))
    if facts.get("format") != FORMAT:
        fix = f"this version reads format {FORMAT}; use the version of kousoku that made it"
        raise ConfigError(f"{folder / FACTS} format", facts.get("format"), fix)
    arrays = _read(read_arrays, folder / TABLES)
    try:
        groups = {name: group(arrays, name) for name in GROUPS}
        record = RunRecord(
            path=folder,
            config=config,
            facts={k: v for k, v in facts.items() if k not in ("format", "points")},
            points=tuple(facts["points"]),
            member_seed=arrays["lane_seed"],
            member_point=arrays["lane_point"],
            panels=tuple(_panel(panel) for panel in picture["panels"]),
            film=film_of(picture["film"], group(arrays, "film")),
            **groups,
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ConfigError("run", str(path), f"its files are damaged ({error!r} in {PICTURE} or {TABLES})") from error
    return record, list(group(arrays, "state").values())


def read_config(path: str | Path) -> dict[str, Any]:
    """Reads what a run was asked to do.

    Raises:
        ConfigError: if there is no run, or its configuration is damaged.
    """
    check_is_run("run", path)
    return read_json(files.typed(path) / CONFIG)


def check_is_run(field: str, path: str | os.PathLike[str]) -> None:
    """Refuses what is no run folder.

    Raises:
        ConfigError: naming the field.
    """
    if not os.path.isfile(files.typed(path) / CONFIG):  # False too for a name that no folder can have
        raise ConfigError(field, str(path), "name a folder that `kousoku train` has made")


def has_ended(path: str | Path) -> bool:
    """Tells whether the run came to an end of any kind, and its evaluation to its own.

    Not if it is on its way, was killed, or went on since.
    """
    folder = files.typed(path)
    if not os.path.isfile(folder / FACTS):
        return False
    facts = status(folder)
    return facts.get("status") != UNFINISHED and checkpoints.last_step(folder) <= facts.get("steps", 0)


def nothing_to_show(folder: Path) -> str | None:
    """Says why there is nothing to be seen of a run; None if there is."""
    try:
        read_config(folder)
        begun = status(folder) or checkpoints.last_step(folder)
    except ConfigError as error:
        return str(error)
    return None if begun else "it has neither an end nor a checkpoint"


def status(folder: Path) -> dict[str, Any]:
    """Returns what happened to a run: its facts; {} if it was killed before it could say."""
    return read_json(folder / FACTS) if (folder / FACTS).is_file() else {}


def _read(read: Callable[[Path], T], path: Path) -> T:
    try:
        return read(path)
    except FileNotFoundError:
        fix = f"{path.name} is missing: the run did not come to its end; `kousoku train --resume` goes on with it"
        raise ConfigError("run", str(path.parent), fix) from None


def _panel(data: dict[str, Any]) -> Panel:
    return Panel(**{name: frozen(value) for name, value in data.items()})
