"""One list of settings: `train`, `resume`, the shell and run folders have those of `TrainConfig`, and no other."""

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import get_type_hints

import pytest
from beartype.door import is_bearable

import kousoku as ks
from kousoku import api
from kousoku.cli import main
from kousoku.cli.settings import changeable_options, setting_options
from kousoku.training.config import Kind, OnResume, TrainConfig, settings

FIELDS = {field.name: field for field in dataclasses.fields(TrainConfig)}
SAMPLES = 7, True, print
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


def test_type_checkers_know_every_setting_of_an_agent_by_id_too():
    """Else a setting of a wrong type would count as an option of the agent, whose names and types nobody knows."""
    module = ast.parse(Path(api.__file__).read_text())
    (protocol,) = (each for each in module.body if isinstance(each, ast.ClassDef) and each.name == "TrainFunction")
    *_, by_id = (each for each in protocol.body if isinstance(each, ast.FunctionDef))
    agent_options, *own = by_id.args.kwonlyargs
    assert agent_options.arg == "agent_options"
    assert by_id.args.kwarg is not None
    typed = {each.arg: ast.unparse(each.annotation) for each in own}
    assert typed == {name: field.type for name, field in FIELDS.items()}
    assert list(typed) == list(FIELDS)


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


def test_what_resume_takes_is_typed_as_the_settings_are_and_changes_them(monkeypatch):
    """By default each is as the run was begun: None."""
    own = {"path", "agent", "env"}
    parameters = {each.name: each for each in inspect.signature(ks.resume).parameters.values() if each.name not in own}
    assert set(parameters) == CHANGEABLE | {"on_report"}
    types, types_of_settings = get_type_hints(ks.resume), get_type_hints(TrainConfig)
    for name, parameter in parameters.items():
        assert types[name] == types_of_settings[name] | None, name
        assert parameter.default is None

    def asked_again(path, config, agent, env, **changes):
        raise StopIteration(changes)

    folder = SimpleNamespace(read_config=lambda path: {}, damage=lambda path: None, status=lambda path: {})
    monkeypatch.setattr(api, "run_folder", folder)
    monkeypatch.setattr(api, "asked_again", asked_again)
    given = {name: next(each for each in SAMPLES if is_bearable(each, types[name])) for name in parameters}
    with pytest.raises(StopIteration) as stop:
        ks.resume("run", **given)
    assert stop.value.value == given


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


CHECKED = """
from typing import Any
import equinox as eqx
import jax.numpy as jnp
import kousoku as ks

agent = ks.make_agent("q_learning")
ks.train(agent, "GridWorld-v0", steps=3)
ks.train(agent, "GridWorld-v0", step=3)  # wrong
ks.train(agent, "GridWorld-v0", steps="3")  # wrong
ks.train(agent, "GridWorld-v0", learning_rate=0.5)  # wrong
ks.train("q_learning", "GridWorld-v0", learning_rate=0.5)
ks.train("q_learning", "GridWorld-v0", steps=3, learning_rate=0.5, seeds=[1, 2], on_report=lambda report: None)
ks.train("q_learning", "GridWorld-v0", agent_options={"learning_rate": 0.5})
ks.train("q_learning", "GridWorld-v0", steps="3")  # wrong
ks.train("q_learning", "GridWorld-v0", steps=3, seeds="x", learning_rate=0.5)  # wrong
ks.train("q_learning", "GridWorld-v0", agent_options=3)  # wrong
ks.train(str(agent), "GridWorld-v0", sweep={"learning_rate": [0.1, 0.2]}, loop=True)  # wrong
ks.resume("run", steps=3, on_report=lambda report: report.step > 3)
ks.resume("run", steps="3")  # wrong
ks.resume("run", seeds=3)  # wrong


class Learner(ks.Agent):
    def init(self, spec: ks.EnvSpec, key: Any) -> Any:
        return jnp.zeros(3)

    def act(self, state: Any, obs: Any, carry: Any, key: Any, *, greedy: bool = False) -> tuple[Any, Any, Any]:
        return jnp.int32(0), carry, None

    def update(self, state: Any, data: Any, key: Any, *, axis: str | None = None) -> tuple[Any, dict[str, Any]]:
        return state, {}


class Field(Learner):
    rate: float
    learns_from: ks.Online = ks.Online()


class Static(Learner):
    learns_from: ks.Rollouts = eqx.field(static=True, default=ks.Rollouts(num_envs=4, num_steps=16))
    rate: float = 0.5


class Plain(Learner):
    learns_from = ks.Online()


class Computed(Learner):
    rate: float = 0.5

    @property
    def learns_from(self) -> ks.Online:
        return ks.Online()


class World(ks.Env):
    def reset(self, key: Any) -> tuple[Any, ks.Timestep]:
        return (), ks.Timestep(jnp.int32(0), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, ks.Timestep]:
        return self.reset(key)


class Properties(World):
    name: str
    time_limit: int | None = None

    @property
    def observation_space(self) -> ks.Box:
        return ks.Box(0.0, 1.0, (3,))

    @property
    def action_space(self) -> ks.Discrete:
        return ks.Discrete(2)


class Fields(World):
    size: float = 3.0
    time_limit: int = 100
    observation_space: ks.Box = eqx.field(static=True, default=ks.Box(0.0, 1.0, (3,)))
    action_space: ks.Discrete = eqx.field(static=True, default=ks.Discrete(2))


class Attributes(World):
    time_limit = 100
    observation_space = ks.Box(0.0, 1.0, (3,))
    action_space = ks.Discrete(2)


class Own(ks.Collector):
    batch: str = "all"
    num_steps: int = 2

    @property
    def num_envs(self) -> int:
        return 3


def made(kind: type[Own]) -> list[Own]:
    return [
        kind("half"),
        kind(3),  # wrong
    ]



ks.train("ppo", Properties("one"), steps=10)
ks.train("ppo", ks.wrappers.TimeLimit(Fields(2.5), 10), steps=10)
print(ks.make("CartPole-v1").observation_space.shape, Attributes().time_limit, made)
Properties(3)  # wrong
ks.train(Field(0.5), "GridWorld-v0", steps=10)
ks.train(Static(rate=0.5), "GridWorld-v0", steps=10)
ks.train(Plain(), "GridWorld-v0", steps=10)
ks.train(Computed(0.5), "GridWorld-v0", steps=10)
Field("fast")  # wrong
print(Field(0.5).learns_from.capacity)  # wrong
"""


@pytest.mark.full("processes")
def test_a_type_checker_sees_what_is_wrong_and_nothing_else(tmp_path):
    """In an editor, before anything runs; an agent by id has options whose names no type checker knows."""
    pytest.importorskip("pyright")
    (tmp_path / "checked.py").write_text(CHECKED)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(Path(ks.__file__).parents[1])]}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "checked.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = CHECKED.splitlines()
    errors = {lines[each["range"]["start"]["line"]] for each in found if each["severity"] == "error"}
    assert errors == {line for line in lines if line.endswith("# wrong")}
