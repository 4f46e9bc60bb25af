"""`kousoku bench learning` with a preset that takes no time: rows and files come out."""

import json

import numpy as np
import pytest

from kousoku.bench import learning
from kousoku.cli import main
from kousoku.training.presets import Preset

TINY = {("q_learning", "GridWorld-v0"): Preset({"discount": 0.9}, 300, 1.0)}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(learning, "presets", lambda: TINY)
    monkeypatch.setattr(learning, "preset", lambda agent, env: TINY[agent, env])


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


def test_one_environment_alone_has_files_of_its_own(tiny, tmp_path):
    section = learning.bench(tmp_path, 1, only="GridWorld-v0", episodes=1, say=lambda line: None)
    assert section.rows[0].figures["low"] is None, "one seed has no interval"
    assert {path.name for path in tmp_path.iterdir()} == {f"learning_GridWorld-v0.{kind}" for kind in ("json", "md")}
    assert not learning.bench(tmp_path, 1, only="Ant-v5", say=lambda line: None).rows


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(learning, "bench", lambda out, seeds, only: print(out, seeds, only))
    assert main(["bench", "learning", "--out", str(tmp_path), "--seeds", "3", "--only", "Ant-v5"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "3", "Ant-v5"]
    assert main(["bench", "learning", "--only", "GridWorld-v0"]) == 2
