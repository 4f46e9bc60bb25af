"""Learning curves, made of metric sums: what each report adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.timestep import named_parts
from .metric_sums import MetricSums

CHARTS = {
    "return": "charts/episodic_return",
    "length": "charts/episodic_length",
    "reward": "charts/reward",
    "value_estimate": "charts/value_estimate",
    "discounted_return": "charts/discounted_return",
    "learning_rate": "charts/learning_rate",
    "eval_return": "eval/episodic_return",
    "eval_length": "eval/episodic_length",
}
SPEED = "charts/SPS"
COUNTS = ("episodes", "blown_up")
"""Of what happened since the last report."""
WIDE = (*COUNTS, "length")
"""Curves in float64: whole numbers and means of some, of which float32 rounds those above 2^24."""


class CurveWriter:
    """The curves as they grow, by one row for each report.

    A row is [N]: NaN where no episode ended since the last report. Counts and lengths are float64, all others float32.
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.seconds: list[float] = []
        self.rows: dict[str, list[np.ndarray]] = {}

    def add(self, step: int, since: int, sums: MetricSums, seconds: float) -> dict[str, np.ndarray]:
        """Reads the sums (NumPy, [N]) of the steps since the last report; returns the row by name.

        Args:
            step, since: where this report and the one before are made.
            sums: of the steps between them.
            seconds: of training so far; NaN where nobody knows.
        """
        steps = step - since if sums.steps is None else np.maximum(sums.steps, 1)
        row: dict[str, Any] = {"episodes": np.asarray(sums.episodes)}
        if sums.blown_up is not None:
            row["blown_up"] = np.asarray(sums.blown_up)
        with np.errstate(invalid="ignore", divide="ignore"):
            if sums.return_sum is not None and sums.length_sum is not None and sums.reward_sum is not None:
                row["return"] = sums.return_sum / row["episodes"]
                row["length"] = sums.length_sum / row["episodes"]
                row["reward"] = sums.reward_sum / steps
            if sums.compared_states is not None and sums.estimate_sum is not None and sums.followed_sum is not None:
                row["value_estimate"] = sums.estimate_sum / sums.compared_states
                row["discounted_return"] = sums.followed_sum / sums.compared_states
            updates = steps if sums.updates is None else np.asarray(sums.updates)
            metrics = {name: np.asarray(total) / updates for name, total in (sums.metric_sums or {}).items()}
        for name, total in _scalars(sums.info_sum):
            row[f"info.{name}"] = total / steps
        row |= metrics
        self.steps.append(step)
        self.seconds.append(seconds)
        self._append({name: np.asarray(values, _dtype(name)) for name, values in row.items()})
        return row

    def _append(self, row: dict[str, np.ndarray]) -> None:
        """Adds a row; NaN where an earlier one, or this one, does not have a name that others have."""
        for name in (*self.rows, *(name for name in row if name not in self.rows)):
            unknown = np.full(row["episodes"].shape, np.nan, _dtype(name))
            rows = self.rows.setdefault(name, [unknown] * (len(self.steps) - 1))
            rows.append(row.get(name, unknown))

    def curves(self) -> dict[str, np.ndarray]:
        """Returns {"step": [R], "seconds": [R] where known, name: [R, N]}."""
        curves = {name: np.stack(rows) for name, rows in self.rows.items()}
        seconds = np.asarray(self.seconds, np.float64)
        known = {"seconds": seconds} if len(seconds) == len(self.steps) and np.isfinite(seconds).all() else {}
        return {"step": np.asarray(self.steps, np.int64), **known, **curves}


def _dtype(name: str) -> type[np.floating]:
    return np.float64 if name in WIDE else np.float32


def line(row: dict[str, np.ndarray], member_point: np.ndarray, points: tuple[dict[str, float], ...]) -> dict[str, Any]:
    """Returns one report as JSON: sums of counts and means over all members; means of each sweep point if several."""
    named = {metric_name(name): values for name, values in row.items() if name not in COUNTS}
    means = {name: mean_ignoring_nan(values) for name, values in named.items()}
    report: dict[str, Any] = {name: int(row[name].sum()) for name in COUNTS if name in row} | means
    if len(points) > 1:
        report["points"] = [
            {**point, **{name: mean_ignoring_nan(values[member_point == i]) for name, values in named.items()}}
            for i, point in enumerate(points)
        ]
    return report


def metric_name(name: str) -> str:
    """Returns a curve's name in the metrics file: those that CleanRL's scripts made common.

    Examples:
        >>> [metric_name(name) for name in ("return", "policy_loss", "eval_length", "info.optimal")]
        ['charts/episodic_return', 'losses/policy_loss', 'eval/episodic_length', 'info/optimal']
    """
    if name in CHARTS:
        return CHARTS[name]
    return f"info/{name.removeprefix('info.')}" if name.startswith("info.") else f"losses/{name}"


def mean_ignoring_nan(values: np.ndarray) -> float | None:
    """Returns the mean of the finite numbers among the values; None if there are none (JSON has no NaN)."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def _scalars(info_sum: Any) -> list[tuple[str, np.ndarray]]:
    """Lists (name, [N]) of every scalar in an info; an array in it, such as a mask of actions, is no curve.

    Examples:
        >>> [name for name, _ in _scalars({"tenth": np.zeros(3), "arm": {"left": np.zeros(3)}, "mask": np.eye(3)})]
        ['arm.left', 'tenth']
    """
    return [(name, np.asarray(leaf)) for name, leaf in named_parts(info_sum) if np.ndim(leaf) == 1]
