"""Reports of a run, [R, N] with NaN where nothing happened: whether they say anything, and means over several."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

SAME = 1e-6
"""Values that differ by less, in units of the largest, are the same."""


def has_values(values: np.ndarray | None) -> bool:
    """Returns whether anything was recorded."""
    return values is not None and not np.isnan(np.asarray(values, np.float64)).all()


def is_flat(values: np.ndarray) -> bool:
    """Returns whether all values that are known are the same."""
    known = values[~np.isnan(values)]
    if not np.isfinite(known).all():
        return len(np.unique(known)) <= 1
    return bool(np.ptp(known) <= SAME * np.abs(known).max())


def mean_of_reports(
    values: np.ndarray, weights: np.ndarray | None, starts: np.ndarray
) -> Float[np.ndarray, "stretches N"]:
    """Returns means over stretches of reports that begin at `starts`, with weights, ignoring NaN."""
    x = np.asarray(values, np.float64)
    w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else np.asarray(weights, np.float64))
    total = np.add.reduceat(np.where(w > 0, x, 0.0) * w, starts, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / np.add.reduceat(w, starts, axis=0)


def held(values: Float[np.ndarray, "R N"]) -> Float[np.ndarray, "R N"]:
    """Returns values in which each member's last known one stands where others know one; NaN before its first.

    Examples:
        >>> held(np.array([[np.nan, 1.0], [3.0, np.nan], [np.nan, 2.0], [np.nan, np.nan]])).tolist()
        [[nan, 1.0], [3.0, 1.0], [3.0, 2.0], [nan, nan]]
    """
    known = ~np.isnan(values)
    last = np.maximum.accumulate(np.where(known, np.arange(len(values))[:, None], -1), axis=0)
    stands = (last >= 0) & known.any(axis=1, keepdims=True)
    return np.where(stands, np.take_along_axis(values, np.maximum(last, 0), axis=0), np.nan)
