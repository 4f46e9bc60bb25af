"""Options of an agent among the arguments of `train`, and their defaults in the help of the shell."""

import json
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from fresh_process import check_refusals, without_types_checked
from pendulum_data import pendulum

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.options import describe, make_agent, rebuild
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.cli import COMMANDS, main
from kousoku.cli.completion import _options as command_options
from kousoku.cli.help_texts import described
from kousoku.cli.made_by_id import agent_options, env_options
from kousoku.cli.options import Option, parse
from kousoku.cli.train import _hyper_parameters
from kousoku.cli.values import literal
from kousoku.core.errors import ConfigError
from kousoku.envs import ENVS
from kousoku.nn import ACTIVATIONS, INITIALISERS, NETWORK_CONFIGS, ActorCriticConfig
from kousoku.nn.gaussian import STDS
from kousoku.nn.heads import KINDS
from kousoku.training.presets import Preset

FAST = {"steps": 400, "eval_episodes": 0}


@pytest.fixture
def _own_agents(monkeypatch):
    monkeypatch.setattr(AGENTS, "_entries", dict(AGENTS._entries))


class _Reached(Exception):
    """A training is about to begin."""


@pytest.fixture
def trained(monkeypatch):
    """Returns the agents that were to be trained: training itself does not begin."""
    agents = []

    def stop(agent, *_, **__):
        agents.append(agent)
        raise _Reached

    monkeypatch.setattr("kousoku.api.run_training", stop)
    return agents


def shown(capsys, *words):
    """Returns the help, each option on one line."""
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    return " ".join(capsys.readouterr().out.replace("│", " ").replace("|", " ").split())


def default_of(printed, flag):
    """Returns the default that the help shows for an option."""
    return re.search(rf"{flag} [A-Z]+ [^()]*(?:\([^d][^()]*\)[^()]*)*\(default: ([^)]*)\)", printed).group(1)


@pytest.mark.full("covered")
def test_an_option_of_the_agent_is_an_argument():
    options = {"learning_rate": 0.5, "epsilon": "linear:1:0.1:100"}
    run = ks.train("q_learning", "GridWorld-v0", out="run", **options, **FAST)
    made = ks.make_agent("q_learning", **options)
    at_once = ks.train(made, "GridWorld-v0", out="", **FAST | {"steps": 800})
    assert run.record.config["agent"] == at_once.record.config["agent"]
    assert json.loads(Path("run/config.json").read_text())["agent"]["learning_rate"] == 0.5
    longer = ks.resume("run", steps=800)
    assert (longer.q_values == at_once.q_values).all()


NO_FILE = "there is no such file; give a kousoku.Dataset"
NO_SCHEDULES = [
    ("bc", "dataset", "minari:x/y-v0", NO_FILE),
    ("bc", "dataset", "linear:0:1:5", NO_FILE),
    ("evosax", "strategy", "a:b", ""),
    ("ppo", "gae_lambda", "linear:0:1:5", "use a number"),
]


@pytest.mark.parametrize(("agent", "name", "text", "told"), NO_SCHEDULES)
def test_what_cannot_be_a_schedule_is_not_told_how_to_write_one(agent, name, text, told, capsys):
    flag = f"--{name.replace('_', '-')}"
    assert main(["train", agent, "CartPole-v1", "--steps", "300", "--out", "", flag, text]) == 2
    said = capsys.readouterr().err
    assert f"got {text!r}; {told}" in said
    assert "linear:START" not in said


def test_nor_is_it_in_python():
    cases = {"('bc', dataset='a:b')": NO_FILE, "('ppo', gae_lambda='linear:0:1:5')": "got 'linear:0:1:5'; use a number"}
    cases["('ppo', activation='a:b')"] = "got 'a:b'; use one of 'tanh'"
    check_refusals({f"make_agent{call}": told for call, told in cases.items()}, "from kousoku import make_agent")


def test_data_sets_in_folders_with_colons_are_no_schedules_to_sweep(capsys):
    assert main(["sweep", "bc", "CartPole-v1", "--dataset", "a:b/data,minari:x"]) == 2
    assert "--dataset: got 'a:b/data'; a data set cannot be swept" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "sweep"])
def test_data_sets_in_files_with_commas_are_one_value(command, capsys, tmp_path):
    file = str(tmp_path / "a,b.npz")
    assert main(["train", "bc", "Pendulum-v1", "--dataset", file]) == 2
    assert "there is no such file" in capsys.readouterr().err
    ks.save_dataset(pendulum(), file)
    words = ["--dataset", file, "--batch-size", "16", "--learning-rate", "1e-3,1e-4" if command == "sweep" else "1e-3"]
    assert main([command, "bc", "Pendulum-v1", *words, "--steps", "64", "--out", "", "--eval-episodes", "0"]) == 0


def test_a_list_of_pairs_may_have_commas():
    """The field is one, though what makes the agent takes anything for it."""
    options = agent_options("evosax", Preset())
    read = _hyper_parameters(options, {"strategy_params": '[["crossover_rate",0.5],["beta",1]]'}, sweep=False)
    assert read == ({"strategy_params": [["crossover_rate", 0.5], ["beta", 1]]}, {})


def test_both_ways_to_give_options_make_the_same_agent(trained):
    options = {"learning_rate": 0.5, "exploration": "softmax", "temperature": "linear:1:0.1:100"}
    split = {"learning_rate": 0.5}, {"exploration": "softmax", "temperature": "linear:1:0.1:100"}
    for named, explicit in ((options, None), ({}, options), split, split[::-1]):
        with pytest.raises(_Reached):
            ks.train("q_learning", "GridWorld-v0", agent_options=explicit, **named)
    assert len(trained) == 4
    assert all(describe(agent) == describe(ks.make_agent("q_learning", **options)) for agent in trained)


def test_numbers_that_are_arrays_are_told_as_numbers():
    for rate in (0.25, np.float64(0.25), jnp.float32(0.25), jnp.array(0.25)):
        told = describe(make_agent("q_learning", learning_rate=rate))
        assert json.dumps(told["learning_rate"]) == "0.25"
        assert rebuild(told).learning_rate == 0.25


def test_what_is_given_overrides_the_preset_and_leaves_the_rest_of_it(trained):
    tuned = ks.preset("ppo", "CartPole-v1").options
    with pytest.raises(_Reached):
        ks.train("ppo", "CartPole-v1", learning_rate=2e-3, hidden=(8,))
    agent = describe(trained[0])
    assert agent["learning_rate"] == 2e-3
    assert agent["network"]["hidden"] == [8]
    others = set(tuned) - {"learning_rate"}
    assert others
    assert {name: agent[name] for name in others} == {name: tuned[name] for name in others}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            {"learning_rat": 1},
            "train setting or option of q_learning: got 'learning_rat'; did you mean 'learning_rate'?",
        ),
        ({"stepps": 1}, "train setting or option of q_learning: got 'stepps'; did you mean 'steps'?"),
        ({"temperature": 1.0}, "option of EpsilonGreedy: got 'temperature'; it belongs to exploration='softmax'"),
        ({"learning_rate": 7.0}, "learning_rate: got 7.0; use a number in (0, 1]"),
        ({"agent_options": {"learning_rat": 1}}, "agent_options: got 'learning_rat'; did you mean 'learning_rate'?"),
        ({"agent_options": {"steps": 1}}, "agent_options: got 'steps'"),
        (
            {"agent_options": {"discount": 0.5}, "gamma": 0.5},
            "agent_options['discount']: got 0.5; discount is given too; give one of the two",
        ),
    ],
)
def test_options_that_cannot_work(named, message):
    with pytest.raises(ConfigError) as caught:
        ks.train("q_learning", "GridWorld-v0", **FAST, **named)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert not Path("runs").exists()


@pytest.mark.parametrize("named", [{"learning_rate": 0.5}, {"epsilon": 0.5}, {"agent_options": {"lr": 0.5}}])
def test_an_agent_that_is_made_takes_no_options(named):
    fix = "the agent is made already; give it to make_agent, or the agent by id"
    with pytest.raises(ConfigError, match=f"^(learning_rate|epsilon): got 0.5; {fix}$"):
        ks.train(ks.make_agent("q_learning"), "GridWorld-v0", **FAST, **named)


@pytest.mark.full("covered")
def test_no_options_are_no_options():
    ks.train(ks.make_agent("q_learning"), "GridWorld-v0", agent_options={}, out="", **FAST)
    ks.train("q_learning", "GridWorld-v0", agent_options=None, out="", **FAST)


@pytest.mark.usefixtures("_own_agents")
def test_a_name_that_is_both_is_the_settings():
    class Stepper(QLearning):
        steps: float = 3.0
        gamma: float = 0.5

    ks.register_agent("stepper", Stepper)
    run = ks.train("stepper", "GridWorld-v0", agent_options={"steps": 7.0}, gamma=0.25, discount=0.75, out="", **FAST)
    agent = run.record.config["agent"]
    assert (run.record.config["steps"], agent["steps"], agent["gamma"], agent["discount"]) == (400, 7.0, 0.25, 0.75)


def test_the_help_shows_the_tuned_defaults(capsys):
    printed, tuned = shown(capsys, "train", "ppo", "HalfCheetah-v5"), ks.preset("ppo", "HalfCheetah-v5")
    for name, value in tuned.options.items():
        assert default_of(printed, f"--{name.replace('_', '-')}") == f"{value}, tuned", name
    assert default_of(printed, "--steps") == f"{tuned.steps}, tuned"
    assert default_of(printed, "--epochs") == "4"
    assert "Tuned defaults are those for HalfCheetah-v5" in printed
    assert printed.count(", tuned)") == len(tuned.options) + 1


def test_the_help_shows_a_tuned_default_of_the_network(capsys):
    printed = shown(capsys, "train", "ppo", "MountainCarContinuous-v0")
    assert default_of(printed, "--init-std") == "2.0, tuned"


def test_the_help_says_where_defaults_come_from_that_others_published(capsys):
    printed = shown(capsys, "train", "pqn", "MinAtar/Breakout-v1")
    assert default_of(printed, "--num-envs") == "128, from arXiv:2407.04811"
    assert default_of(printed, "--steps") == "10000000, from arXiv:2407.04811"
    assert "Defaults from arXiv:2407.04811 are those for MinAtar/Breakout-v1" in " ".join(printed.split())
    assert "uned" not in printed


@pytest.mark.parametrize("words", [("train", "ppo"), ("sweep", "ppo"), ("train", "ppo", "Balls-v0")])
def test_the_help_shows_the_agents_own_defaults(words, capsys):
    printed = shown(capsys, *words)
    options = AGENTS.options("ppo")
    for name in ("num_envs", "num_steps", "learning_rate", "minibatches"):
        assert default_of(printed, f"--{name.replace('_', '-')}") == str(options[name].default), name
    assert default_of(printed, "--steps") == "100000"
    assert "tuned" not in printed
    assert ("--env.gravity" in printed) == (len(words) == 3)


def test_a_number_is_read_as_one_where_the_tuned_default_is_a_schedule(trained):
    with pytest.raises(_Reached):
        main(["train", "ppo", "Pendulum-v1", "--learning-rate", "2e-3", "--num-envs", "8"])
    assert (trained[0].learning_rate, trained[0].num_envs, trained[0].epochs) == (2e-3, 8, 8)


@pytest.mark.parametrize("id", AGENTS.ids())
def test_the_help_says_something_of_every_option_of_an_agent(id):
    said = {option.name: option.help for option in agent_options(id, Preset())}
    assert not [name for name, text in said.items() if text.startswith(("as of `", "hyper-parameter of"))]


def test_the_help_says_something_of_every_option_of_an_environment():
    said = {(id, option.name): option.help for id in ENVS.ids() for option in env_options(id)}
    assert not [where for where, text in said.items() if text.startswith("option of")]


@pytest.mark.parametrize("config", NETWORK_CONFIGS)
def test_the_help_says_something_else_of_every_part_of_a_network(config):
    said = described(config)
    assert list(said) == list(config.__dataclass_fields__)
    assert len(set(said.values())) == len(said)


def test_the_help_has_the_words_that_an_option_takes():
    said, tables = described(ActorCriticConfig), {"activation": ACTIVATIONS, "init": INITIALISERS, "policy": KINDS}
    for name, words in {**tables, "std": STDS}.items():
        assert f"one of {', '.join(words)}" in said[name], name
    robots = {id: {option.name: option.help for option in env_options(id)} for id in ("Ant-v5", "CartPoleSwingUp-v0")}
    assert all(told["env.xml_file"].startswith("the robot, MJCF text; a path:") for told in robots.values())


def test_no_help_names_what_is_only_in_the_code():
    options = [option for command in COMMANDS for option in command_options(command)]
    options += [option for id in AGENTS.ids() for option in agent_options(id, Preset())]
    options += [option for id in ENVS.ids() for option in env_options(id)]
    named = {package for option in options for package in re.findall(r"`(\w+)\.\w+", option.help)}
    assert named <= {"kousoku", "evosax", "pathlib"}, "what anybody can import"


def test_several_numbers_may_be_given_where_the_default_is_none(trained):
    actions = [0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0]
    for words in (
        ["dagger", "FrozenLake-v1", "--expert", ",".join(map(str, actions))],
        ["ppo", "CartPole-v1", "--critic-hidden", "8,4"],
    ):
        with pytest.raises(_Reached):
            main(["train", *words])
    assert trained[0].expert == tuple(actions)
    assert trained[1].network.critic_hidden == (8, 4)


@pytest.mark.parametrize("id", AGENTS.ids())
def test_a_count_may_be_written_as_a_float(id):
    """capacity=1e6 was an error of JAX's about shapes, and max_episode_steps=1e2 one of the checkpoint."""
    numbers = {name: parameter.default for name, parameter in AGENTS.options(id).items()}
    counts = {name: value for name, value in numbers.items() if type(value) is int}
    made = make_agent(id, **{name: float(value) for name, value in counts.items()})
    assert {name: getattr(made, name) for name in counts} == counts
    assert all(type(getattr(made, name)) is int for name in counts)
    if "max_episode_steps" in numbers:
        assert type(make_agent(id, max_episode_steps=1e2).max_episode_steps) is int


def test_a_size_that_a_class_is_given_as_a_float_is_made_whole_or_refused():
    """PPO(num_envs=8.0) and DQN(capacity=1e6) were errors of JAX's about shapes."""
    script = """
import json
from kousoku import ConfigError
from kousoku.agents import AGENTS
told = {}
for id in AGENTS.ids():
    for name, parameter in AGENTS.options(id).items():
        if type(value := parameter.default) is int:
            try:
                told[f"{id}, {name}"] = getattr(AGENTS.factory(id)(**{name: float(value)}), name), value
            except ConfigError as error:
                told[f"{id}, {name}"] = str(error), f"{name}: got {float(value)}; write {value}"
print(json.dumps(told))"""
    told = without_types_checked(script)
    assert len(told) > 40
    for what, (found, expected) in told.items():
        assert (type(found), found) == (type(expected), expected), what


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--yes-or-no"], True),
        (["--yes-or-no", "--steps", "5"], True),
        (["--no-yes-or-no"], False),
        (["--yes-or-no", "false"], False),
        (["--yes-or-no=no"], False),
        ([], "not given"),
    ],
)
def test_an_option_that_is_true_or_false_needs_no_value_in_the_shell(words, value):
    options = [Option("yes_or_no", True, "VALUE", "told"), Option("steps", 1, "NUMBER", "told")]
    given = parse("train", "told", options, words)
    found = literal("--yes-or-no", given["yes_or_no"], True) if "yes_or_no" in given else "not given"
    assert found == value
