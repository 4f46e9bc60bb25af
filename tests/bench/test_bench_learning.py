"""`kousoku bench learning` with a preset that takes no time: rows and files come out."""

import json

import numpy as np
import pytest

from kousoku.cli import main
from kousoku.training.presets import Preset
from kousoku_bench import learning
from kousoku_bench.table import processor

TINY = {("q_learning", "GridWorld-v0"): Preset({"discount": 0.9}, 300, 1.0)}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(learning, "presets", lambda: TINY)
    monkeypatch.setattr(learning, "preset", lambda agent, env: TINY[agent, env])


@pytest.mark.full("whole way")
def test_every_seed_is_trained_and_told(tiny, tmp_path):
    said = []
    section = learning.bench(tmp_path, 2, episodes=3, say=said.append)
    (row,) = section.rows
    assert row.name == "q_learning GridWorld-v0"
    figures = row.figures
    assert (figures["agents"], figures["steps"], figures["solved"]) == (2, 300, 1.0)
    assert figures["low"] <= figures["return"] <= figures["high"]
    assert figures["worst"] <= figures["return"]
    assert figures["compile_seconds"] > 0
    assert figures["steps_per_second"] == pytest.approx(300 / figures["seconds"])
    assert sum("after" in line for line in said) == 2
    saved = json.loads((tmp_path / "learning.json").read_text())
    assert np.isclose(saved["sections"][0]["rows"][0]["return"], figures["return"])
    assert "q_learning GridWorld-v0" in (tmp_path / "learning.md").read_text()


@pytest.mark.full("whole way")
def test_one_environment_alone_renews_its_row(monkeypatch, tmp_path):
    """The others stay as they were, in their order."""
    both = {("q_learning", "GridWorld-v0"): TINY["q_learning", "GridWorld-v0"]}
    both["sarsa", "CliffGridWorld-v0"] = Preset({}, 200, 0.0)
    monkeypatch.setattr(learning, "presets", lambda: both)
    monkeypatch.setattr(learning, "preset", lambda agent, env: both[agent, env])

    def bench(seeds, only):
        return learning.bench(tmp_path, seeds, only=only, episodes=1, say=lambda line: None)

    (alone,) = bench(1, "CliffGridWorld-v0").rows
    assert alone.figures["low"] is None, "one seed has no interval"
    assert alone.note == f"2 devices, {processor()}"
    bench(2, None)
    before = json.loads((tmp_path / "learning.json").read_text())["sections"][0]["rows"]
    bench(3, "GridWorld-v0")
    record = json.loads((tmp_path / "learning.json").read_text())
    after = record["sections"][0]["rows"]
    assert [row["name"] for row in after] == ["q_learning GridWorld-v0", "sarsa CliffGridWorld-v0"]
    assert [row["agents"] for row in after] == [3, 2]
    assert after[1] == before[1]


def test_rows_of_other_machines_and_versions_stay_and_say_so(monkeypatch, tmp_path):
    pairs = {(agent, "GridWorld-v0"): Preset({}, 300, 1.0) for agent in ("q_learning", "sarsa", "dyna_q")}
    figures = {column.key: 1 for column in learning.COLUMNS}
    monkeypatch.setattr(learning, "presets", lambda: pairs)
    monkeypatch.setattr(learning, "preset", lambda agent, env: pairs[agent, env])
    monkeypatch.setattr(
        learning, "row", lambda agent, env, *_: learning.TableRow(f"{agent} {env}", dict(figures), "1 device, new")
    )

    def bench(only=None):
        return [row.note for row in learning.bench(tmp_path, 1, only, say=lambda line: None).rows]

    def made_elsewhere(**versions):
        record = json.loads((tmp_path / "learning.json").read_text())
        record["device"] |= {"machine": "aarch64", "cores": 64}
        record["versions"] |= versions
        for row in record["sections"][0]["rows"]:
            row["note"] = row["note"].replace("new", "old")
        (tmp_path / "learning.json").write_text(json.dumps(record))

    assert bench() == ["1 device, new"] * 3
    made_elsewhere(code="another")
    assert bench("sarsa GridWorld-v0") == ["1 device, old", "1 device, new", "1 device, old"]
    made_elsewhere(jax="0.1", optax="0.2")
    assert bench("q_learning GridWorld-v0") == [
        "1 device, new", "1 device, old, jax 0.1, optax 0.2", "1 device, old, jax 0.1, optax 0.2"
    ]  # fmt: skip
    made_elsewhere(jax="0.3")
    assert bench("sarsa GridWorld-v0") == [
        "1 device, old, jax 0.3", "1 device, new", "1 device, old, jax 0.1, optax 0.2"
    ]  # fmt: skip
    assert bench() == ["1 device, new"] * 3


def test_what_names_no_goal_is_trained_only_if_asked_for_and_the_time_is_told_before(monkeypatch, tmp_path):
    pairs = {
        ("q_learning", "GridWorld-v0"): Preset({}, 300, 1.0),
        ("sarsa", "CliffGridWorld-v0"): Preset({}, 200, -13.0),
        ("sarsa", "Taxi-v4"): Preset({}, 10_000_000, None),
    }
    figures = {column.key: 90.0 if column.key == "seconds" else 1 for column in learning.COLUMNS}
    monkeypatch.setattr(learning, "presets", lambda: pairs)
    monkeypatch.setattr(learning, "preset", lambda agent, env: pairs[agent, env])
    monkeypatch.setattr(
        learning, "row", lambda agent, env, *_: learning.TableRow(f"{agent} {env}", dict(figures), "1 device")
    )

    def bench(only=None):
        said = []
        rows = learning.bench(tmp_path, 4, only, say=said.append).rows
        return said[0].splitlines(), [row.name for row in rows]

    plan, names = bench()
    assert plan == [
        "2 presets x 4 seeds",
        "not measured before: q_learning GridWorld-v0 (300 steps), sarsa CliffGridWorld-v0 (200 steps)",
        "left out, as they name no return to reach: sarsa Taxi-v4; --only ENV trains one",
    ]
    assert names == ["q_learning GridWorld-v0", "sarsa CliffGridWorld-v0"]
    plan, names = bench("Taxi-v4")
    assert plan == ["1 presets x 4 seeds", "not measured before: sarsa Taxi-v4 (10,000,000 steps)"]
    assert names[-1] == "sarsa Taxi-v4"
    assert bench("sarsa Taxi-v4")[0] == bench("Taxi-v4")[0]
    assert bench("Taxi-v4")[0] == ["1 presets x 4 seeds; about 6 min, as the last table says"]
    pairs["sarsa", "GridWorld-v0"] = Preset({}, 500, 1.0)
    plan, names = bench()
    assert plan[:2] == [
        "3 presets x 4 seeds; about 12 min, as the last table says",
        "not measured before: sarsa GridWorld-v0 (500 steps)",
    ]
    assert "sarsa Taxi-v4" in names, "what is not made anew stays"


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(learning, "bench", lambda out, seeds, only: print(out, seeds, only))
    assert main(["bench", "learning", "--out", str(tmp_path), "--seeds", "3", "--only", "Ant-v5"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "3", "Ant-v5"]
    assert main(["bench", "learning", "--out", str(tmp_path), "--only", "sac Hopper-v5"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "5", "sac", "Hopper-v5"]
    assert main(["bench", "learning", "--only", "GridWorld-v0"]) == 2
