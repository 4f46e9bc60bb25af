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

import contextlib
import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from ...core import whole_file
from ...core.errors import ConfigError
from ...core.output_file import file_stem, is_elsewhere
from ...core.panel import Panel
from ...core.record import REPORT, RunRecord
from . import checkpoints, files, folder_lock, former_folders
from .files import group, read_arrays, read_json, write_json
from .film_files import film_arrays, film_json, film_of, frozen
from .run_kinds import wrong_in_config, wrong_in_facts

CONFIG, FACTS, METRICS, TABLES, PICTURE = "config.json", "run.json", "metrics.jsonl", "tables.npz", "picture.json"
FORMAT = 3
KNOWN = (*former_folders.FORMATS, FORMAT)
LONGEST = 3800
"""Bytes of a run folder's path, which leave room for those of files in it: Linux has 4,096 in all."""
UNFINISHED = "unfinished"
"""The status of a run that is on its way, was killed, or was not evaluated yet."""
MAY_CHANGE = (
    *("steps", "record_every", "sources", "command", "init_from", "own_agent"),
    *("checkpoint_every", "keep_checkpoints", "log", "stop_on_nan"),
)
"""What of a configuration may be another one when a run is resumed, and decides about no bit of what is learned."""
MOVE_AWAY = "it lies in the place of a file that the run writes: move it away, and resume"
"""What to do with a folder there."""
T = TypeVar("T")
GROUPS = ("curves", "tables", "evaluation")
PICTURES = ("values.png", "returns.png", "lengths.png", "visits.png", "error.png")
LOGS = ("tensorboard", "wandb")
WRITTEN = (
    *(FACTS, METRICS, TABLES, PICTURE, checkpoints.FOLDER, folder_lock.LOCK, folder_lock.HELD),
    *(REPORT, *PICTURES, *LOGS),
)
"""What a run writes, removes or replaces in its folder."""


def make_folder(out: str | os.PathLike[str] | None, name: str, asked: dict[str, Any]) -> Path:
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
            _claim(folder, os.fspath(out), config)
            return folder
        stem = f"{file_stem(name)}-{time.strftime('%Y%m%d-%H%M%S')}"
        for attempt in range(1000):
            folder = Path("runs") / (stem if attempt == 0 else f"{stem}-{attempt}")
            folder.parent.mkdir(exist_ok=True)
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            _claim(folder, str(folder), config)
            return folder
        raise ConfigError("out", stem, "name a folder with out=")
    except OSError as error:
        at = "runs" if out is None else out
        raise ConfigError("out", at, f"name a folder that can be written ({error.strerror})") from error


def remove_empty(folder: Path) -> None:
    """Removes a folder with nothing in it, as a run leaves that was refused; the system refuses it of any other."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def check_name(field: str, given: str | os.PathLike[str]) -> Path:
    """Returns the folder of this name.

    Raises:
        ConfigError: for an address of another machine, or a name that is no text.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise ConfigError(field, given, "give the name of a folder")
    text = os.fspath(given)
    if is_elsewhere(text):
        raise ConfigError(field, text, "name a folder on this machine; copy it to where it should be afterwards")
    try:
        os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise ConfigError(field, text, "name a folder in UTF-8: this one has bytes that are no characters") from None
    if "\0" in text:
        raise ConfigError(field, text, "name a folder without NUL characters")
    if (count := len(os.fsencode(os.path.abspath(os.path.expanduser(text))))) > LONGEST:
        fix = f"name a folder whose whole path has at most {LONGEST:,} bytes, this one has {count:,}"
        raise ConfigError(field, text[:40] + "...", fix)
    return files.typed(text)


def _claim(folder: Path, given: str, config: bytes) -> None:
    """Creates the configuration file exclusively: of two runs in one folder the second is refused.

    So is a folder with anything of a name that a run writes: it is somebody else's, or what is left of a run that has
    lost its configuration.
    """
    taken = [name for name in WRITTEN if os.path.lexists(folder / name)]
    if taken and not os.path.lexists(folder / CONFIG):
        raise ConfigError("out", given, f"it holds {taken[0]!r}, which a run would write over; name another folder")
    try:
        file = (folder / CONFIG).open("xb")
    except FileExistsError:
        raise ConfigError("out", given, "it holds a run already; name another folder") from None
    try:
        with file:
            file.write(config)
        whole_file.flush(folder / CONFIG)
        whole_file.flush(folder)
    except BaseException:
        (folder / CONFIG).unlink()
        raise


def open_metrics(folder: Path, kept: bytes) -> TextIO:
    """Opens the metrics file with what is kept of it, line buffered: each report is on disk when it has been made."""
    files.write_bytes(folder / METRICS, kept)
    return (folder / METRICS).open("a", buffering=1, newline="\n")


def save(folder: Path, record: RunRecord, state_leaves: list[np.ndarray]) -> None:
    """Writes everything but the metrics. The report of an earlier end goes: where it is missing, it is drawn anew."""
    if os.path.isfile(folder / REPORT):
        (folder / REPORT).unlink()
    arrays = {f"{part}/{name}": a for part in GROUPS for name, a in getattr(record, part).items()}
    arrays |= {f"state/{i}": leaf for i, leaf in enumerate(state_leaves)}
    arrays |= {"member_seed": record.member_seed, "member_point": record.member_point}
    arrays |= {f"film/{name}": array for name, array in film_arrays(record.film).items()}
    whole_file.write_arrays(folder / TABLES, arrays, sync=True)
    picture = {
        "panels": [dataclasses.asdict(panel) for panel in record.panels],
        "film": film_json(record.film),
    }
    write_json(folder / PICTURE, picture, sync=True)
    write_json(folder / FACTS, {"format": FORMAT, **record.facts, "points": list(record.points)}, sync=True)
    whole_file.flush(folder)


def load(path: str | Path) -> tuple[RunRecord, list[np.ndarray]]:
    """Reads a run folder: the record and the agents' states.

    Raises:
        ConfigError: if there is no run in it, a file is missing or damaged, or a newer format is needed.
    """
    folder = files.typed(path)
    config = read_config(folder)
    facts, picture = _facts(folder), _read(read_json, folder / PICTURE)
    if facts.get("format") not in KNOWN:
        fix = f"this version reads formats {KNOWN[0]} to {FORMAT}; use the version of kousoku that made it"
        raise ConfigError(f"{folder / FACTS} format", facts.get("format"), fix)
    _check_facts(folder, facts)
    arrays = former_folders.renamed(_read(read_arrays, folder / TABLES))
    try:
        groups = {name: group(arrays, name) for name in GROUPS}
        record = RunRecord(
            path=folder,
            config=config,
            facts={k: v for k, v in facts.items() if k not in ("format", "points")},
            points=_points(facts["points"], arrays["member_point"]),
            member_seed=arrays["member_seed"],
            member_point=arrays["member_point"],
            panels=tuple(_panel(panel) for panel in picture["panels"]),
            film=film_of(picture["film"], group(arrays, "film")),
            **groups,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            "run", str(path), f"its files are damaged ({error!r} in {FACTS}, {PICTURE} or {TABLES})"
        ) from error
    return record, list(group(arrays, "state").values())


def read_config(path: str | Path) -> dict[str, Any]:
    """Reads what a run was asked to do.

    Raises:
        ConfigError: if there is no run, or its configuration is damaged.
    """
    check_is_run("run", path)
    config = read_json(files.typed(path) / CONFIG)
    for part in ("agent", "env"):
        told = config.get(part)
        if not isinstance(told, dict) or not isinstance(told.get("id"), str):
            fix = "restore it from a copy, or train again"
            raise ConfigError(f"{part} in {files.typed(path) / CONFIG}", told, fix)
    for name, told in wrong_in_config(config).items():
        raise ConfigError(f"{name} in {files.typed(path) / CONFIG}", told, "restore it from a copy")
    return config


def digest_of(asked: Any) -> str:
    """Returns a digest of what a run was asked to do: of what decides about its bits and stays when it is resumed."""
    kept = {name: value for name, value in asked.items() if name not in MAY_CHANGE}
    return hashlib.sha256(files.json_text(_in_order(kept)).encode()).hexdigest()


def _in_order(told: Any) -> Any:
    """Returns JSON by sorted names, without what is warned of by itself and where data sets lie."""
    if isinstance(told, Mapping):
        left_out = ("path",) if "hash" in told else ("code", "functions") if "registered" in told else ()
        return {name: _in_order(told[name]) for name in sorted(told) if name not in left_out}
    return [_in_order(part) for part in told] if isinstance(told, (list, tuple)) else told


def check_is_run(field: str, path: str | os.PathLike[str]) -> None:
    """Refuses what is no run folder.

    Raises:
        ConfigError: naming the field, or the configuration where something else lies in its place.
    """
    config = files.typed(path) / CONFIG if isinstance(path, (str, os.PathLike)) else None
    if config is None or not os.path.isfile(config):  # which is False, too, for a name that no folder can have
        if config is not None and os.path.lexists(config):
            what = "a folder" if os.path.isdir(config) else "a link to nothing"
            fix = "it lies in the place of what the run was asked to do: move it away, and put that back from a copy"
            raise ConfigError(str(config), what, fix)
        raise ConfigError(field, str(path), "name a folder that `kousoku train` has made")


def has_ended(path: str | Path) -> bool:
    """Returns whether the run came to an end of any kind, and its evaluation to its own.

    Not if it is on its way, was killed, or went on since.
    """
    folder = files.typed(path)
    facts = status(folder)
    if not facts:
        return False
    return facts.get("status") != UNFINISHED and checkpoints.last_step(folder) <= facts.get("steps", 0)


def is_whole(folder: Path) -> bool:
    """Returns whether all files of a run's end are there."""
    return all(os.path.isfile(folder / name) for name in (FACTS, TABLES, PICTURE))


def damage(folder: Path) -> ConfigError | None:
    """Returns what is wrong with a file of a run's end that is there and cannot be read; None if nothing is.

    Raises:
        ConfigError: if a folder lies in the place of a file that a run writes, or a file in that of its checkpoints.
    """
    _check_places(folder)
    try:
        status(folder)
        for name, read in ((TABLES, read_arrays), (PICTURE, read_json)):
            if os.path.lexists(folder / name):
                _read(read, folder / name)
    except ConfigError as error:
        return error
    return None


def _check_places(folder: Path) -> None:
    for name in WRITTEN:
        if name not in (checkpoints.FOLDER, *LOGS) and os.path.isdir(folder / name):
            raise ConfigError(str(folder / name), "a folder", MOVE_AWAY)
    if os.path.isfile(folder / checkpoints.FOLDER):
        fix = "it lies in the place of the folder of checkpoints: move it away, and put that back"
        raise ConfigError(str(folder / checkpoints.FOLDER), "a file", fix)


def nothing_to_show(folder: Path) -> str | None:
    """Says why there is nothing to be seen of a run; None if there is."""
    try:
        read_config(folder)
        begun = status(folder) or checkpoints.last_step(folder)
    except ConfigError as error:
        return str(error)
    return None if begun else "it has neither an end nor a checkpoint"


def status(folder: Path) -> dict[str, Any]:
    """Returns what happened to a run: its facts; {} if it was killed before it could say.

    Raises:
        ConfigError: if they are damaged.
    """
    if not os.path.lexists(folder / FACTS):
        return {}
    facts = _facts(folder)
    _check_facts(folder, facts)
    return facts


def _facts(folder: Path) -> dict[str, Any]:
    """Returns what a run's facts file holds, unchecked, under the names of today."""
    return former_folders.renamed(_read(read_json, folder / FACTS))


def _check_facts(folder: Path, facts: dict[str, Any]) -> None:
    """Refuses facts of a wrong kind; of a format that is not known, only such as are read before it is.

    Raises:
        ConfigError: naming all that are wrong.
    """
    wrong = wrong_in_facts(facts)
    if facts.get("format") not in KNOWN:
        wrong = {name: told for name, told in wrong.items() if name in ("status", "steps")}
    if wrong:
        anew = ", or let `kousoku resume` make it again from a checkpoint" if checkpoints.is_there(folder) else ""
        raise ConfigError(str(folder / FACTS), wrong, f"restore it{anew}")


def _read(read: Callable[[Path], T], path: Path) -> T:
    try:
        return read(path)
    except ConfigError as error:
        if os.path.isdir(path):
            raise ConfigError(str(path), "a folder", MOVE_AWAY) from error
        if checkpoints.last_step(path.parent):
            fix = "`kousoku resume` makes it again, from the last checkpoint"
            raise ConfigError(str(path), "a damaged file", fix) from error
        raise
    except FileNotFoundError:
        ended = path.name != FACTS and (path.parent / FACTS).is_file()
        what = "`kousoku resume` makes it again" if ended else "`kousoku resume` goes on with it"
        fix = f"{path.name} is missing{'' if ended else ': the run did not come to its end'}; {what}"
        raise ConfigError("run", str(path.parent), fix) from None


def _points(told: Any, member_point: np.ndarray) -> tuple[dict[str, float], ...]:
    """Returns a sweep's points, if all agents have one.

    Raises:
        IndexError: if some have none.
    """
    if not 0 <= int(member_point.min()) <= int(member_point.max()) < len(told):
        raise IndexError(f"agents of point {int(member_point.max())}, where points are {len(told)}")
    return tuple(told)


def _panel(data: dict[str, Any]) -> Panel:
    return Panel(**{name: frozen(value) for name, value in data.items()})
