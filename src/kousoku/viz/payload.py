"""A record as the JSON that the report's page draws from: chosen, thinned and rounded so that the file stays small."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..core.record import RunRecord
from ..core.scene3d import Trajectory3d
from ..ops.statistics import mean_interval
from . import headline
from .animation import Animation
from .encode import numbers
from .film import film
from .film2d import pace
from .movie import png_bytes
from .style import BINS, SERIES
from .summary import curve, largest_errors, point_order, primary_curve, score, wants_log_axis, with_error_curve
from .tables import lane_name, tables
from .text import rows, setting

FILM_PAGE = "film.html"
STILL_WIDTH, STILL_AT = 720, 0.25
MAX_LANES = 50
MAX_SWEEP_ROWS = 200
MAX_FAINT_CURVES = 40
COLORED = len(SERIES["light"])

CURVES = {
    "return": ("Return", "return of the episodes that ended"),
    "reward": ("Reward", "reward per step"),
    "length": ("Episode length", "steps per episode"),
    "td_error": ("TD error", "mean absolute TD error"),
    "value_error": ("Value error", "mean distance from the exact values over all states"),
}


def payload(record: RunRecord) -> dict[str, Any]:
    """Everything that the page shows."""
    record, order = with_error_curve(record), point_order(record)
    return {
        "title": headline.title(record),
        "finished": headline.finished(record),
        "sentence": headline.sentence(record),
        "figures": [figure._asdict() for figure in headline.figures(record)],
        "bins": BINS,
        "colored": COLORED,
        "tables": tables(record, order),
        "curves": [_curve(record, name, order) for name in _curve_names(record)],
        "sweep": _sweep(record, order),
        "player": _player(record),
        "config": _config(record),
        "command": record.config.get("command"),
        "started": record.facts.get("started"),
    }


def _curve_names(record: RunRecord) -> list[str]:
    """The curve that shows the learning first, then what else was recorded; the reward only in the return's place."""
    first = primary_curve(record)
    others = [n for n in record.curves if n in ("return", "length", "td_error", "value_error") or n.startswith("info.")]
    useful = [n for n in others if n != first and not np.isnan(np.asarray(record.curves[n], np.float64)).all()]
    return ([first] if first else []) + useful


def _curve(record: RunRecord, name: str, order: list[int]) -> dict[str, Any]:
    data = curve(record, name)
    title, unit = CURVES.get(name, (name.removeprefix("info."), f"mean of {name.removeprefix('info.')} per step"))
    single = len(record.points) == 1
    series = [
        {
            "name": _series_name(record) if single else setting(record.points[p]),
            "color": rank if rank < COLORED else -1,
            "mean": numbers(data.mean[:, p]),
            "low": numbers(data.low[:, p]) if rank < COLORED else None,
            "high": numbers(data.high[:, p]) if rank < COLORED else None,
        }
        for rank, p in enumerate(order[: COLORED + MAX_FAINT_CURVES])
    ]
    ranks = {point: rank for rank, point in enumerate(order)}
    faint = range(record.num_lanes) if 1 < record.num_lanes <= MAX_LANES else ()
    lanes = [{"color": _color(ranks[int(record.lane_point[n])]), "values": numbers(data.lanes[:, n])} for n in faint]
    log = wants_log_axis(name, data.lanes)
    unit += " (logarithmic)" if log else ""
    return {"title": title, "unit": unit, "log": log, "step": numbers(data.step), "series": series, "lanes": lanes}


def _series_name(record: RunRecord) -> str:
    return "the agent" if record.num_lanes == 1 else f"mean of {record.num_lanes:,} agents"


def _color(rank: int) -> int:
    return rank if rank < COLORED else -1


def _sweep(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """One row for each setting, best first."""
    if len(record.points) == 1:
        return None
    result, errors = score(record), largest_errors(record)
    names = list(dict.fromkeys(name for point in record.points for name in point))
    found = []
    for point in order[:MAX_SWEEP_ROWS]:
        lanes = record.lane_point == point
        worth = mean_interval(result.lanes[lanes])
        error = None if errors is None else mean_interval(errors[lanes]).mean
        found.append(
            {
                "values": numbers([record.points[point].get(name, np.nan) for name in names]),
                "lanes": int(lanes.sum()),
                "score": numbers([worth.mean, worth.low, worth.high]),
                "error": None if error is None else numbers(error)[0],
            }
        )
    return {"names": names, "score": result.name, "rows": found, "left": max(0, len(order) - MAX_SWEEP_ROWS)}


def _player(record: RunRecord) -> dict[str, Any] | None:
    """The best agent's episode: its scenes; in three dimensions a still, since a page of its own shows it."""
    if record.film is None:
        return None
    known = "return" in record.evaluation or record.num_lanes == 1
    who = ("best agent, " if known and record.num_lanes > 1 else "") + lane_name(record, record.best_lane)
    told = {"who": who, "best": known}
    if isinstance(record.film, Trajectory3d):
        return {**told, "still": still(record.film), "page": FILM_PAGE if record.path else None}
    return {**told, "seconds": pace([record.film]), **film(record.film.scenes)}


def still(trajectory: Trajectory3d) -> str:
    """A picture out of a film, early enough for a walk to be under way, as a data address."""
    picture = next(Animation((trajectory,)).pictures(STILL_WIDTH, [int(STILL_AT * len(trajectory))]))
    return "data:image/png;base64," + base64.b64encode(png_bytes(picture)).decode()


def _config(record: RunRecord) -> list[dict[str, Any]]:
    """Configuration, versions and device as titled lists of names and values."""
    config = {key: value for key, value in record.config.items() if key != "command"}
    groups = [
        ("Agent", config.pop("agent", {})),
        ("Environment", config.pop("env", {})),
        ("Run", config),
        ("Versions", record.facts.get("versions", {})),
        ("Device", record.facts.get("device", {})),
    ]
    return [
        {"title": name, "rows": [list(row) for row in rows("", group) if row[0]]} for name, group in groups if group
    ]
