"""Runs that go on where a schedule has ended: a line says so."""

import warnings

import pytest

import kousoku as ks
from kousoku.core.errors import RunWarning
from kousoku.training.guards.schedule_ends import warn_early_ends, warn_spent_rates


@pytest.mark.parametrize(
    ("rate", "begun_for", "until", "told"),
    [
        ("linear:0.5:0:1000", 1000, 1001, True),
        ("linear:0.5:0:500", 1000, 2000, True),
        ("linear:0.5:0:1000", 1000, 1000, False),
        ("linear:0.5:0:2000", 1000, 2000, False),
        ("linear:0.5:0.01:1000", 1000, 2000, False),
        ("linear:0:0.5:1000", 1000, 2000, False),
        (0.5, 1000, 2000, False),
    ],
)
def test_it_is_told_where_a_rate_ends_at_nothing_and_the_run_does_not(rate, begun_for, until, told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_spent_rates(ks.make_agent("a2c", learning_rate=rate), begun_for, until, ())
    assert [each.category for each in caught] == [RunWarning] * told


@pytest.mark.parametrize(
    ("share", "steps", "told"),
    [
        ("100%", 2**31 - 1, None),
        ("100%", 5_000_000_000, "epsilon changes over 2,147,483,647 steps, not over 100% of the run's 5,000,000,000"),
        ("20%", 5_000_000_000, None),
        ("20%", 10**12, "epsilon changes over 2,147,483,647 steps, not over 20% of the run's 1,000,000,000,000"),
        (10, 10**12, None),
    ],
)
def test_shares_of_runs_longer_than_schedules_count_are_told(share, steps, told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_early_ends(ks.make_agent("q_learning", epsilon=f"linear:1:0.1:{share}"), steps)
    expected = [] if told is None else [f"{told}: schedules count no further"]
    assert [str(each.message) for each in caught] == expected


def test_members_rates_of_their_own_are_not_its():
    spent = ks.make_agent("a2c", learning_rate="linear:0.5:0:10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_spent_rates(spent, 10, 20, {"learning_rate": (0.1, 0.2)})


def test_a_run_that_is_resumed_says_so(tmp_path):
    small = {"num_envs": 4, "num_steps": 8, "hidden": (8,), "learning_rate": "linear:1e-3:0:100%"}
    where = str(tmp_path / "run")
    ks.train(ks.make_agent("a2c", **small), "CartPole-v1", steps=64, out=where, eval_episodes=0)
    said = "learning_rate comes to 0 at the 64 steps that this run was begun for: nothing is learned after them"
    with pytest.warns(RunWarning, match=said):
        ks.resume(where, steps=96)
