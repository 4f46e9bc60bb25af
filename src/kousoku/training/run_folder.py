"""A run on disk: written so that nothing half-written is ever read, read so that nothing in it is executed.

config.json    what was asked for
run.json       what happened: status, versions, device, speed, lanes, sweep points
metrics.jsonl  one line for each report, written as it is made
tables.npz     curves, tables, evaluation and the agents' states, as plain arrays
picture.json   how states lie in a picture, and the best lane's episode
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..core.errors import ConfigError
from ..core.panel import Panel
from ..core.record import RunRecord
from .film_files import film_arrays, film_json, film_of, frozen

CONFIG, FACTS, METRICS, TABLES, PICTURE = "config.json", "run.json", "metrics.jsonl", "tables.npz", "picture.json"
FORMAT = 1
GROUPS = ("curves", "tables", "evaluation")


def make_folder(out: str | None, name: str) -> Path:
    """Make the run folder: the one asked for, or a new one below runs/ named after the run and the time.

    Raises:
        ConfigError: if the folder holds a run already, or cannot be made.
    """
    try:
        if out is not None:
            folder = Path(out).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            _claim(folder, out)
            return folder
        stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
        for attempt in range(1000):
            folder = Path("runs") / (stem if attempt == 0 else f"{stem}-{attempt}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            _claim(folder, str(folder))
            return folder
        raise ConfigError("out", stem, "name a folder with out=")
    except OSError as error:
        raise ConfigError("out", out, f"name a folder that can be written ({error.strerror})") from error


def _claim(folder: Path, given: str) -> None:
    """Create the configuration file exclusively: of two runs in one folder the second is refused."""
    try:
        (folder / CONFIG).open("x").close()
    except FileExistsError:
        raise ConfigError("out", given, "it holds a run already; name another folder") from None


def write_json(path: Path, value: Any) -> None:
    """Write a file whole or not at all."""
    _write(path, lambda part: part.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n"))


def open_metrics(folder: Path) -> TextIO:
    """The metrics file, line buffered: each report is on disk when it has been made."""
    return (folder / METRICS).open("w", buffering=1)


def save(folder: Path, record: RunRecord, state_leaves: list[np.ndarray]) -> None:
    """Write everything but the metrics."""
    arrays = {f"{group}/{name}": a for group in GROUPS for name, a in getattr(record, group).items()}
    arrays |= {f"state/{i}": leaf for i, leaf in enumerate(state_leaves)}
    arrays |= {"lane_seed": record.lane_seed, "lane_point": record.lane_point}
    arrays |= {f"film/{name}": array for name, array in film_arrays(record.film).items()}

    def write_arrays(part: Path) -> None:
        with part.open("wb") as file:
            np.savez(file, **arrays)

    _write(folder / TABLES, write_arrays)
    picture = {
        "panels": [dataclasses.asdict(panel) for panel in record.panels],
        "film": film_json(record.film),
    }
    write_json(folder / PICTURE, picture)
    write_json(folder / FACTS, {"format": FORMAT, **record.facts, "points": list(record.points)})


def load(path: str | Path) -> tuple[RunRecord, list[np.ndarray]]:
    """Read a run folder: the record and the agents' states.

    Raises:
        ConfigError: if there is no run in it, a file is missing or damaged, or a newer format is needed.
    """
    folder = Path(path).expanduser()
    if not (folder / CONFIG).is_file():
        raise ConfigError("run", str(path), "name a folder that `kousoku train` has made")
    config, facts, picture = (_read_json(folder, name) for name in (CONFIG, FACTS, PICTURE))
    if facts.get("format") != FORMAT:
        fix = f"this version reads format {FORMAT}; use the version of kousoku that made it"
        raise ConfigError(f"{folder / FACTS} format", facts.get("format"), fix)
    arrays = _read_arrays(folder)
    try:
        groups = {group: _group(arrays, group) for group in GROUPS}
        record = RunRecord(
            path=folder,
            config=config,
            facts={k: v for k, v in facts.items() if k not in ("format", "points")},
            points=tuple(facts["points"]),
            lane_seed=arrays["lane_seed"],
            lane_point=arrays["lane_point"],
            panels=tuple(_panel(panel) for panel in picture["panels"]),
            film=film_of(picture["film"], _group(arrays, "film")),
            **groups,
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ConfigError("run", str(path), f"its files are damaged ({error!r} in {PICTURE} or {TABLES})") from error
    return record, list(_group(arrays, "state").values())


def _write(path: Path, fill: Callable[[Path], object]) -> None:
    part = path.with_name(path.name + ".part")
    fill(part)
    os.replace(part, path)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError("run", str(folder), f"{name} is missing: the run did not come to its end") from None
    except (OSError, ValueError) as error:
        raise ConfigError(str(path), "a damaged file", f"restore it or train again ({error})") from error
    if not isinstance(value, dict):
        raise ConfigError(str(path), value, "restore it or train again: it should hold an object")
    return value


def _read_arrays(folder: Path) -> dict[str, np.ndarray]:
    path = folder / TABLES
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise ConfigError("run", str(folder), f"{TABLES} is missing: the run did not come to its end") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(str(path), "a damaged file", f"restore it or train again ({error})") from error


def _group(arrays: dict[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    prefix = f"{group}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _panel(data: dict[str, Any]) -> Panel:
    return Panel(**{name: frozen(value) for name, value in data.items()})
