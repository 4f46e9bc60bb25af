"""The summary: what a run learned, in values and their errors, before anything is drawn."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ..core.panel import Panel
from ..core.record import RunRecord
from ..ops.statistics import mean_interval

TIE_TOLERANCE = 1e-5


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


def panels_of(record: RunRecord) -> tuple[Panel, ...]:
    """Returns the environment's panels; without any, one with the states in reading order."""
    if record.panels or "q" not in record.tables:
        return record.panels
    _, states, actions = record.tables["q"].shape
    columns = max(1, min(states, round(np.sqrt(states * 2.0))))
    padded = [*range(states), *[-1] * (-states % columns)]
    cells = tuple(tuple(padded[i : i + columns]) for i in range(0, states, columns))
    names = tuple(str(a) for a in range(actions))
    return (Panel("states in order of their index", cells, action_names=names),)


def is_bandit(record: RunRecord) -> bool:
    """Returns whether there is just one state: then bars say more than a map."""
    return "q" in record.tables and record.tables["q"].shape[1] == 1


def has_own_arms(record: RunRecord) -> bool:
    """Returns whether each agent may have a bandit of its own: then an arm's mean value over agents says nothing."""
    return is_bandit(record) and record.num_members > 1 and "exact_q" not in record.tables
