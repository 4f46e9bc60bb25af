"""The summary: what a run achieved, in values, errors, scores and curves of a record, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from ..core.panel import Panel
from ..core.record import RunRecord
from ..ops.statistics import mean_interval
from .estimates import estimate

TIE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Score:
    """One number for each member, by which members and settings are compared.

    Attributes:
        name: what it is.
        when: at what time of the training; empty for after it.
    """

    name: str
    when: str
    members: Float[np.ndarray, " N"]


@dataclass(frozen=True)
class Curve:
    """A recorded quantity over the steps, for each sweep point: mean (or its like) and 95% interval over its members.

    Attributes:
        step: the step at the end of each of R stretches.
        seconds: of training until then; None if they were not recorded.
        mean, low, high: NaN where nothing was recorded; see `estimates`.
        members: every member by itself.
    """

    step: Float[np.ndarray, " R"]
    seconds: Float[np.ndarray, " R"] | None
    mean: Float[np.ndarray, "R P"]
    low: Float[np.ndarray, "R P"]
    high: Float[np.ndarray, "R P"]
    members: Float[np.ndarray, "R N"]


def greedy(q: Float[np.ndarray, "... A"]) -> Bool[np.ndarray, "... A"]:
    """Marks every action of maximal value; a difference below 1e-5 of the row's size counts as a tie, NaN as lowest.

    Examples:
        >>> greedy(np.array([0.5, 1.0, 1.0, np.nan])).tolist()
        [False, True, True, False]
    """
    lowest = np.where(np.isnan(q), -np.inf, np.asarray(q, np.float64))
    best = lowest.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        size = np.abs(np.where(np.isfinite(lowest), lowest, 0.0)).max(axis=-1, keepdims=True)
        close = lowest >= best - TIE_TOLERANCE * size
    return (close | (lowest == best)) & ~np.isnan(q)


def state_values(q: Float[np.ndarray, "... A"]) -> Float[np.ndarray, "..."]:
    """Returns max_a q(s, a), ignoring NaN; NaN where there is nothing else."""
    best = np.where(np.isnan(q), -np.inf, q).max(axis=-1)
    return np.where(np.isnan(q).all(axis=-1), np.nan, best)


def mean_over_members(table: Float[np.ndarray, "N ..."] | np.ndarray) -> Float[np.ndarray, "..."]:
    """Averages the members' tables in float64, ignoring NaN."""
    mean = table.mean(axis=0, dtype=np.float64)
    holes = np.isnan(mean)
    if holes.any():
        mean[holes] = mean_interval(table[:, holes], axis=0).mean
    return mean


def exact_values(record: RunRecord) -> Float[np.ndarray, " S"] | None:
    """Returns v*(s), NaN where no policy goes; None if the environment does not tell its model."""
    tables = record.tables
    if "exact_v" in tables:
        values = np.asarray(tables["exact_v"], np.float64)
    elif "exact_q" in tables:
        values = state_values(np.asarray(tables["exact_q"], np.float64))
    else:
        return None
    return np.where(tables["reachable"].astype(bool), values, np.nan) if "reachable" in tables else values


def value_errors(record: RunRecord) -> Float[np.ndarray, "N S"] | None:
    """Returns |max_a q(s, a) - v*(s)| of each member over the states that some policy visits."""
    exact = exact_values(record)
    if exact is None or "q" not in record.tables:
        return None
    return np.abs(state_values(record.tables["q"]) - exact)


def largest_errors(record: RunRecord) -> Float[np.ndarray, " N"] | None:
    """Returns the largest value error of each member."""
    errors = value_errors(record)
    if errors is None:
        return None
    known = ~np.isnan(errors)
    return np.where(known.any(axis=1), np.where(known, errors, -np.inf).max(axis=1), np.nan)


def typical_errors(record: RunRecord) -> Float[np.ndarray, " N"] | None:
    """Returns the mean value error of each member: weighted by its visits if there are some, else over the states."""
    errors = value_errors(record)
    if errors is None:
        return None
    weights = ~np.isnan(errors) * 1.0
    if "visits" in record.tables:
        weights = weights * record.tables["visits"].sum(axis=-1)
    total = weights.sum(axis=1)
    weighted = np.where(weights > 0, errors, 0.0) * weights
    return np.where(total > 0, weighted.sum(axis=1) / np.maximum(total, 1e-300), np.nan)


def score(record: RunRecord) -> Score:
    """Returns the greedy return if it was evaluated, else the return (or reward) of the last tenth of training."""
    if "return" in record.evaluation:
        return Score("greedy return", "", mean_interval(record.evaluation["return"], axis=1).mean)
    episodes = record.curves.get("episodes")
    for name, words in (("return", "return"), ("reward", "reward per step")):
        values = record.curves.get(name)
        if values is None or not _has_values(values):
            continue
        tail = slice(-max(1, len(values) // 10), None)
        weights = episodes[tail] if name == "return" and episodes is not None else None
        return Score(words, "last tenth of training", _mean_of_reports(values[tail], weights, np.array([0]))[0])
    return Score("return", "", np.full(record.num_members, np.nan))


def best_member(record: RunRecord) -> int:
    """Returns the member with the highest score; the record's own choice where every member was evaluated."""
    if "return" in record.evaluation and not np.isnan(record.evaluation["return"]).any():
        return record.best_member
    members = score(record).members
    return 0 if np.isnan(members).all() else int(np.nanargmax(members))


def primary_curve(record: RunRecord) -> str | None:
    """Returns the name of the curve that shows the learning; None if there is none.

    The return; the episodes' length where every return is the same (a goal and no cost of steps); the reward where no
    episode ended.
    """
    there = [name for name in ("return", "length", "reward") if _has_values(record.curves.get(name))]
    if there[:2] == ["return", "length"] and _is_flat(record.curves["return"]):
        return "length"
    return next((name for name in there if name != "length"), None)


def wants_log_axis(name: str, members: np.ndarray) -> bool:
    """Tells whether a curve has a logarithmic axis: lengths of episodes that differ by more than a factor of 20."""
    known = members[np.isfinite(members)]
    return bool(name == "length" and known.size and known.min() > 0 and known.max() > 20 * known.min())


def with_error_curve(record: RunRecord) -> RunRecord:
    """Adds the curve "value_error" [R, N], the mean of |max_a q - v*|, if the tables' history is there."""
    exact, history = exact_values(record), record.tables.get("q_history")
    if exact is None or history is None or not np.isfinite(exact).any():
        return record
    live = np.isfinite(exact)
    errors = [np.abs(state_values(q[:, live]) - exact[live]).mean(axis=1) for q in history]
    return replace(record, curves=record.curves | {"value_error": np.stack(errors)})


def curve(record: RunRecord, name: str, limit: int = 400) -> Curve:
    """Returns a recorded quantity, over stretches of several reports each if there are more than `limit` of them.

    Stretches in which no member has a value are left out, but for the last, where the axis ends: environments that
    begin together end their episodes together, with many reports between.
    """
    values = np.asarray(record.curves[name], np.float64)
    starts = np.unique(np.linspace(0, len(values), min(limit, len(values)), endpoint=False).astype(int))
    ends = np.append(starts[1:], len(values)) - 1
    weights = record.curves.get("episodes") if name in ("return", "length") else None
    members = values if len(starts) == len(values) else _mean_of_reports(values, weights, starts)
    told = np.append(np.isfinite(members[:-1]).any(axis=1), True)
    members, ends = members[told], ends[told]
    points = [estimate(record, members[:, record.member_point == p]) for p in range(len(record.points))]
    mean, low, high = (np.stack([getattr(point, part) for point in points], axis=1) for part in ("mean", "low", "high"))
    step = np.asarray(record.curves["eval_step" if name.startswith("eval_") else "step"], np.float64)[ends]
    return Curve(step, _seconds(record, step), mean, low, high, members)


def panels_of(record: RunRecord) -> tuple[Panel, ...]:
    """Returns the environment's panels; without any, one with the states in reading order."""
    if record.panels or "q" not in record.tables:
        return record.panels
    _, states, actions = record.tables["q"].shape
    columns = max(1, min(states, round(np.sqrt(states * 2.0))))
    padded = [*range(states), *[-1] * (-states % columns)]
    cells = tuple(tuple(padded[i : i + columns]) for i in range(0, states, columns))
    names = tuple(str(a) for a in range(actions))
    return (Panel("", cells, row_label="states in order of their index", action_names=names),)


def is_bandit(record: RunRecord) -> bool:
    """Tells whether there is just one state: then bars say more than a map."""
    return "q" in record.tables and record.tables["q"].shape[1] == 1


def point_order(record: RunRecord) -> list[int]:
    """Returns the sweep points, best mean score first; unknown scores last."""
    members = score(record).members
    means = [float(estimate(record, members[record.member_point == p]).mean) for p in range(len(record.points))]
    return sorted(range(len(means)), key=lambda p: (np.isnan(means[p]), -means[p] if means[p] == means[p] else 0.0, p))


def _seconds(record: RunRecord, step: Float[np.ndarray, " R"]) -> Float[np.ndarray, " R"] | None:
    """Returns how long training had taken at some steps."""
    if "seconds" not in record.curves:
        return None
    steps, seconds = (np.insert(np.asarray(record.curves[name], np.float64), 0, 0.0) for name in ("step", "seconds"))
    return np.interp(step, steps, seconds)


def _has_values(values: np.ndarray | None) -> bool:
    return values is not None and not np.isnan(np.asarray(values, np.float64)).all()


def _is_flat(values: np.ndarray) -> bool:
    known = values[~np.isnan(values)]
    return bool(np.ptp(known) <= 1e-6 * max(1.0, float(np.abs(known).max())))


def _mean_of_reports(
    values: np.ndarray, weights: np.ndarray | None, starts: np.ndarray
) -> Float[np.ndarray, "stretches N"]:
    """Averages over stretches of reports that begin at `starts`, with weights, ignoring NaN."""
    x = np.asarray(values, np.float64)
    w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else np.asarray(weights, np.float64))
    total = np.add.reduceat(np.where(w > 0, x, 0.0) * w, starts, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / np.add.reduceat(w, starts, axis=0)
