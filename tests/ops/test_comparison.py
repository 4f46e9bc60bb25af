"""Comparisons of algorithms, beside closed forms and plain loops."""

import numpy as np
import pytest
from scipy import stats

from kousoku.ops.comparison import performance_profile, probability_of_improvement, runs_of


def chance(x, y) -> float:
    return float(np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y]))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (4, 4), (7, 3), (30, 12)])
def test_probability_of_improvement_counts_every_pair(n, m):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 6, n).astype(float), rng.integers(0, 6, m).astype(float)
    found = probability_of_improvement(runs_of(x), runs_of(y))
    assert float(found.mean) == pytest.approx(chance(x, y))
    assert float(found.mean) == pytest.approx(stats.mannwhitneyu(x, y).statistic / (n * m))
    back = probability_of_improvement(runs_of(y), runs_of(x))
    assert float(back.mean) == pytest.approx(1.0 - float(found.mean))
    assert np.isnan(found.low) == (min(n, m) < 4)


def test_probability_of_improvement_of_normal_scores_is_the_closed_form():
    rng = np.random.default_rng(0)
    x, y = rng.normal(1.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000)
    found = probability_of_improvement(runs_of(x), runs_of(y), resamples=200)
    assert float(found.mean) == pytest.approx(stats.norm.cdf(1.0 / np.sqrt(2.0)), abs=0.015)
    assert found.low < found.mean < found.high


@pytest.mark.full("covered")
def test_its_interval_is_that_of_pairs_that_are_drawn_one_by_one():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.6, 1.0, 8), rng.normal(0.0, 1.0, 6)
    found = probability_of_improvement(runs_of(x), runs_of(y), resamples=20_000)
    draws = [chance(rng.choice(x, 8), rng.choice(y, 6)) for _ in range(4000)]
    assert (float(found.low), float(found.high)) == pytest.approx(np.quantile(draws, (0.025, 0.975)), abs=0.03)


@pytest.mark.parametrize("case", ["few", "other sizes", "ties", "strata", "alike"])
def test_the_interval_of_y_over_x_mirrors_that_of_x_over_y(case):
    rng = np.random.default_rng(7)
    scores = {
        "few": ((500, 232.95, 500, 500, 500.0), (488.7, 491.85, 500, 500, 475.85)),
        "other sizes": (rng.normal(0.4, 1.0, 12), rng.normal(size=5)),
        "ties": (rng.integers(0, 4, 9), rng.integers(0, 4, 9)),
        "strata": (rng.normal(0.4, 1.0, 10), rng.normal(size=14)),
        "alike": ((3.0, 1.0, 2.0, 5.0), (3.0, 1.0, 2.0, 5.0)),
    }[case]
    x, y = (np.asarray(values, float) for values in scores)
    strata = (np.arange(len(x)) % 2, np.arange(len(y)) % 2) if case == "strata" else (None, None)
    there = probability_of_improvement(runs_of(x, strata[0]), runs_of(y, strata[1]))
    back = probability_of_improvement(runs_of(y, strata[1]), runs_of(x, strata[0]))
    np.testing.assert_allclose(
        [back.mean, back.low, back.high], [1 - there.mean, 1 - there.high, 1 - there.low], atol=1e-12
    )
    assert there.low < there.high


def test_strata_are_averaged_and_drawn_by_themselves():
    """Two tasks: x wins all of one and loses all of the other. Whatever is drawn, the mean is a half."""
    x = runs_of(np.array([5.0, 0, 6, 0, 7, 0]), np.array(list("ababab")))
    y = runs_of(np.array([1.0, 2, 3, 1, 2, 3]), np.array(list("aaabbb")))
    assert x.sizes == y.sizes == (3, 3)
    found = probability_of_improvement(x, y)
    assert (float(found.mean), float(found.low), float(found.high)) == (0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="x has 2 strata, y has 1"):
        probability_of_improvement(x, runs_of(y.scores))


def test_profile_is_the_share_above_and_its_interval_is_binomial():
    rng = np.random.default_rng(2)
    x, thresholds = rng.normal(size=20), np.linspace(-3, 3, 13)
    found = performance_profile(runs_of(x), thresholds, resamples=20_000)
    for tau, share, low, high in zip(thresholds, found.mean, found.low, found.high, strict=True):
        p = np.mean([value > tau for value in x])
        assert share == pytest.approx(p)
        expected = stats.binom.ppf((0.025, 0.975), 20, p) / 20
        assert (low, high) == pytest.approx(expected, abs=0.051)  # one run
    assert np.all(np.diff(found.mean) <= 0)


def test_few_runs_have_no_interval_and_the_same_seed_gives_the_same():
    few, y = runs_of(np.array([1.0, 2.0, 3.0])), runs_of(np.arange(9.0))
    found = probability_of_improvement(few, y)
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(performance_profile(runs_of(np.array([1.0, 2.0])), np.zeros(3)).low).all()
    x = runs_of(np.random.default_rng(4).normal(4.0, 3.0, size=9))
    assert probability_of_improvement(x, y) == probability_of_improvement(x, y)
    assert probability_of_improvement(x, y) != probability_of_improvement(x, y, seed=1)
