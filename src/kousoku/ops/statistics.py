"""Statistics over independent lanes: a mean, and how well it is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped


class MeanInterval(NamedTuple):
    """A mean with its confidence interval, and how many values it was made of."""

    mean: Float[np.ndarray, "..."]
    low: Float[np.ndarray, "..."]
    high: Float[np.ndarray, "..."]
    n: Int[np.ndarray, "..."]


def mean_interval(values: Shaped[np.ndarray, "..."], axis: int = -1, confidence: float = 0.95) -> MeanInterval:
    """mean +- t(n - 1) s / sqrt(n) along one axis, in float64; s has the divisor n - 1.

    NaN counts as missing, so n may differ from place to place. The mean of no value is NaN, and so is the interval of
    fewer than two. Values have to be independent: the lanes of a run are, the steps of one lane are not.

    References:
        Student, The probable error of a mean, Biometrika 6 (1908).

    Examples:
        >>> result = mean_interval(np.array([1.0, 2.0, 3.0, np.nan]))
        >>> [round(float(x), 3) for x in result]
        [2.0, -0.484, 4.484, 3.0]
    """
    x = np.asarray(values, np.float64)
    present = ~np.isnan(x)
    count = present.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(present, x, 0.0).sum(axis=axis) / count
        squares = np.where(present, (x - np.expand_dims(mean, axis)) ** 2, 0.0).sum(axis=axis)
        half = student_t_quantile((1.0 + confidence) / 2.0, count - 1) * np.sqrt(squares / (count - 1) / count)
    return MeanInterval(np.asarray(mean), np.asarray(mean - half), np.asarray(mean + half), np.asarray(count))


def student_t_quantile(p: float, degrees: Int[np.ndarray, "..."] | np.integer | int) -> Float[np.ndarray, "..."]:
    """The t with P(T <= t) = p for Student's distribution; NaN where there is no degree of freedom.

    Examples:
        >>> round(float(student_t_quantile(0.975, 29)), 4)
        2.0452
    """
    from scipy.special import stdtrit  # imported here: scipy is slow to load and only reports need it

    degrees = np.asarray(degrees, np.float64)
    return np.asarray(stdtrit(np.where(degrees > 0, degrees, np.nan), p), np.float64)
