"""Schedules that are told as a share of the run: they decay over a run of any length, and go on as they began."""

import json
from pathlib import Path

import numpy as np
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.schedules import Linear

QUICK = {"progress": False, "eval_episodes": 0}


def epsilon(run: ks.Run) -> int:
    agent = run.record.config["agent"]
    return (agent["epsilon"] if "epsilon" in agent else agent["exploration"]["epsilon"])["steps"]


@pytest.mark.full("covered")
@pytest.mark.parametrize("steps", [100, 340])
def test_a_share_becomes_the_count_of_the_run(steps):
    run = ks.train("q_learning", "GridWorld-v0", epsilon="linear:1:0.1:50%", steps=steps, out="", **QUICK)
    same = ks.train("q_learning", "GridWorld-v0", epsilon=Linear(1.0, 0.1, steps // 2), steps=steps, out="", **QUICK)
    assert epsilon(run) == steps // 2
    np.testing.assert_array_equal(run.q_values, same.q_values)


@pytest.mark.full("covered")
def test_dqn_explores_for_a_fifth_of_a_run_by_default():
    small = {"capacity": 1000, "hidden": (4,), "learning_starts": 64, "batch_size": 8}
    run = ks.train("dqn", ks.make("CartPole-v1"), steps=320, **small, out="", **QUICK)
    assert epsilon(run) == 64
    assert ks.make_agent("dqn").epsilon.in_run(100_000) == Linear(1.0, 0.05, 20_000)


def test_presets_count_what_they_were_tuned_for():
    chosen = ks.preset("dqn", "CartPole-v1")
    agent = ks.make_agent("dqn", **chosen.options)
    assert agent.epsilon.in_run(chosen.steps) == Linear(1.0, 0.05, 30_000)
    assert agent.learning_rate.in_run(chosen.steps) == Linear(4e-3, 0.0, 200_000)


@pytest.mark.full("covered")
@pytest.mark.parametrize("given", [False, True])
def test_a_run_that_is_made_longer_keeps_its_count(given):
    agent = ks.make_agent("q_learning", epsilon="linear:1:0.1:50%")
    ks.train(agent, "GridWorld-v0", steps=200, out="run", **QUICK)
    for steps in (300, 500):
        longer = ks.resume("run", steps=steps, agent=agent if given else None)
        assert epsilon(longer) == 100
    assert json.loads(Path("run/config.json").read_text())["begun_for"] == 200
    assert epsilon(ks.load("run", agent=agent if given else None)) == 100
    other = ks.make_agent("q_learning", epsilon="linear:1:0.1:40%")
    with pytest.raises(ConfigError, match="the run was started with"):
        ks.resume("run", steps=600, agent=other)
