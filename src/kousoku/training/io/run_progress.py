"""The progress of a run, as the host knows it: steps, curves, evaluations. It is in every checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.choice import halves
from ...core.record import EVALUATIONS
from ..evaluation.evaluate import Episodes
from ..metrics.curves import CurveWriter
from .files import group

KEPT = (
    "step", "since", "episodes", "blown_up", "seconds", "first_block_seconds", "score", "best_score", "best_at",
    "started", "resumed_at", "devices", "available", "visits_until",
)  # fmt: skip


@dataclass
class RunProgress:
    """The progress of a run.

    Attributes:
        step: steps done by each member.
        since: the step of the last report.
        episodes: whole ones that ended so far, in all members.
        blown_up: how many ended because the environment blew up; None where none tells.
        seconds: spent in blocks of steps, also by earlier processes.
        first_block_seconds: of these, the first block's with what is compiled before it.
        score: by what the best checkpoint is chosen: the agents' mean return in the first half of an evaluation's
            episodes, or over the last report's episodes where none is made during training; None if neither was made at
            this step, or it is not finite. The second half has no part in the choice, and is held out.
        best_score: the highest of an evaluation so far; None before the first.
        best_at: the step of that evaluation.
        started: when the run began, as ISO time.
        resumed_at: the steps at which another process went on with it.
        devices: how many share the work of training.
        available: how many share that of evaluations, and may share that of training.
        curves: one row for each report.
        history: [N, S, A] action values at each report, where recorded.
        evaluated: (step, mean return [N], mean length [N], mean return in the second half of the episodes [N], which is
            NaN of a single episode) of each evaluation during training.
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
    best_score: float | None = None
    best_at: int | None = None
    started: str = ""
    resumed_at: list[int] = field(default_factory=list)
    devices: int = 1
    available: int = 1
    curves: CurveWriter = field(default_factory=CurveWriter)
    history: list[np.ndarray] = field(default_factory=list)
    evaluated: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
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

    def to_json(self) -> dict[str, Any]:
        """Returns what is no array, as JSON."""
        return {name: getattr(self, name) for name in KEPT}

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
            steps, *means = zip(*self.evaluated, strict=True)
            curves |= {"eval_step": np.asarray(steps, np.int64)}
            curves |= {name: np.stack(mean) for name, mean in zip(EVALUATIONS, means, strict=True)}
        return curves

    def note_score(self, score: float | None) -> None:
        """Notes by what a checkpoint at this step is chosen; nothing is, by what is not finite."""
        self.score = None if score is None or not np.isfinite(score) else float(score)

    def add_evaluation(self, episodes: Episodes, ends: bool) -> dict[str, np.ndarray]:
        """Notes an evaluation at this step; returns its row, [N] each.

        Args:
            episodes: what was played.
            ends: whether training ends here: of equal scores the end's is then the best, as its checkpoint is the last.
        """
        split = halves(episodes.episode_return.shape[1])
        returns, selection = map(_means, (episodes.episode_return, episodes.episode_return[:, split.selection]))
        lengths = np.asarray(np.mean(episodes.length, axis=1, dtype=np.float64))
        unknown = np.full_like(returns, np.nan)
        held_out = _means(episodes.episode_return[:, split.held_out]) if split.unbiased else unknown
        self.played = self.step, episodes
        self.note_score(float(selection.mean()))
        before = -np.inf if self.best_score is None else self.best_score
        if self.score is not None and (self.score > before or (ends and self.score == before)):
            self.best_score, self.best_at = self.score, self.step
        self.evaluated.append((self.step, returns, lengths, held_out))
        return {"eval_return": returns, "eval_length": lengths}

    @staticmethod
    def of(kept: dict[str, Any], arrays: dict[str, np.ndarray]) -> RunProgress:
        """Rebuilds the progress that these were read from."""
        progress = RunProgress(**{name: kept[name] for name in KEPT if name in kept})
        curves = group(arrays, "curves")
        steps = curves.pop("eval_step", ())
        evals = [curves.pop(name) for name in EVALUATIONS if name in curves]
        progress.curves.steps = [int(step) for step in curves.pop("step")]
        progress.curves.seconds = [float(x) for x in curves.pop("seconds", ())]
        progress.curves.rows = {name: list(rows) for name, rows in curves.items()}
        progress.history = list(arrays.get("history", ()))
        progress.visits = arrays.get("visits")
        if evals:
            unknown = np.full_like(evals[0], np.nan)  # of a checkpoint from before there was a choice by halves
            returns, lengths, held_out = evals if len(evals) == len(EVALUATIONS) else (*evals, unknown)
            rows = zip(map(int, steps), returns, lengths, held_out, strict=True)
            progress.evaluated = list(rows)
        return progress


def _means(values: Any) -> np.ndarray:
    """Returns each member's mean over its episodes, [N]."""
    return np.asarray(np.mean(values, axis=1, dtype=np.float64), np.float32)
