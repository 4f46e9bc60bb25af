"""A bandit's run records how often the best arm is pulled, and the regret, and its report shows both."""

import numpy as np
import pytest

import kousoku as ks
from kousoku.training.metrics.metric_sums import recorded_by_default
from kousoku.viz.payload import payload

QUICK = {"steps": 200, "seeds": 3, "out": "", "progress": False}


def charts(run: ks.Run) -> dict[str, str]:
    return {chart["title"]: chart["unit"] for chart in payload(run.record)["curves"]["charts"]}


@pytest.mark.by_default("bandit_gradient-made")
@pytest.mark.parametrize("env", ["Bandit-v0", ks.make("Bandit-v0", arms=3)], ids=["id", "made"])
@pytest.mark.parametrize("agent", ["bandit_ucb", "bandit_gradient"])
def test_optimal_actions_and_regret_are_charts_by_default(agent, env):
    run = ks.train(agent, env, eval_episodes=0, **QUICK)
    assert run.record.config["record"] == ["returns", "metrics", "visits", "info"]
    told = charts(run)
    assert told["Optimal actions"] == "share of the steps in which the best action was taken"
    assert told["Regret"].startswith("mean per step: ")
    optimal, regret = run.record.curves["info.optimal"], run.record.curves["info.regret"]
    assert ((optimal >= 0) & (optimal <= 1)).all()
    assert (regret >= 0).all()


@pytest.mark.full("covered")
def test_what_is_asked_for_is_recorded_and_nothing_else():
    run = ks.train("bandit_ucb", "Bandit-v0", record=["returns"], **QUICK)
    assert "info.optimal" not in run.record.curves
    assert "Optimal actions" not in charts(run)


@pytest.mark.full("covered")
def test_recording_it_changes_no_bit_and_other_environments_do_not():
    with_info, without = (
        ks.train("bandit_ucb", "Bandit-v0", **QUICK, **record) for record in ({}, {"record": ["returns", "metrics"]})
    )
    np.testing.assert_array_equal(with_info.q_values, without.q_values)
    other = ks.train("q_learning", "GridWorld-v0", **QUICK)
    assert other.record.config["record"] == ["returns", "metrics", "visits"]


@pytest.mark.parametrize(
    ("env", "recorded"),
    [
        (ks.make("DriftingBandit-v0"), True),
        (ks.wrappers.TimeLimit(ks.wrappers.ClipReward(ks.make("Bandit-v0"), 0.0, 1.0), 9), True),
        (ks.make("GridWorld-v0"), False),
        (ks.wrappers.TimeLimit(ks.make("GridWorld-v0"), 9), False),
    ],
    ids=["bandit", "wrapped bandit", "grid", "wrapped grid"],
)
def test_an_environment_says_whether_its_info_is_recorded_by_default(env, recorded):
    assert ("info" in recorded_by_default(ks.Online(), env)) is recorded
    assert "info" not in recorded_by_default(ks.Generations(population_size=2, num_envs=2), env)
