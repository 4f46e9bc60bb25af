"""`kousoku bench vector`: every contender gets its row; what is missing is told; ours is stepped as others are."""

import importlib.util
import json

import pytest

from kousoku.cli import main
from kousoku_bench import contender, vector, vector_ppo
from kousoku_bench.vector import VectorBudget

SMALL = VectorBudget(counts=(2, 4), repeats=1, least_seconds=0.0)


@pytest.fixture
def made_up(monkeypatch):
    """Measurements: ours take a microsecond for each environment, others ten."""

    def run_in_subprocess(module, function, kind, id, count, *how, limit):
        if module == "kousoku_bench.ppo_peers":
            assert (function, kind, count["num_envs"]) == ("stable_baselines", "stable_baselines3", vector_ppo.ENVS)
            speed = 3000.0 if id.startswith("kousoku/") else 1000.0
            return {"steps_per_second": speed, "cpu_microseconds": 1e6 / speed}
        assert (module, function) == ("kousoku_bench.vector", "figures")
        assert kind in vector.STEPPERS
        seconds = count * (1e-6 if kind == "ours" else 1e-5)
        return {"microseconds": 1e6 * seconds, "steps_per_second": count / seconds}

    monkeypatch.setattr(contender, "run_in_subprocess", run_in_subprocess)


def test_every_contender_gets_its_row_beside_envpool_with_as_many(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(contender, "not_installed", lambda modules: None)
    monkeypatch.setattr(vector, "not_installed", lambda modules: None)
    monkeypatch.setattr(vector_ppo, "not_installed", lambda modules: None)
    *sections, small, middle, large = vector.bench(tmp_path, SMALL, say=lambda text: None)
    assert [*(section.title for section in sections), "sb3"] == list(vector.PARTS)
    for section, minibatch in ((small, 64), (middle, 512), (large, 4096)):
        assert f"minibatches of {minibatch}" in section.title
        assert section.ratio(section.rows[0]) == 3.0
    names = [(row.name, row.figures["agents"]) for row in sections[-1].rows]
    assert names[:4] == [("kousoku", 2), ("EnvPool", 2), ("kousoku", 4), ("EnvPool", 4)]
    assert {"Gymnasium, sync", "Gymnasium, async"} < {name for name, _ in names}
    assert [name for name, count in names if count == 1] == ["kousoku, alone", "Gymnasium, alone"]
    assert sections[-1].ratio(sections[-1].rows[2]) == pytest.approx(10.0)
    assert "Gymnasium, its own" in [row.name for row in sections[0].rows]
    assert json.loads((tmp_path / "vector.json").read_text())["sections"][0]["title"] == "CartPole-v1"


def test_a_library_that_is_missing_is_told(made_up, monkeypatch, tmp_path, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "envpool" else find(name))
    assert main(["bench", "vector", "--only", "Hopper-v5", "--out", str(tmp_path)]) == 0
    assert "not installed: pip install envpool" in (tmp_path / "vector_Hopper-v5.md").read_text()


@pytest.mark.by_default("own")
@pytest.mark.parametrize("kind", ["ours", "own"])
def test_steps_are_timed(kind):
    told = vector.figures(kind, "CartPole-v1", 3, 1, 0.0)
    assert told["steps_per_second"] == pytest.approx(3 / told["microseconds"] * 1e6)


@pytest.mark.parametrize("id", ["CartPole-v1", "kousoku/CartPole-v1"])
def test_so_are_those_of_one_environment(id):
    assert vector.figures("alone", id, 1, 1, 0.0)["steps_per_second"] > 0.0


def test_a_part_that_there_is_not_is_refused(capsys):
    assert main(["bench", "vector", "--only", "Breakout"]) == 2
    assert "CartPole-v1" in capsys.readouterr().err
