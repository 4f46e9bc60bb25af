"""Curves of a record in tidy form: a row for each report, member and metric, as packages for statistics read it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from .output_file import output_file
from .record import RunRecord, steps_of
from .whole_file import write_whole

OWN = ("step", "seconds", "seed", "metric", "value")


def tidy_columns(record: RunRecord) -> dict[str, Shaped[np.ndarray, " rows"]]:
    """Returns the columns step, seconds, seed, one for each hyper-parameter of a sweep, metric and value.

    The metrics are the names of `RunRecord.curves`, evaluations among them. A value is NaN where nothing was known, as
    the return of a report in which no episode ended; so are the seconds, if they were not recorded.
    """
    members = record.num_members
    names = list(dict.fromkeys(name for point in record.points for name in point))
    parts: list[dict[str, Any]] = []
    for metric, values in record.curves.items():
        if values.ndim != 2:  # the steps and the times themselves
            continue
        step = np.asarray(record.curves[steps_of(metric)])
        columns = {"step": step, "seconds": _seconds(record, step)}
        part = {name: np.repeat(column, members) for name, column in columns.items()}
        part["seed"] = np.tile(record.member_seed, len(step))
        for name in names:
            swept = np.array([record.points[p].get(name, np.nan) for p in record.member_point.tolist()])
            part[_column(name)] = np.tile(swept, len(step))
        part["metric"] = np.full(step.size * members, metric, object)
        parts.append(part | {"value": np.asarray(values, np.float64).reshape(-1)})
    order = ["step", "seconds", "seed", *map(_column, names), "metric", "value"]
    return {name: np.concatenate([part[name] for part in parts] or [np.empty(0)]) for name in order}


def write_csv(record: RunRecord, path: str | Path) -> Path:
    """Writes the tidy columns as comma-separated values, UTF-8, with their names in the first line; NaN as nothing.

    Raises:
        ConfigError: for what is no name of a file, a folder, or a file in a folder that does not exist.
    """
    target = output_file("path", path)
    columns = tidy_columns(record)

    def fill(part: Path) -> None:
        with part.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*(_cells(column) for column in columns.values()), strict=True))

    return write_whole(target, fill)


def _column(name: str) -> str:
    """Returns the column of a hyper-parameter, which may be called as one of the others is."""
    return f"setting_{name}" if name in OWN else name


def _seconds(record: RunRecord, step: Shaped[np.ndarray, " R"]) -> Shaped[np.ndarray, " R"]:
    """Returns the seconds of the reports at these steps; NaN where there is none."""
    if "seconds" not in record.curves:
        return np.full(len(step), np.nan)
    known = dict(zip(record.curves["step"].tolist(), record.curves["seconds"].tolist(), strict=True))
    return np.array([known.get(s, np.nan) for s in step.tolist()], np.float64)


def _cells(column: Shaped[np.ndarray, " rows"]) -> list[Any]:
    return ["" if value != value else value for value in column.tolist()]
