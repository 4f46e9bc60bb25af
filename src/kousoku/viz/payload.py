"""A record as the JSON that the report's page draws from: chosen, thinned and rounded so that the file stays small."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..core.record import RunRecord
from ..core.scene import Circle, Line, Rect, Scene, Shape, Text
from ..ops.statistics import mean_interval
from . import headline
from .style import BINS, SERIES
from .summary import (
    best_lane, curve, greedy, is_bandit, largest_errors, mean_over_lanes, panels_of, point_order, primary_curve, score,
    with_error_curve,
)  # fmt: skip
from .svg import safe_color
from .text import rows, setting

DIGITS = 5
MAX_LANES = 50
MAX_NUMBERS = 300_000
MAX_BANDIT_ACTIONS = 200
MAX_FRAMES = 500
MAX_SHAPES = 60_000
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


def to_json(data: Any) -> str:
    """JSON that can stand inside a <script> element: no character of it can end the element or begin another.

    Examples:
        >>> to_json({"x": "</script>&", "y": float("nan")})
        '{"x":"\\\\u003c/script\\\\u003e\\\\u0026","y":null}'
    """
    text = json.dumps(_plain(data), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def numbers(array: Any) -> list[Any]:
    """An array, flattened and rounded to 5 significant digits; None for NaN and infinities.

    Examples:
        >>> numbers(np.array([[0.1234567, 2.0], [np.nan, -np.inf]]))
        [0.12346, 2, None, None]
    """
    x = np.asarray(array, np.float64).reshape(-1)
    finite = np.isfinite(x)
    return [_rounded(v) if ok else None for v, ok in zip(x.tolist(), finite.tolist(), strict=True)]


def tables(record: RunRecord, order: list[int]) -> dict[str, Any] | None:
    """The tables of action values: means, the best and the worst agent, and others evenly spread, as far as they fit."""
    if "q" not in record.tables:
        return None
    q = record.tables["q"]
    _, states, actions = q.shape
    room = MAX_NUMBERS // (states * (actions + 2))
    bandit = is_bandit(record)
    if room < 2 or (bandit and actions > MAX_BANDIT_ACTIONS):
        return {"tooLarge": f"{states:,} states with {actions:,} actions are too many for this page."}
    panels = panels_of(record)
    named = [panel.action_names for panel in panels if len(panel.action_names) == actions]
    arrows = [panel.action_arrows for panel in panels if len(panel.action_arrows) == actions]
    exact = record.tables.get("exact_q")
    return {
        "bandit": bandit,
        "states": states,
        "actions": list(named[0]) if named and not bandit else [f"arm {a}" if bandit else str(a) for a in range(actions)],
        "arrows": [None if arrow is None else list(arrow) for arrow in (arrows[0] if arrows else [None] * actions)],
        "panels": [] if bandit else [_panel(panel) for panel in panels],
        "reachable": record.tables["reachable"].astype(int).tolist() if "reachable" in record.tables else None,
        "exact": None if exact is None else {"q": numbers(exact), "greedy": _masks(exact)},
        "agents": [_agent(record, name, lanes) for name, lanes in _chosen(record, order, min(room - 1, MAX_LANES))],
        "visited": "visits" in record.tables,
    }


def _chosen(record: RunRecord, order: list[int], room: int) -> list[tuple[str, np.ndarray]]:
    """(name, lanes whose mean it is): the first one is shown first."""
    count, best = record.num_lanes, best_lane(record)
    everybody = np.arange(count)
    if count == 1:
        return [("the agent", everybody)]
    chosen: list[tuple[str, np.ndarray]] = []
    if len(record.points) > 1:
        for rank, point in enumerate(order[: max(1, room - 4)]):
            prefix = "best setting: " if rank == 0 else "mean of "
            chosen.append((prefix + setting(record.points[point]), np.flatnonzero(record.lane_point == point)))
    chosen += [(f"mean of all {count:,} agents", everybody), (f"best agent ({_lane_name(record, best)})", np.array([best]))]
    lanes = score(record).lanes
    if not np.isnan(lanes).all():
        worst = int(np.nanargmin(lanes))
        chosen.append((f"weakest agent ({_lane_name(record, worst)})", np.array([worst])))
    spread = np.unique(np.linspace(0, count - 1, max(0, min(count, room - len(chosen)))).astype(int))
    chosen += [(_lane_name(record, int(lane)), np.array([lane])) for lane in spread]
    return chosen[: max(room, 1)]


def _lane_name(record: RunRecord, lane: int) -> str:
    point = record.points[record.lane_point[lane]]
    return f"seed {record.lane_seed[lane]}" + (f", {setting(point)}" if len(record.points) > 1 else "")


def _agent(record: RunRecord, name: str, lanes: np.ndarray) -> dict[str, Any]:
    q = mean_over_lanes(record.tables["q"][lanes])
    visits = record.tables["visits"][lanes].mean(axis=0) if "visits" in record.tables else None
    if visits is not None and not is_bandit(record):
        visits = visits.sum(axis=-1)
    return {"name": name, "q": numbers(q), "greedy": _masks(q), "visits": None if visits is None else numbers(visits)}


def _masks(q: np.ndarray) -> list[int]:
    """For each state the greedy actions as bits; action 0 is bit 0. Actions beyond the 52nd have no bit."""
    mask = greedy(q)[:, :52]
    return (mask @ (2.0 ** np.arange(mask.shape[1]))).astype(np.int64).tolist()


def _panel(panel: Any) -> dict[str, Any]:
    return {
        "title": panel.title,
        "states": [list(row) for row in panel.states],
        "labels": [list(label) for label in panel.labels],
        "rowLabel": panel.row_label,
        "columnLabel": panel.column_label,
        "rowTicks": list(panel.row_ticks),
        "columnTicks": list(panel.column_ticks),
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
    return {"title": title, "unit": unit, "step": numbers(data.step), "series": series, "lanes": lanes}


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
    """The best agent's episode: backgrounds once each, and for every frame its background and what moves."""
    if not record.frames:
        return None
    backgrounds: dict[tuple[Shape, ...], int] = {}
    frames, shapes = [], 0
    for scene in record.frames[:MAX_FRAMES]:
        if scene.background not in backgrounds:
            shapes += len(scene.background)
        shapes += len(scene.foreground)
        if shapes > MAX_SHAPES:
            break
        index = backgrounds.setdefault(scene.background, len(backgrounds))
        frames.append({"background": index, "shapes": [_shape(shape) for shape in scene.foreground]})
    if not frames:
        return None
    first = record.frames[0]
    known = "return" in record.evaluation or record.num_lanes == 1
    return {
        "who": ("best agent, " if known and record.num_lanes > 1 else "") + _lane_name(record, record.best_lane),
        "best": known,
        "width": first.width,
        "height": first.height,
        "backgrounds": [[_shape(shape) for shape in background] for background in backgrounds],
        "frames": frames,
        "left": len(record.frames) - len(frames),
    }


def _shape(shape: Shape) -> list[Any]:
    match shape:
        case Rect():
            size = [shape.x, shape.y, shape.width, shape.height, shape.radius]
            return ["r", safe_color(shape.color), *numbers(size)]
        case Circle():
            return ["c", safe_color(shape.color), *numbers([shape.x, shape.y, shape.radius])]
        case Line():
            return ["l", safe_color(shape.color), *numbers([shape.x1, shape.y1, shape.x2, shape.y2, shape.width])]
        case Text():
            return ["t", safe_color(shape.color), *numbers([shape.x, shape.y, shape.size]), shape.text]


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
    return [{"title": name, "rows": [list(row) for row in rows("", group) if row[0]]} for name, group in groups if group]


def _rounded(value: float) -> float | int:
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _plain(value: Any) -> Any:
    """Only what JSON knows: NumPy's numbers become Python's, NaN and infinities None, anything unknown its text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
