"""`kousoku bench host` with a budget that takes no time: rows and files come out."""

import json

import pytest

from kousoku_bench import host

TINY = host.HostBudget(ids=("CartPole-v1",), counts=(2,), num_steps=8, rollouts=1, seconds=0.01)


@pytest.mark.full("whole way")
def test_each_contender_has_a_row(tmp_path):
    (section,) = host.bench(tmp_path, TINY, say=lambda text: None)
    alone, slots, acting, ours, theirs = section.rows
    assert alone.figures["steps_per_second"] > acting.figures["steps_per_second"] > 0
    assert slots.figures["steps_per_second"] > 0
    assert acting.figures["added"] > 0
    assert "overhead" in slots.figures
    assert ours.figures["steps_per_second"] > 0
    assert theirs.name == "Stable-Baselines3, PPO"
    assert json.loads((tmp_path / "host.json").read_text())["sections"][0]["rows"][0]["name"] == "alone"


def test_overhead_is_what_a_step_takes_longer_in_parts_of_the_environments_own_time():
    row = host._beside("ours", 8, 80_000.0, 100_000.0)  # 100 and 80 µs a step of 8
    assert row.figures["added"] == pytest.approx(20.0)
    assert row.figures["overhead"] == pytest.approx(0.25)
    assert row.figures["agents"] == 8


def test_an_environment_that_is_not_there_is_one_row_that_says_why():
    (row,) = host.section("NoSuch-v0", TINY).rows
    assert not row.figures.get("steps_per_second")
    assert "NoSuch" in row.note
