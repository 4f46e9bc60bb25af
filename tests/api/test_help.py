"""The help of the shell: defaults that can be typed, and no option that the agent has no use for."""

import re
from dataclasses import replace
from fractions import Fraction

import equinox as eqx
import jax
import pytest

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.options import describe, make_agent, option_names, used_options
from kousoku.cli import main
from kousoku.cli.made_by_id import agent_options, env_options, env_values
from kousoku.cli.options import parse
from kousoku.cli.settings import setting_options, setting_values
from kousoku.cli.train import _hyper_parameters
from kousoku.cli.values import as_typed
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.envs import ENVS
from kousoku.ops.schedules import Linear
from kousoku.training.config import TrainConfig
from kousoku.training.presets import Preset, presets

DEEP = [id for id in AGENTS.ids() if "network" in AGENTS.options(id) and id != "evosax"]
"""Agents with the config of a network, but for one that needs another package."""
VECTOR, ARMS = Box(-1.0, 1.0, (3,)), Discrete(2)
SPECS = {
    "discrete": ks.EnvSpec(VECTOR, ARMS),
    "control": ks.EnvSpec(VECTOR, Box(-1.0, 1.0, (2,))),
    "table": ks.EnvSpec(Discrete(4), ARMS),
}
EXPERT = {"dagger": {"expert": (0, 1, 0, 1)}}
OTHERS = {
    "activation": ["gelu"],
    "actor_body": ["layer_norm"],
    "bias": [True],
    "body": ["mlp"],
    "critic_body": ["layer_norm"],
    "critic_hidden": [(5,)],
    "distribution": ["quantile"],
    "dropout": [0.5],
    "dueling": [True],
    "head_gain": [0.5],
    "hidden": [(5,)],
    "hidden_gain": [0.5],
    "init": ["lecun_normal"],
    "init_std": [0.5],
    "layer_norm": [True, False],
    "noisy": [True],
    "noisy_std": [0.3],
    "normalise_actions": [False],
    "num_atoms": [7],
    "num_critics": [3],
    "policy": ["beta", "categorical", "deterministic", "stochastic", "normal"],
    "policy_gain": [0.5],
    "recurrent": ["gru"],
    "recurrent_size": [7],
    "shared": [True],
    "smoothing": [0.5],
    "std": ["exp"],
    "stream_hidden": [(5,)],
    "v_max": [500.0],
    "v_min": [-500.0],
    "value_gain": [0.5],
}
"""Values of each field of a network's config, of which one at least is not the default of any agent."""


def printed_defaults(options, capsys):
    """Returns the defaults that the help prints, by the names of options."""
    with pytest.raises(SystemExit):
        parse("train", "told", [replace(option, help=f"<{option.name}>") for option in options], ["--help"])
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    return dict(re.findall(r"<([\w.]+)> \(default: ([^)]*)\)", text))


@pytest.mark.parametrize("id", AGENTS.ids())
def test_every_default_that_the_help_of_an_agent_prints_is_read_as_the_default(id, capsys):
    options = agent_options(id, Preset())
    expected = {each.name: each.default for each in options if each.default is not None and not each.hidden}
    read, swept = _hyper_parameters(options, printed_defaults(options, capsys), sweep=False)
    assert read == expected
    assert {name: type(value) for name, value in read.items() if isinstance(value, bool)} == {
        name: bool for name, value in expected.items() if isinstance(value, bool)
    }
    assert not swept


def described(agent, options):
    """Returns an agent in words, of which a ratio such as "1/16" is a number."""
    words = describe(make_agent(agent, **options))
    return words | ({"update_ratio": float(Fraction(words["update_ratio"] or 0))} if "update_ratio" in words else {})


def test_every_default_of_a_preset_is_read_as_it_is():
    for (agent, env), chosen in presets().items():
        options = agent_options(agent, chosen)
        typed = {each.name: each.preset.removesuffix(f", {chosen.word}") for each in options if each.preset is not None}
        assert typed.keys() == chosen.options.keys(), (agent, env)
        read, _ = _hyper_parameters(options, typed, sweep=False)
        assert described(agent, read) == described(agent, chosen.options), (agent, env)


def test_every_default_of_an_environment_is_read_as_it_is():
    shown = 0
    for id in ENVS.ids():
        options = [each for each in env_options(id) if each.default is not None]
        read, swept = env_values(id, options, {each.name: as_typed(each.default) for each in options}, sweep=False)
        assert read == {each.name.removeprefix("env."): each.default for each in options}, id
        assert not swept
        shown += len(options)
    assert shown > 200


def test_every_default_of_a_setting_is_read_as_it_is(capsys):
    typed = printed_defaults(setting_options(), capsys)
    assert {"steps", "seeds", "loop", "record"} < typed.keys()
    assert TrainConfig(**setting_values(typed)) == TrainConfig()


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--hidden", "none"], ()),
        (["--hidden", "64,64"], (64, 64)),
        (["--hidden", "8"], (8,)),
        (["--hidden", "[]"], []),
        (["--critic-hidden", "none"], None),
        (["--critic-hidden", "8"], (8,)),
    ],
)
def test_none_of_several_numbers_is_an_empty_tuple_unless_none_is_the_default(words, value):
    options = agent_options("ppo", Preset())
    read, _ = _hyper_parameters(options, parse("train", "told", options, words), sweep=False)
    assert list(read.values()) == [value]


def small(id, options):
    """Returns an agent with a network that is made quickly, and of which options are set, also those not shown."""
    agent = make_agent(id, **{"hidden": (2,), "init": "lecun_normal"} | EXPERT.get(id, {}))
    return replace(agent, network=replace(agent.network, **options))


def initial_state(id, options, spec):
    """Returns the structure of an agent's first state, and the program that makes its numbers."""
    agent = small(id, options)
    made = eqx.filter_eval_shape(agent.init, spec, jax.random.key(0))
    program = jax.jit(lambda key: eqx.filter(agent.init(spec, key), eqx.is_array)).lower(jax.random.key(0))
    return str(jax.tree.structure(made)), program.as_text()


def taken(id, name):
    """Returns (what an agent learns in, options) where another value of one option is not refused; None if nowhere."""
    usual = getattr(AGENTS.options(id)["network"].default, name)
    for spec in SPECS.values():
        for value in OTHERS[name]:
            options = {name: value} | ({"dueling": True} if name == "stream_hidden" else {})
            if value == usual:
                continue
            try:
                eqx.filter_eval_shape(small(id, options).init, spec, jax.random.key(0))
            except ConfigError:
                continue
            return spec, options
    return None


@pytest.mark.by_default("apg", "dqn")
@pytest.mark.parametrize("id", DEEP)
def test_options_of_a_network_are_shown_unless_they_are_refused_or_change_nothing(id):
    """By what an agent learns at first: its structure, and the program that makes its numbers."""
    for name in (name for name in option_names(id) if name not in AGENTS.options(id)):
        found = taken(id, name)
        if name in used_options(id):
            assert found is not None, f"{name} is refused everywhere: it belongs to `unused_options`"
        elif found is not None:
            spec, options = found
            assert initial_state(id, options, spec) == initial_state(id, {}, spec), f"{name} changes something"


@pytest.mark.parametrize(
    ("id", "name", "value", "usual"),
    [
        ("dqn", "recurrent_size", 3, None),
        ("apg", "recurrent_size", 3, None),
        ("pqn", "num_atoms", 7, 51),
        ("iql", "num_atoms", 7, 101),
        ("td3", "init_std", 0.5, None),
        ("bc", "num_critics", 3, 2),
        ("dagger", "critic_hidden", (3,), None),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_unless_it_is_as_it_was(id, name, value, usual):
    with pytest.raises(ConfigError, match=rf"{name}: got .*; {id} has no part that it could change; leave it out"):
        make_agent(id, **{name: value})
    default = getattr(AGENTS.options(id)["network"].default, name)
    assert usual is None or default == usual
    make_agent(id, **{name: default})


class Steep(Linear):
    """A schedule of one's own."""


@pytest.mark.parametrize("schedule", [Steep(1.0, 0.1, 100), Linear(1.0, 0.1, 100)], ids=["own", "ours"])
def test_a_default_that_the_shell_has_no_word_for_is_shown_as_it_is(schedule):
    assert as_typed(schedule) == ("linear:1.0:0.1:100" if type(schedule) is Linear else str(schedule))


@pytest.mark.parametrize(
    ("agent", "env", "flag", "value", "reason"),
    [
        ("dqn", "CartPole-v1", "--recurrent", "gru", "recurrent: got 'gru'; leave it out, or use 'pqn'"),
        ("pqn", "CartPole-v1", "--noisy", "true", "noisy: got True; use False, or 'dqn'"),
        ("pqn", "CartPole-v1", "--distribution", "quantile", "distribution: got 'quantile'; use 'scalar', or 'dqn'"),
        ("apg", "Pendulum-v1", "--recurrent", "gru", "recurrent: got 'gru'; the critic learns from single steps"),
    ],
)
def test_an_option_that_an_agent_refuses_is_not_shown_and_is_refused_with_its_reason(
    agent, env, flag, value, reason, capsys
):
    with pytest.raises(SystemExit):
        main(["train", agent, env, "--help"])
    assert flag not in capsys.readouterr().out.split()
    assert main(["list", agent]) == 0
    assert flag.removeprefix("--") not in re.findall(r"\w+", capsys.readouterr().out)
    assert main(["train", agent, env, "--steps", "1000", "--out", "", flag, value]) == 2
    assert capsys.readouterr().err.startswith(f"kousoku: {reason}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["train", "ppo", "CartPole-v1", "--noisy", "true"],
            "'--noisy'; `kousoku train ppo CartPole-v1 --help` shows all",
        ),
        (
            ["sweep", "ppo", "CartPole-v1", "--noisi", "true"],
            "'--noisi'; `kousoku sweep ppo CartPole-v1 --help` shows all",
        ),
        (["train", "ppo", "CartPole-v1", "--learning-rat", "1"], "'--learning-rat'; did you mean '--learning-rate'?"),
        (["train", "dqn", "CartPole-v1", "--recurent", "gru"], "'--recurent'; `kousoku train dqn CartPole-v1 --help`"),
        (["view", "--zzz"], "'--zzz'; known: --film, --episodes, --out, "),
    ],
)
def test_an_option_that_there_is_not_leads_to_a_near_one_or_to_the_help(words, told, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"kousoku: option: got {told}")
