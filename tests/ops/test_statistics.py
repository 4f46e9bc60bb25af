"""Means and intervals over lanes, against hand numbers and scipy."""

import numpy as np
import pytest
from scipy import stats

from kousoku.ops.statistics import (
    estimate_interval,
    interquartile_mean,
    iqm_interval,
    mean_interval,
    student_t_quantile,
)


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


@pytest.mark.parametrize("statistic", ["mean", "IQM"])
@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1, 1, 1, 1],  # FrozenLake's episodes
        [1, 1, 1, 1, 1, 1],
        [-1000, -13, -13, -13, -13, -13, -13],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.7],
        [np.nan, 0, 0, 1, 1, 1, 1, 1, np.nan],
        [5.0, 5.0, 5.0, 5.0, 5.0, np.inf],
    ],
)
def test_an_interval_holds_nothing_beyond_the_values(values, statistic):
    x = np.array(values, np.float64)
    found = estimate_interval(np.stack([x, x[::-1]]), statistic)
    for low, high in zip(found.low, found.high, strict=True):
        if np.isfinite(x[~np.isnan(x)]).all():
            assert np.nanmin(x) <= low <= high <= np.nanmax(x)


def test_an_interval_within_the_values_is_students():
    x = np.random.default_rng(5).normal(size=(20, 12))
    estimated, whole = estimate_interval(x), mean_interval(x)
    np.testing.assert_array_equal(estimated.low, whole.low)
    np.testing.assert_array_equal(estimated.high, whole.high)


@pytest.mark.parametrize(("n", "share"), [(4, 0.95), (5, 0.95), (6, 0.946), (10, 0.95)])
def test_how_often_the_truth_is_in_the_interval(n, share):
    x = np.random.default_rng(6).normal(1.0, 3.0, (20_000, n))
    found = estimate_interval(x)
    covered = np.mean((found.low <= 1.0) & (found.high >= 1.0))
    assert covered == pytest.approx(share, abs=0.01)


def test_no_values_and_few_have_no_interval():
    for values in (np.empty((2, 0)), np.full((2, 3), np.nan), np.ones((2, 3)), np.array([[1.0, np.nan, 2.0, 3.0]] * 2)):
        found = estimate_interval(values)
        assert np.isnan([found.low, found.high]).all()


def test_quantile():
    for degrees in (1, 2, 10, 1000):
        assert student_t_quantile(0.975, degrees) == pytest.approx(stats.t.ppf(0.975, degrees))
    assert np.isnan(student_t_quantile(0.975, 0))


def test_interquartile_mean_agrees_with_scipy():
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 4, 5, 7, 8, 30, 101):
        x = rng.lognormal(size=(6, n)).astype(np.float32)
        np.testing.assert_allclose(interquartile_mean(x), stats.trim_mean(x.astype(np.float64), 0.25, axis=1))
        np.testing.assert_allclose(interquartile_mean(x.T, axis=0), interquartile_mean(x))
    x[0, :60] = np.nan
    assert interquartile_mean(x)[0] == pytest.approx(stats.trim_mean(x[0, 60:].astype(np.float64), 0.25))
    assert np.isnan(interquartile_mean(np.array([np.nan, np.nan])))


def test_bootstrap_agrees_with_scipy():
    x = np.random.default_rng(4).normal(size=(3, 23))
    found = iqm_interval(x, resamples=20_000)
    for row, low, high in zip(x, found.low, found.high, strict=True):
        other = stats.bootstrap(
            (row,),
            lambda y, axis: stats.trim_mean(y, 0.25, axis=axis),
            n_resamples=20_000,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
        assert (low, high) == pytest.approx((other.low, other.high), abs=0.02)


def test_each_stratum_is_drawn_by_itself():
    """Two tasks of four runs each: every draw has four of either, as drawn here one by one."""
    rng = np.random.default_rng(5)
    strata = np.array([7, 3, 7, 3, 7, 3, 7, 3])
    x = np.where(strata == 3, 10.0, 0.0) + rng.normal(size=8)
    found = iqm_interval(x, strata, confidence=0.9, resamples=20_000)
    picks = np.concatenate([rng.choice(x[strata == s], (20_000, 4)) for s in (3, 7)], axis=1)
    low, high = np.quantile(stats.trim_mean(picks, 0.25, axis=1), (0.05, 0.95))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.05)
    loose = iqm_interval(x, confidence=0.9)
    assert loose.high - loose.low > 1.5 * (high - low)


def test_bootstrap_repeats_itself_and_leaves_out_what_is_missing():
    x = np.random.default_rng(6).normal(size=(2, 3, 9))
    x[0, 0, 4] = np.nan
    x[1, 2, 3:] = np.nan
    found, again, other = iqm_interval(x), iqm_interval(x), iqm_interval(x, seed=1)
    assert found.mean.shape == found.low.shape == (2, 3)
    np.testing.assert_array_equal(found.low, again.low)
    assert found.low[0, 0] != other.low[0, 0]
    np.testing.assert_array_equal(found.n, [[8, 9, 9], [9, 9, 3]])
    assert found.mean[1, 2] == pytest.approx(x[1, 2, :3].mean())
    assert np.isnan([found.low[1, 2], found.high[1, 2]]).all()
    alone = iqm_interval(np.delete(x[0, 0], 4))
    assert (alone.low, alone.high) == (found.low[0, 0], found.high[0, 0])
    assert iqm_interval(np.zeros((2, 0))).n.tolist() == [0, 0]


@pytest.mark.full("covered")
@pytest.mark.parametrize(("n", "least"), [(5, 0.86), (10, 0.90), (30, 0.92)])
def test_bootstrap_covers_the_truth_about_as_often_as_it_says(n, least):
    rng = np.random.default_rng(7)
    for draw, truth in ((rng.standard_normal, 0.0), (rng.standard_exponential, 0.7382)):
        found = iqm_interval(draw((3000, n)), resamples=1000)
        covered = np.mean((found.low <= truth) & (found.high >= truth))
        assert least < covered < 0.97
