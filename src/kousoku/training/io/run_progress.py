"""The progress of a run, as the host knows it: steps, curves, evaluations. It is in every checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..evaluation.evaluate import Episodes
from ..metrics.curves import CurveWriter
from .files import group

TOLD = (
    "step", "since", "episodes", "blown_up", "seconds", "first_block_seconds", "score", "best_at", "started",
    "resumed_at", "devices", "available", "visits_until",
)  # fmt: skip


@dataclass
class RunProgress:
    """The progress of a run.

    Attributes:
        step: steps done by each member.
        since: the step of the last report.
        episodes: ended so far, in all members.
        blown_up: how many of these because the environment blew up; None where none tells.
        seconds: spent in blocks of steps, also by earlier processes.
        first_block_seconds: of these, the first block's, which is compiled.
        score: how good the agents are at this step: their mean return in an evaluation, or over the last report's
            episodes where none is made during training; None if neither was made at this step.
        best_at: the step of the best evaluation so far; None before the first.
        started: when the run began, as ISO time.
        resumed_at: the steps at which another process went on with it.
        devices: how many share the work of training.
        available: how many share that of evaluations, and may share that of training.
        curves: one row for each report.
        history: [N, S, A] action values at each report, where recorded.
        evaluated: (step, mean return [N], mean length [N]) of each evaluation during training.
        visits: [N, S, A] visits of each state and action up to `visits_until`, where these were counted out.
        visits_until: the step from which the training state counts visits.
        played: the last evaluation's step and episodes; not kept in checkpoints.
    """

    step: int = 0
    since: int = 0
    episodes: int = 0
    blown_up: int | None = None
    seconds: float = 0.0
    first_block_seconds: float = 0.0
    score: float | None = None
    best_at: int | None = None
    started: str = ""
    resumed_at: list[int] = field(default_factory=list)
    devices: int = 1
    available: int = 1
    curves: CurveWriter = field(default_factory=CurveWriter)
    history: list[np.ndarray] = field(default_factory=list)
    evaluated: list[tuple[int, np.ndarray, np.ndarray]] = field(default_factory=list)
    visits: np.ndarray | None = None
    visits_until: int = 0
    played: tuple[int, Episodes] | None = None

    def count(self, row: dict[str, np.ndarray]) -> None:
        """Adds what ended since the last report, [N] in each member."""
        self.episodes += int(row["episodes"].sum())
        if "blown_up" in row:
            self.blown_up = (self.blown_up or 0) + int(row["blown_up"].sum())

    def latest(self) -> dict[str, np.ndarray]:
        """Returns the last report's numbers by name, [N] each, and the last evaluation's mean return."""
        found = {name: rows[-1] for name, rows in self.curves.rows.items()}
        return found | ({"eval_return": self.evaluated[-1][1]} if self.evaluated else {})

    def told(self) -> dict[str, Any]:
        """Returns what is no array, as JSON."""
        return {name: getattr(self, name) for name in TOLD}

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays, by name."""
        arrays = {f"curves/{name}": rows for name, rows in self.all_curves().items()}
        arrays |= {"history": np.stack(self.history)} if self.history else {}
        return arrays | ({} if self.visits is None else {"visits": self.visits})

    def count_out_visits(self, visits: np.ndarray) -> None:
        """Takes over the visits [N, S, A] that a training state has counted, and will count anew."""
        self.visits, self.visits_until = self.all_visits(visits), self.step

    def all_visits(self, visits: np.ndarray) -> np.ndarray:
        """Returns the visits [N, S, A] that a training state has counted, and those from before."""
        return np.asarray(visits, np.int64) + (0 if self.visits is None else self.visits)

    def all_curves(self) -> dict[str, np.ndarray]:
        """Returns curves as a record holds them: [R] and [R, N] of reports, "eval_*" of evaluations."""
        curves = self.curves.curves()
        if self.evaluated:
            steps, returns, lengths = zip(*self.evaluated, strict=True)
            curves |= {"eval_step": np.asarray(steps, np.int64)}
            curves |= {"eval_return": np.stack(returns), "eval_length": np.stack(lengths)}
        return curves

    def add_evaluation(self, episodes: Episodes) -> dict[str, np.ndarray]:
        """Notes an evaluation at this step; returns its row, [N] each."""
        returns, lengths = (
            np.asarray(np.mean(part, axis=1, dtype=np.float64), np.float32)
            for part in (episodes.episode_return, episodes.length)
        )
        best = max((float(earlier.mean()) for _, earlier, _ in self.evaluated), default=-np.inf)
        self.score, self.played = float(returns.mean()), (self.step, episodes)
        self.best_at = self.step if self.score > best else self.best_at
        self.evaluated.append((self.step, returns, lengths))
        return {"eval_return": returns, "eval_length": lengths}

    @staticmethod
    def of(told: dict[str, Any], arrays: dict[str, np.ndarray]) -> RunProgress:
        """Rebuilds the progress that these were read from."""
        progress = RunProgress(**{name: told[name] for name in TOLD if name in told})
        curves = group(arrays, "curves")
        evals = [curves.pop(name) for name in ("eval_step", "eval_return", "eval_length") if name in curves]
        progress.curves.steps = [int(step) for step in curves.pop("step")]
        progress.curves.seconds = [float(x) for x in curves.pop("seconds", ())]
        progress.curves.rows = {name: list(rows) for name, rows in curves.items()}
        progress.history = list(arrays.get("history", ()))
        progress.visits = arrays.get("visits")
        if evals:
            progress.evaluated = [(int(step), *means) for step, *means in zip(*evals, strict=True)]
        return progress
