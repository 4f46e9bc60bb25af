"""The best of several: chosen by some episodes, scored by others, never one that broke."""

import dataclasses

import numpy as np
import pytest
import records

from kousoku.core.choice import first_best, held_out_episodes, selection_scores, split_episodes, tied_for_best
from kousoku.core.record import RunRecord
from kousoku.run import Evaluation

NAN, INF = np.nan, np.inf


def evaluation(returns) -> Evaluation:
    returns = np.asarray(returns, np.float32)
    return Evaluation(returns, np.full(returns.shape, 8), np.zeros(returns.shape, bool))


def recorded(returns) -> RunRecord:
    returns = np.asarray(returns, np.float32)
    record = records.make(records.grid_env("S..G"), members=len(returns), reports=4)
    return dataclasses.replace(record, evaluation=record.evaluation | {"return": returns})


@pytest.mark.parametrize("episodes", range(2, 12))
def test_no_episode_selects_and_is_held_out(episodes):
    split, numbers = split_episodes(3, episodes), range(episodes)
    chosen, held_out = numbers[split.selection], numbers[split.held_out]
    assert [*chosen, *held_out] == [*numbers]
    assert len(chosen) - len(held_out) in (0, 1)
    assert split.unbiased


def test_one_member_is_not_chosen_and_one_episode_cannot_be_split():
    assert split_episodes(1, 10) == (slice(0, 10), slice(0, 10), True)
    assert split_episodes(4, 1) == (slice(0, 1), slice(0, 1), False)


@pytest.mark.parametrize(
    ("returns", "best"),
    [
        ([[NAN, NAN], [7, 7], [9, 9]], 2),
        ([[7, 7], [9, NAN], [8, 8]], 2),
        ([[7, 7], [NAN, 9], [INF, 8]], 0),
        ([[-INF, -INF], [-3e38, -3e38]], 1),
        ([[NAN, NAN], [NAN, NAN]], 0),
        ([[-INF, 1], [NAN, 1]], 0),
        ([[1, 5], [2, 0], [2, 9]], 1),
        ([[3]], 0),
        ([[NAN], [-1]], 1),
    ],
)
def test_what_is_no_number_is_never_the_best_and_ties_are_the_first(returns, best):
    assert evaluation(returns).best_member == best
    assert recorded(returns).best_member == best


def test_equal_episodes_in_another_order_tie():
    returns = np.random.default_rng(0).normal(size=100).astype(np.float32) / 3
    shuffled = np.random.default_rng(1).permutation(returns)
    assert tied_for_best(np.array([shuffled.mean(), returns.mean(), returns.mean() - 0.1])).tolist() == [1, 1, 0]
    assert first_best(np.array([-1e30, 5.0, 7.0])) == 2, "one that diverged does not make the others tie"


def test_the_best_is_told_without_the_luck_of_the_choice():
    """Thirty agents, all alike: the best of them in the episodes that chose it is no better in the others."""
    rng, chosen, held_out = np.random.default_rng(3), [], []
    for _ in range(400):
        returns = rng.normal(size=(30, 10))
        result = evaluation(returns)
        chosen.append(selection_scores(returns).max())
        held_out.append(float(result.best.mean))
        assert result.best.n == 5
    assert np.mean(chosen) > 0.8
    assert abs(np.mean(held_out)) < 0.07  # 3 standard errors
    assert held_out_episodes(returns).shape == (30, 5)


def test_the_interval_of_few_agents_and_of_one():
    two = evaluation([[1, 2, 3, 4], [2, 3, 4, 5]]).population
    assert (float(two.mean), np.isnan(two.low)) == (3.0, True)
    one = evaluation([[1, 2, 3, 4]]).population
    assert one.n == 4
    assert one.low < 2.5 < one.high
    iqm = dataclasses.replace(evaluation(np.array([[0, 1, 2, 3, 100]]).T.repeat(2, 1)), statistic="IQM").population
    assert float(iqm.mean) == 2.0
