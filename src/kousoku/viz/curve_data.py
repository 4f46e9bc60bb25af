"""Learning curves as numbers: which one shows the learning, and its statistic and interval over the agents."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ..core.record import RunRecord, steps_of
from ..core.words import plural
from .estimates import estimate
from .ranking import score
from .reports import SAME, has_values, held, is_flat, mean_of_reports
from .summary import exact_values, state_values

GAPS = 0.05
"""The share of reports without a return from which on the reward makes a better curve."""
SAME_LENGTH = 0.01
"""Episodes whose lengths differ by less, in units of the longest, end together at a time limit."""
ESTIMATED = "reward_per_episode"
OF_EPISODES = ("return", "length", "value_estimate", "discounted_return", "value_bias")
"""Curves that are means over the episodes of a report."""
DATA_REWARD = "mean reward of the minibatches"
"""What the curve "reward" is of where agents learned from recorded data."""


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


def primary_curve(record: RunRecord) -> str | None:
    """Returns the name of the curve that shows the learning; None if there is none.

    The return; the episodes' length where every return is the same (a goal and no cost of steps), lengths are not, and
    no greedy episode returned more; the reward where no episode ended, or of an episode's length where some reports saw
    none end (see `with_derived_curves`). Whether shorter episodes are better is not known here.
    """
    name, lengths = returns_curve(record), record.curves.get("length")
    flat = name == "return" and same_return(record) is not None and not _evaluated_better(record)
    return "length" if flat and lengths is not None and not is_flat(lengths) else name


def same_return(record: RunRecord) -> float | None:
    """Returns what every episode while training returned; None where some differ, or one mean is all that is known."""
    values = record.curves["return"]
    known = values[~np.isnan(values)]
    return float(known[0]) if known.size > 1 and is_flat(known) else None


def _evaluated_better(record: RunRecord) -> bool:
    """Returns whether greedy episodes, on the way or after training, returned more than those while training."""
    best = float(np.nanmax(record.curves["return"]))
    greedy = (record.curves.get("eval_return"), record.evaluation.get("return"))
    known = [float(np.nanmax(values)) for values in greedy if values is not None and has_values(values)]
    most = max(known, default=best)
    return most > best and not math.isclose(most, best, rel_tol=SAME)


def returns_curve(record: RunRecord) -> str | None:
    """Returns the name of the curve of returns: estimated ones where there are, the reward where no episode ended."""
    names = (ESTIMATED, "return", "reward")
    return next((name for name in names if has_values(record.curves.get(name))), None)


def wants_log_axis(name: str, members: np.ndarray) -> bool:
    """Returns whether a curve has a logarithmic axis: lengths of episodes that differ by more than a factor of 20."""
    known = members[np.isfinite(members)]
    return bool(name == "length" and known.size and known.min() > 0 and known.max() > 20 * known.min())


def what_is_told(record: RunRecord, name: str, otherwise: str) -> str:
    """Returns what a curve is of: of returns, whether the agent cuts its episodes; of rewards, whose they are."""
    limit = own_limit(record) if name == "return" else None
    if limit is not None:
        return f"return of the first {plural(limit, 'step')} of each episode: training plays no more"
    return DATA_REWARD if name == "reward" and record.of_recorded_data else otherwise


def own_limit(record: RunRecord) -> int | None:
    """Returns the steps after which an agent cuts its episodes; None where its evaluations are seen to be no longer."""
    limit = record.config.get("agent", {}).get("max_episode_steps")
    greedy = record.evaluation.get("length")
    return None if limit is None or (greedy is not None and np.max(greedy) <= limit) else int(limit)


def evaluation_of(name: str) -> str:
    """Returns the name of the curve of evaluations that belongs to a curve."""
    return "eval_return" if name == ESTIMATED else f"eval_{name}"


def with_derived_curves(record: RunRecord) -> RunRecord:
    """Adds the curves that follow from what was recorded.

    "value_error" [R, N] is the mean of |max_a q - v*|, if the tables' history is there. The evaluation after training
    is the last point of "eval_return" and "eval_length". "reward_per_episode" is the reward per step times the steps of
    an episode: where all episodes are as long as the time limit, none ends for so many steps of every environment, and
    where environments begin together, many reports see none end. The reward is what a return is made of.
    """
    return _with_estimated_return(_with_final_evaluation(_with_error_curve(record)))


def _with_error_curve(record: RunRecord) -> RunRecord:
    exact, history = exact_values(record), record.tables.get("q_history")
    if exact is None or history is None or not np.isfinite(exact).any():
        return record
    live = np.isfinite(exact)
    errors = [np.abs(state_values(q[:, live]) - exact[live]).mean(axis=1) for q in history]
    return replace(record, curves=record.curves | {"value_error": np.stack(errors)})


def _with_final_evaluation(record: RunRecord) -> RunRecord:
    """Adds what is told of the evaluation after training; one on the way at the same step makes place for it."""
    if "return" not in record.evaluation or not len(record.curves.get("step", ())):
        return record
    end = int(record.facts.get("steps", record.curves["step"][-1]))
    lengths = np.asarray(record.evaluation["length"], np.float64).mean(axis=1)
    steps = np.asarray(record.curves.get("eval_step", ()), np.int64)
    earlier = steps < end
    added = {"eval_step": np.append(steps[earlier], end)}
    for name, last in (("eval_return", score(record).members), ("eval_length", lengths)):
        before = np.asarray(record.curves.get(name, np.empty((0, record.num_members))), np.float64)
        added[name] = np.concatenate([before[earlier], last[None]])
    return replace(record, curves=record.curves | added)


def _with_estimated_return(record: RunRecord) -> RunRecord:
    returns, lengths, reward = (record.curves.get(name) for name in ("return", "length", "reward"))
    if returns is None or lengths is None or reward is None:
        return record
    seen, told = (int(np.isfinite(values).any(axis=1).sum()) for values in (returns, reward))
    known = np.asarray(lengths, np.float64)[np.isfinite(lengths)]
    if not known.size or seen >= (1 - GAPS) * told or np.ptp(known) > SAME_LENGTH * known.max():
        return record
    if _is_a_piece(record, known.max()):
        return record
    limit = record.facts.get("time_limit")
    if limit is None:  # not told, as of environments on the host: of each member some episodes were so long
        several = (np.isfinite(lengths).sum(axis=0) > 1).all()
        return _with_estimate(record, reward, float(known.mean())) if several else record
    return _with_estimate(record, reward, limit) if known.min() >= (1 - SAME_LENGTH) * limit else record


def _is_a_piece(record: RunRecord, length: float) -> bool:
    """Returns whether a report is a piece of an episode, whose reward is not that of a whole one.

    It has fewer steps than an episode; and no two episodes end in any, as they do where many environments are stepped.
    """
    ended = record.curves.get("episodes")
    few = np.median(np.diff(record.curves["step"], prepend=0)) < length
    return bool(few and ended is not None and np.max(ended) <= 1)


def _with_estimate(record: RunRecord, reward: np.ndarray, length: float) -> RunRecord:
    return replace(record, curves=record.curves | {ESTIMATED: np.asarray(reward, np.float64) * length})


def curve(record: RunRecord, name: str, limit: int = 400) -> Curve:
    """Returns a recorded quantity, over stretches of several reports each if there are more than `limit` of them.

    Stretches in which no member has a value are left out, but for the last, where the axis ends: environments that
    begin together end their episodes together, with many reports between. Where some members' episodes ended, what the
    others returned last still stands.
    """
    values = np.asarray(record.curves[name], np.float64)
    starts = np.unique(np.linspace(0, len(values), min(limit, len(values)), endpoint=False).astype(int))
    ends = np.append(starts[1:], len(values)) - 1
    weights = record.curves.get("episodes") if name in OF_EPISODES else None
    members = values if len(starts) == len(values) else mean_of_reports(values, weights, starts)
    told = np.append(np.isfinite(members[:-1]).any(axis=1), True)
    members, ends = members[told], ends[told]
    if name in OF_EPISODES:
        members = held(members)
    points = [estimate(record, members[:, record.member_point == p]) for p in range(len(record.points))]
    mean, low, high = (np.stack([getattr(point, part) for point in points], axis=1) for part in ("mean", "low", "high"))
    step = np.asarray(record.curves[steps_of(name)], np.float64)[ends]
    return Curve(step, _seconds(record, step), mean, low, high, members)


def _seconds(record: RunRecord, step: Float[np.ndarray, " R"]) -> Float[np.ndarray, " R"] | None:
    """Returns how long training had taken at some steps."""
    if "seconds" not in record.curves:
        return None
    steps, seconds = (np.insert(np.asarray(record.curves[name], np.float64), 0, 0.0) for name in ("step", "seconds"))
    return np.interp(step, steps, seconds)
