"""A run tells of each setting whether it was given, tuned for the environment, swept, or a default."""

import json
from pathlib import Path

import pytest
import records

import kousoku as ks
from kousoku.training.presets import Preset
from kousoku.training.sources import sources
from kousoku.viz import sources as told
from kousoku.viz.headline import sentence
from kousoku.viz.lines import result_lines
from kousoku.viz.payload import payload

PRESET = Preset({"num_envs": 64, "learning_rate": 1e-3}, 400_000, 500.0)


def test_what_is_given_goes_before_what_is_tuned():
    found = sources({"seeds": 3, "sweep": {"clip": [0.1]}}, {"num_envs": 8}, {"gravity": 5.0}, PRESET)
    assert found == {
        "agent": {"num_envs": "given", "learning_rate": "tuned", "clip": "swept"},
        "env": {"gravity": "given"},
        "run": {"seeds": "given", "sweep": "given", "steps": "tuned"},
    }
    assert sources({"steps": 100}, {}, {}, PRESET)["run"] == {"steps": "given"}


def test_what_is_swept_belongs_to_the_agent_or_to_the_environment():
    sweep = {"clip": [0.1], "env.gravity": [5.0, 9.8], "env.length": [1.0]}
    found = sources({"sweep": sweep}, {"clip": 0.2}, {"gravity": 5.0, "masspole": 0.1}, Preset())
    assert found["agent"] == {"clip": "swept"}
    assert found["env"] == {"gravity": "swept", "masspole": "given", "length": "swept"}
    assert sources({"sweep": sweep}, None, {}, Preset())["env"] == {"gravity": "swept", "length": "swept"}
    assert sources({"sweep": sweep}, {}, None, Preset()) == {"run": {"sweep": "given"}, "agent": {"clip": "swept"}}


def test_what_no_folder_keeps_and_what_is_as_good_as_not_given_has_no_word():
    run = {"out": "x", "progress": False, "command": "kousoku train", "sweep": {}, "eval_every": None}
    assert sources(run, {}, {}, Preset())["run"] == {}


def test_what_was_made_in_python_has_no_words():
    assert sources({}, None, None, Preset()) == {"run": {}}
    assert sources({}, {}, None, Preset()) == {"run": {}, "agent": {}}


def trained(**options) -> ks.Run:
    return ks.train("q_learning", "GridWorld-v0", eval_episodes=2, progress=False, **{"steps": 300, **options})


def groups(run: ks.Run) -> dict[str, dict[str, str]]:
    return {group["title"]: dict(group["rows"]) for group in payload(run.record)["config"]}


@pytest.mark.full("covered")
def test_the_report_and_the_shell_tell_it():
    run = trained(epsilon=0.2, env_options={"slip": 0.1}, sweep={"learning_rate": [0.1, 0.5]}, out="")
    found = groups(run)
    assert found["Agent"]["exploration.epsilon"] == "0.2 (given)"
    assert found["Agent"]["discount"].endswith(" (default)")
    assert found["Agent"]["learning_rate"].endswith(" (swept)")
    assert found["Agent"]["id"] == "q_learning"
    assert found["Environment"] == {"id": "GridWorld-v0", "options.slip": "0.1 (given)"}
    assert (found["Run"]["steps"], found["Run"]["seeds"]) == ("300 (given)", "1 (default)")
    assert "Of the settings, 1 is swept, 4 are given; the others are defaults." in sentence(run.record)
    (line,) = [line for line in result_lines(run.record) if line.startswith("settings: ")]
    assert line == (
        "settings: swept: learning_rate; given: epsilon, env.slip, eval_episodes, steps; all else: defaults"
    )


def test_a_preset_is_told(monkeypatch):
    monkeypatch.setattr("kousoku.api.preset", lambda agent, env: Preset({"learning_rate": 0.25}, 200))
    run = ks.train("q_learning", "GridWorld-v0", out="", progress=False, eval_episodes=0)
    assert groups(run)["Agent"]["learning_rate"] == "0.25 (tuned)"
    assert groups(run)["Run"]["steps"] == "200 (tuned)"
    assert "2 are tuned for GridWorld-v0, 1 is given; the others are defaults." in sentence(run.record)
    assert result_lines(run.record) == [
        "settings: tuned for GridWorld-v0: learning_rate, steps; given: eval_episodes; all else: defaults"
    ]


def test_what_others_published_is_not_called_tuned(monkeypatch):
    published = Preset({"learning_rate": 0.25}, 200, source="arXiv:0000.00000")
    monkeypatch.setattr("kousoku.api.preset", lambda agent, env: published)
    run = ks.train("q_learning", "GridWorld-v0", out="", epsilon=0.2, progress=False, eval_episodes=0)
    assert groups(run)["Agent"]["learning_rate"] == "0.25 (from arXiv:0000.00000)"
    assert groups(run)["Run"]["steps"] == "200 (from arXiv:0000.00000)"
    assert "2 are from arXiv:0000.00000, 2 are given; the others are defaults." in sentence(run.record)
    assert result_lines(run.record) == [
        "settings: from arXiv:0000.00000: learning_rate, steps; given: epsilon, eval_episodes; all else: defaults"
    ]


@pytest.mark.full("covered")
def test_parts_of_a_setting_have_its_word():
    run = trained(learning_rate="linear:0.5:0.1:200", out="")
    assert groups(run)["Agent: learning_rate"]["steps"] == "200 (given)"


@pytest.mark.by_default("env")
@pytest.mark.parametrize("own", ["agent", "env"])
def test_there_is_no_word_for_what_was_made_in_python(own):
    agent = ks.make_agent("q_learning") if own == "agent" else "q_learning"
    env = ks.gridworld("S.G") if own == "env" else "GridWorld-v0"
    run = ks.train(agent, env, steps=100, out="", progress=False, eval_episodes=0)
    assert ("(" in groups(run)["Agent"]["discount"]) == (own == "env")
    assert not any("(default)" in value for value in groups(run)["Environment"].values())
    assert (told.line(run.record) == "") == (own == "agent")


def test_a_record_of_an_earlier_version_has_no_words():
    record = records.grid()
    assert "sources" not in record.config
    assert (told.sentence(record), told.line(record)) == ("", "")
    assert "(default)" not in json.dumps(payload(record)["config"])


@pytest.mark.full("covered")
def test_a_run_that_is_loaded_or_longer_tells_the_same():
    trained(out="run", epsilon=0.2)
    assert groups(ks.load("run"))["Agent"]["exploration.epsilon"] == "0.2 (given)"
    longer = ks.resume("run", steps=400)
    assert groups(longer)["Run"]["steps"] == "400 (given)"
    assert groups(longer)["Agent"]["exploration.epsilon"] == "0.2 (given)"
    assert json.loads(Path("run/config.json").read_text())["sources"] == longer.record.config["sources"]


@pytest.mark.full("covered")
def test_values_of_several_lines_keep_them():
    run = trained(out="")
    record = records.replaced(
        run.record, config=run.record.config | {"sources": {"agent": {}, "env": {"map": "given"}}}
    )
    assert told.marked(record, "env", [("options.map", "S.\n.G")]) == [("options.map", "S.\n.G\n(given)")]
