"""One list of settings: `train`, `resume`, the shell and run folders have those of `TrainConfig`, and no other."""

import dataclasses
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kousoku as ks
from kousoku.cli import main
from kousoku.cli.settings import changeable_options, setting_options
from kousoku.training.config import Kind, OnResume, TrainConfig, settings

FIELDS = {field.name: field for field in dataclasses.fields(TrainConfig)}
CHANGEABLE = {name for name, each in settings().items() if each.on_resume is OnResume.CHANGEABLE}


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_train_has_every_setting_with_its_default():
    agent, env, *parameters, agent_options, options = inspect.signature(ks.train).parameters.values()
    assert (agent.name, env.name, agent_options.name) == ("agent", "env", "agent_options")
    assert options.kind is inspect.Parameter.VAR_KEYWORD
    assert [parameter.name for parameter in parameters] == list(FIELDS)
    for parameter in parameters:
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if FIELDS[parameter.name].default is not dataclasses.MISSING:
            assert parameter.default == FIELDS[parameter.name].default


def test_train_tells_what_each_setting_is():
    told = inspect.getdoc(ks.train)
    for name in FIELDS:
        assert f"\n    {name}: " in told, name


def test_the_help_of_the_shell_shows_each_setting_that_the_shell_has(capsys):
    shown = help_of(capsys, "train", "q_learning", "GridWorld-v0")
    words = {name for name, each in settings().items() if each.kind is not Kind.PYTHON}
    assert {option.name for option in setting_options()} == words
    for name in words:
        assert f"--{name.replace('_', '-')}" in shown, name
    for name in set(settings()) - words:
        assert f"--{name.replace('_', '-')} " not in shown, name


def test_what_may_be_changed_when_a_run_is_resumed_is_the_same_everywhere(capsys):
    own = {"path", "agent", "env", "on_report"}
    assert set(inspect.signature(ks.resume).parameters) - own == CHANGEABLE
    assert {option.name for option in changeable_options()} == CHANGEABLE
    for shown in (help_of(capsys, "train", "--resume", "run"), help_of(capsys, "resume")):
        for name in settings():
            assert (f"--{name.replace('_', '-')}" in shown) == (name in CHANGEABLE), name


@pytest.mark.full("covered")
def test_a_run_folder_keeps_what_a_resumed_run_is_to_know():
    made = {
        "steps": 300,
        "seeds": [3, 5],
        "record": ["returns"],
        "keep_checkpoints": 2,
        "sweep": {"epsilon": [0.1, 0.2]},
    }
    ks.train("q_learning", "GridWorld-v0", out="run", eval_episodes=0, **made)
    config = json.loads(Path("run/config.json").read_text())
    kept = {name for name, each in settings().items() if each.on_resume is OnResume.KEPT}
    assert set(config) == {"agent", "env", "steps", "sources", "begun_for"} | kept
    again = TrainConfig.of_json(config, {"steps": 400})
    assert again == TrainConfig(**{**made, "steps": 400, "record_every": config["record_every"], "eval_episodes": 0})


def test_a_setting_that_there_is_not_is_one_line():
    with pytest.raises(ks.ConfigError, match=r"^train setting: got 'step'; did you mean 'steps'\?$"):
        ks.train(ks.make_agent("q_learning"), "GridWorld-v0", step=3)


WRONG = """
import kousoku as ks
agent = ks.make_agent("q_learning")
ks.train(agent, "GridWorld-v0", steps=3)
ks.train(agent, "GridWorld-v0", step=3)
ks.train(agent, "GridWorld-v0", steps="3")
ks.train(agent, "GridWorld-v0", learning_rate=0.5)
ks.train("q_learning", "GridWorld-v0", learning_rate=0.5)
ks.train("q_learning", "GridWorld-v0", agent_options={"learning_rate": 0.5})
"""


@pytest.mark.full("processes")
def test_a_type_checker_sees_a_setting_that_there_is_not(tmp_path):
    """In an editor, before anything runs; an agent by id has options whose names no type checker knows."""
    pytest.importorskip("pyright")
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(Path(ks.__file__).parents[1])]}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] for each in found if each["severity"] == "error"}
    assert errors == {4, 5, 6}
