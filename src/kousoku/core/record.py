"""A finished (or interrupted) training run as data: what the report, the plots and the shell read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from jaxtyping import Float, Int

from .choice import first_best, selection_scores
from .panel import Panel
from .scene import Trajectory2d
from .scene3d import Trajectory3d
from .synonyms import former_name

REPORT = "report.html"
"""The file in a run folder that tells of the run."""
GIVEN, SWEPT, TUNED = "given", "swept", "tuned"
"""Words of a configuration's "sources": a setting was given, is swept, or is a preset's that was tuned here."""
EVALUATIONS = ("eval_return", "eval_length", "eval_held_out")
"""The curves of evaluations on the way, whose steps are "eval_step"."""


def steps_of(curve: str) -> str:
    """Returns the name of the curve that has the steps of another one's points."""
    return "eval_step" if curve in EVALUATIONS else "step"


@dataclass(frozen=True, eq=False, repr=False)
class RunRecord:
    """All of a run, in NumPy and plain Python. N members (seeds x sweep points), R reports, S states, A actions.

    Attributes:
        path: the run folder; None for a run that was not saved.
        config: what was asked for, as JSON: {"agent": {"id", ...}, "env": {"id", ...}, "steps", "seeds", "sweep",
            "record", "record_every", "loop", "eval_episodes", "data" (the recorded data that was learned from, if any),
            "sources": {part: {setting: `GIVEN`, `SWEPT`, `TUNED` or "from SOURCE" of a preset's}}, "begun_for" (the
            steps that shares in schedules are of)}.
        facts: what happened, as JSON: {"status": "finished" | "interrupted" | "diverged" | "unfinished"
            (killed, or still on its way), "failure" (what became NaN, where; or None), "steps" (done, each member),
            "members" (N), "seconds", "first_block_seconds" (of these, the first block's with what is compiled),
            "steps_per_second" (all members), "started" (ISO time), "resumed_at" (steps), "memory" (in MiB),
            "versions": {name: version}, "device": {..., "count" (how many shared the training), "available" (how
            many could: as asked, or all)}, "episodes" (all members), "best_step" (of the evaluation on the way by which
            the best checkpoint was chosen, where one was made), "cut_evaluations" (how many greedy episodes the
            evaluation ended at `eval_max_steps`, where the environment has no time limit),
            "blown_up" (how many ended so, whole or not, where the environment's info has a flag `diverged`)}.
        points: of the sweep, one dict {name: value} each (see `core.sweep_names`); ({},) without a sweep.
        member_seed: [N] the seed of each member.
        member_point: [N] the sweep point of each member, an index into `points`.
        curves: "step" and "seconds" [R] are where and when each report was made; "return", "length" (means over the
            whole episodes that ended since the last report, NaN where none did), "reward" (mean per step), "episodes"
            (how many these were), "value_estimate" and "discounted_return" (means over states of these: what an agent
            with a replay buffer expected of its action, and what followed), "blown_up" (how many ended so, whole or
            not), "td_error" and "info.NAME" are [R, N], where recorded; so are the means of what updates return
            ("policy_loss", ...). "eval_step" [E], "eval_return", "eval_length" and "eval_held_out"
            [E, N] are of evaluations on the way; the last is the return in that half of their episodes which has no
            part in choosing the best checkpoint. "episodes", "blown_up" and "length" are float64, other means float32.
        tables: "q" [N, S, A]; "visits" [N, S, A] and "q_history" [R, N, S, A] where recorded; "exact_q" [S, A] and
            "exact_v" [S] where the environment tells its model and the members share a discount. Of the model alone are
            "reachable" [S], states that some policy visits and that are not terminal; "optimal_return" [], the largest
            expected return of an episode, undiscounted.
        evaluation: "return" and "length" [N, E] of greedy episodes, "truncated" [N, E]; empty if not evaluated.
        panels: how the states lie in a picture; empty if the environment does not say.
        film: the best member's greedy episode; None if the environment cannot be drawn.
    """

    path: Path | None
    config: dict[str, Any]
    facts: dict[str, Any]
    points: tuple[dict[str, float], ...]
    member_seed: Int[np.ndarray, " N"]
    member_point: Int[np.ndarray, " N"]
    curves: dict[str, np.ndarray]
    tables: dict[str, np.ndarray]
    evaluation: dict[str, np.ndarray] = field(default_factory=dict)
    panels: tuple[Panel, ...] = ()
    film: Trajectory2d | Trajectory3d | None = None

    if not TYPE_CHECKING:  # or else checkers take any name for right

        def __getattr__(self, name: str) -> NoReturn:
            """Says what an attribute of a former name is called now."""
            raise former_name(self, name)

    def __repr__(self) -> str:
        what = " on ".join(str(self.config.get(part, {}).get("id", "?")) for part in ("agent", "env"))
        return f"<RunRecord of {what}: {self.num_members} members, curves {', '.join(self.curves)}>"

    @property
    def of_recorded_data(self) -> bool:
        """Whether agents learned from recorded data and did not act, so that their rewards show no learning."""
        return bool(self.config.get("data") or self.config.get("agent", {}).get("dataset"))

    @property
    def num_members(self) -> int:
        return len(self.member_seed)

    @property
    def best_member(self) -> int:
        """The member with the highest score (ties: the first); member 0 if nothing was evaluated."""
        return first_best(self.scores)

    @property
    def scores(self) -> Float[np.ndarray, " N"]:
        """What the best member is chosen by: each one's mean greedy return, -inf if it is not finite.

        At the end, over the first half of its episodes; the others are held out (`kousoku.core.choice`). Or else in the
        last evaluation on the way; 0 if nothing was evaluated.
        """
        if "return" in self.evaluation:
            return selection_scores(self.evaluation["return"])
        if "eval_return" not in self.curves:
            return np.zeros(self.num_members)
        means = np.asarray(self.curves["eval_return"][-1], np.float64)
        return np.where(np.isfinite(means), means, -np.inf)
