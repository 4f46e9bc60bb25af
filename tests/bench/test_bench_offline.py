"""`kousoku bench offline` with small sizes: who is trained on what, what is told, and where the data come from."""

import json

import numpy as np
import pytest

from kousoku.cli import main
from kousoku_bench import offline, over_seeds
from kousoku_bench.offline import OfflineBudget

TINY = OfflineBudget(seeds=2, transitions=300, steps=20, episodes=1, width=8, teacher_steps=12_000)


@pytest.fixture(scope="module")
def recordings():
    return {each.kind: each for each in offline.recordings("Hopper-v5", TINY)}


@pytest.mark.full("whole way")
def test_either_teacher_records_and_the_first_one_s_buffer_is_a_data_set(recordings):
    assert list(recordings) == [offline.MEDIUM, offline.REPLAY, offline.EXPERT]
    assert {kind: len(each.data) for kind, each in recordings.items()}[offline.MEDIUM] == 300
    replay, medium = recordings[offline.REPLAY], recordings[offline.MEDIUM]
    assert len(replay.data) == replay.teacher_steps == medium.teacher_steps >= 12_000
    assert replay.teacher_return == medium.teacher_return
    assert medium.data.env == "Hopper-v5"


@pytest.mark.full("whole way")
def test_each_agent_learns_from_the_data_and_stands_beside_them(recordings):
    said, recorded = [], recordings[offline.REPLAY]
    section = offline.section("Hopper-v5", recorded, TINY, said.append)
    assert section.title == "Hopper-v5, replay"
    assert [row.name for row in section.rows] == ["the data", "SAC, greedy", *offline.AGENTS]
    assert section.rows[0].figures["return"] == recorded.data.episode_returns.mean()
    assert section.rows[1].figures["return"] == recorded.teacher_return
    for row in section.rows[2:]:
        found = {name: float(figure) for name, figure in row.figures.items() if figure is not None}
        assert found["agents"] == 2
        assert found["worst"] <= found["return"]
    assert len(said) == len(offline.AGENTS)


def test_tables_are_saved(monkeypatch, tmp_path):
    rows = [offline.TableRow("bc", {"return": 3.0, **over_seeds.figures(np.array([2.0, 4.0]))})]
    made = offline.Section("Hopper-v5, medium", "About.", offline.COLUMNS, rows)
    monkeypatch.setattr(offline, "recordings", lambda env, budget: [None])
    monkeypatch.setattr(offline, "section", lambda env, recorded, budget, say: made)
    offline.bench(tmp_path, TINY, "Hopper-v5", say=lambda text: None)
    (section,) = json.loads((tmp_path / "offline_Hopper-v5.json").read_text())["sections"]
    assert section["rows"][0]["return"] == 3.0
    assert "| bc | 2 | 3 |" in (tmp_path / "offline_Hopper-v5.md").read_text()


def test_of_one_seed_there_is_no_interval():
    one, two = over_seeds.figures(np.array([5.0])), over_seeds.figures(np.array([4.0, 6.0]))
    assert one == {"agents": 1, "return": 5.0, "low": None, "high": None, "worst": 5.0}
    assert (two["agents"], two["return"], two["worst"]) == (2, 5.0, 4.0)
    np.testing.assert_allclose([two["low"] or 0.0, two["high"] or 0.0], [5.0 - 12.7062, 5.0 + 12.7062], rtol=1e-5)


def test_the_shell_runs_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(offline, "bench", lambda out, budget, only: print(out, budget.seeds, only))
    assert main(["bench", "offline", "--out", str(tmp_path), "--only", "Hopper-v5", "--seeds", "3"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path), "3", "Hopper-v5"]
    assert main(["bench", "offline"]) == 0
    assert capsys.readouterr().out.split() == ["benchmarks", "10", "None"]
    assert main(["bench", "offline", "--only", "Ant-v5"]) == 2
