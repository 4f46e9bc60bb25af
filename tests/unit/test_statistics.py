"""Means and intervals over lanes, against hand numbers and scipy."""

import numpy as np
import pytest
from scipy import stats

from kousoku.ops.statistics import mean_interval, student_t_quantile


def test_hand_numbers():
    # mean 2, s = 1, t(2) = 4.302653, half width 4.302653 / sqrt(3)
    result = mean_interval(np.array([1.0, 2.0, 3.0]))
    assert result.mean == 2.0
    assert result.n == 3
    assert result.high - result.mean == pytest.approx(4.302653 / np.sqrt(3), abs=1e-6)
    assert result.mean - result.low == pytest.approx(result.high - result.mean)


def test_agrees_with_scipy_where_values_are_missing():
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 2.0, (40, 30)).astype(np.float32)
    x[rng.random(x.shape) < 0.3] = np.nan
    result = mean_interval(x, axis=1)
    for i, row in enumerate(x.astype(np.float64)):
        known = row[~np.isnan(row)]
        low, high = stats.t.interval(0.95, len(known) - 1, loc=known.mean(), scale=stats.sem(known))
        assert result.n[i] == len(known)
        np.testing.assert_allclose(
            [result.mean[i], result.low[i], result.high[i]], [known.mean(), low, high], rtol=1e-9
        )


def test_other_confidence_and_axis():
    x = np.random.default_rng(1).normal(size=(5, 7))
    result = mean_interval(x, axis=0, confidence=0.8)
    low, high = stats.t.interval(0.8, 4, loc=x.mean(0), scale=stats.sem(x, axis=0))
    np.testing.assert_allclose(result.low, low)
    np.testing.assert_allclose(result.high, high)


def test_nothing_and_a_single_value():
    result = mean_interval(np.array([[np.nan, np.nan], [5.0, np.nan]]))
    assert np.isnan(result.mean[0])
    assert result.mean[1] == 5.0
    assert np.isnan(result.low).all()
    assert np.isnan(result.high).all()
    assert result.n.tolist() == [0, 1]


def test_infinite_and_whole_numbers():
    assert mean_interval(np.array([1, 2, 3], np.int32)).mean == 2.0
    result = mean_interval(np.array([1.0, np.inf]))
    assert result.mean == np.inf
    assert np.isnan(result.low)


def test_coverage_is_95_percent():
    x = np.random.default_rng(2).normal(1.0, 3.0, (20_000, 5))
    result = mean_interval(x, axis=1)
    covered = np.mean((result.low <= 1.0) & (result.high >= 1.0))
    assert covered == pytest.approx(0.95, abs=5 * np.sqrt(0.95 * 0.05 / 20_000))


def test_quantile():
    for degrees in (1, 2, 10, 1000):
        assert student_t_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees))
    assert np.isnan(student_t_quantile(0.975, 0))
