"""Comparisons of algorithms by the scores of their runs, with stratified bootstrap intervals.

Runs belong to strata, such as the task that each was on; a draw takes as many runs of each stratum as there are, with
replacement, from that stratum. Fewer than four runs have no interval (NaN), as in `statistics`.

References:
    Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, arXiv:2108.13264.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from .statistics import FEWEST, MeanInterval, bootstrap_counts

RESAMPLES = 2000


class Runs(NamedTuple):
    """Scores of runs, sorted by their stratum.

    Attributes:
        scores: one of each run.
        sizes: how many runs each stratum has, in this order.
    """

    scores: Float[np.ndarray, " N"]
    sizes: tuple[int, ...]


def runs_of(scores: Shaped[np.ndarray, " N"], strata: Shaped[np.ndarray, " N"] | None = None) -> Runs:
    """Returns scores by their stratum; None for one stratum."""
    values = np.asarray(scores, np.float64)
    if strata is None:
        return Runs(values, (len(values),))
    group = np.unique(strata, return_inverse=True)[1]
    return Runs(values[np.argsort(group, kind="stable")], tuple(np.bincount(group).tolist()))


def performance_profile(
    runs: Runs,
    thresholds: Shaped[np.ndarray, " T"],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MeanInterval:
    """Computes the share of runs with a score above each threshold, F(tau) = mean of 1[x > tau], and its intervals.

    References:
        Agarwal et al., section 4.2 (run-score distributions), equation 2.

    Examples:
        >>> performance_profile(runs_of(np.array([1.0, 2.0, 3.0])), np.array([0.0, 1.0, 2.5])).mean.round(2).tolist()
        [1.0, 0.67, 0.33]
    """
    above = (runs.scores > np.asarray(thresholds, np.float64)[:, None]).astype(np.float64)
    draws = above @ bootstrap_counts(runs.sizes, resamples, seed) / len(runs.scores)
    return _interval(above.mean(axis=1), draws, len(runs.scores), confidence)


def probability_of_improvement(
    x: Runs, y: Runs, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> MeanInterval:
    """Computes P(X > Y) + P(X = Y) / 2 of a run of x and one of y, the mean over the strata, and its interval.

    Runs of x and y are drawn independently of each other, in each half of the draws with what the other one is drawn
    with in the other half: so that of y over x the interval is [1 - high, 1 - low] of that of x over y.

    Raises:
        ValueError: if the two have not as many strata.

    References:
        Agarwal et al., section 4.3 and appendix A.4; Mann and Whitney, Annals of Mathematical Statistics 18 (1947):
        U / (N M).

    Examples:
        >>> x, y = runs_of(np.array([2.0, 3.0])), runs_of(np.array([1.0, 2.0]))
        >>> float(probability_of_improvement(x, y).mean)
        0.875
    """
    if len(x.sizes) != len(y.sizes):
        raise ValueError(f"x has {len(x.sizes)} strata, y has {len(y.sizes)}")
    half = (resamples + 1) // 2
    mean, draws, total = 0.0, np.zeros((2, half)), 0
    starts_x, starts_y = (np.cumsum((0, *runs.sizes)) for runs in (x, y))
    for i, (n, m) in enumerate(zip(x.sizes, y.sizes, strict=True)):
        ours, theirs = np.sort(x.scores[starts_x[i] :][:n]), np.sort(y.scores[starts_y[i] :][:m])
        once = np.ones((n, 1)), np.ones((m, 1))
        mean += float(_wins(ours, theirs, *once)[0]) / len(x.sizes)
        seeds = seed + 2 * i, seed + 2 * i + 1
        for part, (first, second) in enumerate((seeds, seeds[::-1])):
            drawn = bootstrap_counts((n,), half, first), bootstrap_counts((m,), half, second)
            draws[part] += _wins(ours, theirs, *drawn) / len(x.sizes)
        total += min(n, m)
    return _interval(mean, draws.reshape(-1), total, confidence)


def _wins(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " m"],
    x_counts: Shaped[np.ndarray, "n B"],
    y_counts: Shaped[np.ndarray, "m B"],
) -> Float[np.ndarray, " B"]:
    """Returns P(X > Y) + P(X = Y) / 2 of every draw of sorted scores: what of y is below each x, half of its equals."""
    below = np.concatenate([np.zeros((1, y_counts.shape[1])), np.cumsum(y_counts, axis=0)])
    beaten = (below[np.searchsorted(y, x, "left")] + below[np.searchsorted(y, x, "right")]) / 2
    return (x_counts * beaten).sum(axis=0) / (len(x) * len(y))


def _interval(
    value: float | Float[np.ndarray, " T"], draws: Float[np.ndarray, "*T B"], n: int, confidence: float
) -> MeanInterval:
    """Returns a value with the percentiles of its draws; without an interval where there are few runs."""
    bounds: Float[np.ndarray, "..."] = np.quantile(draws, ((1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0), axis=-1)
    low, high = np.full_like(bounds, np.nan) if n < FEWEST else bounds
    count: Int[np.ndarray, ""] = np.asarray(n)
    return MeanInterval(np.asarray(value), np.asarray(low), np.asarray(high), count)
