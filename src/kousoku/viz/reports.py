"""Reports of a run, [R, N] with NaN where nothing happened: whether they say anything, and means over several."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def has_values(values: np.ndarray | None) -> bool:
    """Tells whether anything was recorded."""
    return values is not None and not np.isnan(np.asarray(values, np.float64)).all()


def is_flat(values: np.ndarray) -> bool:
    """Tells whether all values that are known are the same."""
    known = values[~np.isnan(values)]
    return bool(np.ptp(known) <= 1e-6 * max(1.0, float(np.abs(known).max())))


def mean_of_reports(
    values: np.ndarray, weights: np.ndarray | None, starts: np.ndarray
) -> Float[np.ndarray, "stretches N"]:
    """Returns means over stretches of reports that begin at `starts`, with weights, ignoring NaN."""
    x = np.asarray(values, np.float64)
    w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else np.asarray(weights, np.float64))
    total = np.add.reduceat(np.where(w > 0, x, 0.0) * w, starts, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / np.add.reduceat(w, starts, axis=0)
