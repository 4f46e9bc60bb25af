"""The best agent and the best sweep point: chosen by some episodes, told by others, and a tie is called one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Shaped

from ..core.choice import (
    broken_members,
    first_best,
    held_out_episodes,
    mean_returns,
    split_episodes,
    tied_for_best,
)
from ..core.record import RunRecord
from ..core.words import plural
from .estimates import SummaryStatistic, estimate, statistic, summary_statistic
from .reports import has_values, mean_of_reports

NEARLY = 0.01
"""By so much of training a span may differ from a tenth of it that is called so."""


@dataclass(frozen=True)
class Score:
    """One number for each member, by which members and sweep points are compared.

    Attributes:
        name: what it is.
        when: at what time of the training; empty for after it.
        selection: by which the best is chosen; -inf for a member that broke, NaN where nothing is known.
        members: what is told of each; of a sweep, whose best point is chosen, over the episodes that are held out.
        unbiased: whether what tells had no part in the choice.
    """

    name: str
    when: str
    selection: Float[np.ndarray, " N"]
    members: Float[np.ndarray, " N"]
    unbiased: bool


def score(record: RunRecord) -> Score:
    """Returns the greedy return if it was evaluated, else the return (or reward) of the last tenth of the reports.

    Of a run that is read as a checkpoint it is that of an evaluation there, in the half of its episodes that had no
    part in choosing the best checkpoint.
    """
    if "return" in record.evaluation:
        unbiased = split_episodes(*record.evaluation["return"].shape).unbiased
        return Score("greedy return", "", record.scores, _of_members(record), unbiased)
    held_out = _held_out_at_end(record)
    if held_out is not None:
        return Score(
            "greedy return", "second half of the last evaluation", record.scores, held_out, len(record.points) == 1
        )
    episodes = record.curves.get("episodes")
    for name, words in (("return", "return"), ("reward", "reward per step")):
        values = record.curves.get(name)
        if values is None or not has_values(values) or (name == "reward" and record.of_recorded_data):
            continue
        first = len(values) - max(1, len(values) // 10)
        tail = slice(first, None)
        weights = episodes[tail] if name == "return" and episodes is not None else None
        means = mean_of_reports(values[tail], weights, np.array([0]))[0]
        return Score(words, _span(record, first), means, means, record.num_members == 1)
    unknown = np.full(record.num_members, np.nan)
    return Score("return", "", unknown, unknown, False)


def _span(record: RunRecord, first: int) -> str:
    """Says which part of training the reports from the first one on are of: few reports leave no tenth of it."""
    since, end = (int(step) for step in np.insert(record.curves["step"], 0, 0)[[first, -1]])
    if since == 0:
        return "whole of training"
    tenth = abs(0.1 - (end - since) / end) < NEARLY
    return "last tenth of training" if tenth else f"last {end - since:,} of {end:,} steps"


def _shown(record: RunRecord, what: str) -> Shaped[np.ndarray, "N J"]:
    """Returns of each member's greedy episodes those by which it is told: in a sweep, whose best is chosen, half."""
    values = record.evaluation[what]
    return held_out_episodes(values) if len(record.points) > 1 else values


def _of_members(record: RunRecord, what: str = "return") -> Float[np.ndarray, " N"]:
    """Returns each member's mean return, by which it is told, or length; NaN for returns of those that broke."""
    means = mean_returns(_shown(record, what))
    return np.where(broken_members(record.evaluation[what]), np.nan, means)


def _of_episodes(record: RunRecord, member: int, what: str, episodes: Shaped[np.ndarray, " J"]) -> SummaryStatistic:
    """Returns how a member's returns, or lengths, are told; no returns of one that broke are."""
    broken = broken_members(record.evaluation[what])[member]
    return summary_statistic(episodes[:0] if broken else episodes, "episode")


def broken_agents(record: RunRecord) -> str:
    """Says how many agents broke, of which nothing is told; or ""."""
    returns = record.evaluation.get("return")
    broken = 0 if returns is None else int(broken_members(returns).sum())
    if returns is None or not broken:
        return ""
    if len(returns) == 1:
        return f"It broke: {int((~np.isfinite(returns)).sum()):,} of its {returns.size:,} greedy returns are not finite"
    return f"{broken:,} of {plural(len(returns), 'agent')} broke: greedy returns of theirs are not finite"


def _held_out_at_end(record: RunRecord) -> Float[np.ndarray, " N"] | None:
    """Returns what each member got in the held-out episodes of an evaluation where the record ends; or None."""
    held_out = _held_out_at(record, int(record.facts.get("steps", -1)))
    return None if held_out is None or not np.isfinite(held_out).any() else held_out


def _held_out_at(record: RunRecord, step: int) -> Float[np.ndarray, " N"] | None:
    """Returns what each member got in the held-out episodes of the evaluation on the way at a step; None without."""
    held_out, steps = (record.curves.get(name) for name in ("eval_held_out", "eval_step"))
    if held_out is None or steps is None or step not in steps:
        return None
    return np.asarray(held_out[steps.tolist().index(step)], np.float64)


def best_checkpoint_summary(record: RunRecord) -> tuple[int, SummaryStatistic] | None:
    """Returns the step of the best checkpoint and what the episodes there say that had no part in choosing it.

    None where the last one is the best, or no episode is held out.
    """
    step, steps = int(record.facts.get("best_step", -1)), record.curves.get("eval_step", np.array([-1]))
    held_out = None if step == steps[-1] else _held_out_at(record, step)
    if held_out is None or not np.isfinite(held_out).all():
        return None
    return step, summary_statistic(held_out, "agent", statistic(record))


def best_member(record: RunRecord) -> int:
    """Returns the record's own choice if there was an evaluation; else the member with the highest score."""
    evaluated = "return" in record.evaluation or "eval_return" in record.curves
    return record.best_member if evaluated else first_best(score(record).selection)


def best_members(record: RunRecord) -> Bool[np.ndarray, " N"]:
    """Marks all members that tie for the best."""
    evaluated = "return" in record.evaluation or "eval_return" in record.curves
    return tied_for_best(record.scores if evaluated else score(record).selection)


def best_summary(record: RunRecord, what: str = "return") -> SummaryStatistic | None:
    """Returns what the best member's episodes say that had no part in choosing it; None if there are none.

    Args:
        record: of the run.
        what: of the episodes, "return" or "length".
    """
    if "return" not in record.evaluation or not score(record).unbiased:
        return None
    best = best_member(record)
    return _of_episodes(record, best, what, held_out_episodes(record.evaluation[what])[best])


def point_summary(record: RunRecord, point: int, what: str = "return") -> SummaryStatistic:
    """Returns what is told of a sweep point: over its agents; over the episodes of a single one.

    Args:
        record: of the run.
        point: the sweep point.
        what: of the greedy episodes, "return" or "length"; without any, the score is told.
    """
    members = np.flatnonzero(record.member_point == point)
    if "return" not in record.evaluation:
        return summary_statistic(score(record).members[members], "agent", statistic(record))
    if len(members) == 1:
        return _of_episodes(record, int(members[0]), what, _shown(record, what)[members[0]])
    return summary_statistic(_of_members(record, what)[members], "agent", statistic(record))


def point_scores(record: RunRecord) -> Float[np.ndarray, " P"]:
    """Returns by what the best sweep point is chosen: the statistic over its agents, NaN where nothing is known."""
    selection = score(record).selection
    known = np.where(np.isfinite(selection), selection, np.nan)
    return np.array([float(estimate(record, known[record.member_point == p]).mean) for p in range(len(record.points))])


def point_order(record: RunRecord) -> list[int]:
    """Returns the sweep points, the best first (of those that tie in their order); unknown scores last."""
    scores = point_scores(record)
    best = tied_for_best(scores)
    ranks = np.where(best, np.inf, scores)
    return sorted(range(len(scores)), key=lambda p: (np.isnan(ranks[p]), -ranks[p] if ranks[p] == ranks[p] else 0.0, p))


def tied_points(record: RunRecord) -> int:
    """Returns how many sweep points tie for the best."""
    return int(tied_for_best(point_scores(record)).sum())


def overlapping(record: RunRecord, order: list[int]) -> Bool[np.ndarray, " P"]:
    """Marks, in an order of the sweep points, those that the results do not tell from the first one.

    They tie with it, or their intervals overlap its interval. Without an interval only ties are marked.
    """
    tied, best = tied_for_best(point_scores(record)), point_summary(record, order[0])
    marks: list[bool] = []
    for point in order:
        found = point_summary(record, point)
        marks.append(bool(tied[point]) or (found.low <= best.high and best.low <= found.high))
    return np.asarray(marks)


def optimum(record: RunRecord) -> float | None:
    """Returns the largest expected return of an episode; None where no exact model tells it."""
    value = record.tables.get("optimal_return")
    return None if value is None else float(value)


def cut_episodes(record: RunRecord) -> str:
    """Says how many greedy episodes the evaluation itself ended, so that their returns are not of whole ones; or ""."""
    cut = record.facts.get("cut_evaluations")
    if not cut:
        return ""
    return cut_words(cut, record.evaluation["return"].size, record.config["eval_max_steps"], "eval_max_steps")


def cut_words(cut: int, played: int, limit: int, option: str) -> str:
    """Says how many episodes an evaluation ended, at the steps that an option set."""
    episodes = f"{plural(played, 'greedy episode')} {'was' if cut == 1 else 'were'}"
    return f"{cut:,} of {episodes} cut by the evaluation at {plural(limit, 'step')} ({option})"
