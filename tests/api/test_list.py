"""`kousoku list`: what there is, and what fits together."""

import re

import pytest

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.cli import index, main
from kousoku.cli.catalogue import _told
from kousoku.core.errors import ConfigError
from kousoku.core.registry import Registry
from kousoku.core.spaces import Discrete
from kousoku.envs import ENVS
from kousoku.training.compatible import fitting_agents, fitting_spaces

EVOLUTION = ("ars", "openai_es", "pgpe", "sep_cma_es")
TABULAR = [id for id in AGENTS.ids() if AGENTS.factory(id).__module__.startswith("kousoku.agents.tabular.")]
BANDIT = [id for id in AGENTS.ids() if id.startswith("bandit_")]


def printed(capsys, *words):
    assert main(["list", *words]) == 0
    return capsys.readouterr().out


def groups(text):
    """{the first line of a paragraph: its other lines}."""
    paragraphs = [part.splitlines() for part in text.strip().split("\n\n")]
    return {lines[0]: lines[1:] for lines in paragraphs}


def row(text, id):
    (line,) = (line for line in text.splitlines() if line.startswith(f"  {id}") and line.split()[0] == id)
    return line


def test_everything_is_told_whole_in_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = printed(capsys)
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text
    words = " ".join(text.split())
    for kind in (AGENTS, ENVS):
        for id in kind.ids():
            assert row(text, id), id
            assert _told(kind, id) in words, f"{id} says nothing of itself"
    for id, sizes in {"GridWorld-v0": "96 -> 4", "HalfCheetah-v5": "17 -> 6", "Balls-v0": "100x4 -> 1"}.items():
        assert sizes in row(text, id)
    found = {group: lines for group, lines in groups(text).items() if group.startswith("environments")}
    assert [lines[0] for lines in found.values() if any("CartPole-v1" in line for line in lines)] == [
        "for a2c, ars, bc, dqn, iql, openai_es, pgpe, ppo, pqn, sac, sep_cma_es"
    ]
    fits = {
        "environments: Box observations -> Box actions": (
            "for a2c, apg, ars, bc, ddpg, iql, openai_es, pgpe, ppo, sac, sep_cma_es, td3,",
            "td3_bc",
        ),
        "environments: Discrete observations -> Discrete actions": (
            "for all tabular agents, a2c, ars, bc, dagger, dqn, iql, openai_es, pgpe, ppo,",
            "pqn, sac, sep_cma_es",
        ),
        "environments: one observation -> Discrete actions": (
            "for all bandit agents, all tabular agents, a2c, ars, bc, dagger, dqn, iql,",
            "openai_es, pgpe, ppo, pqn, sac, sep_cma_es",
        ),
    }
    assert {group: tuple(map(str.strip, found[group][:2])) for group in fits} == fits
    assert [line.split()[0] for line in found["environments that need an option"]] == ["CustomGrid-v0"]


@pytest.mark.full("covered")
def test_agents_alone_and_environments_with_some_letters(capsys):
    agents = printed(capsys, "agents")
    assert all(id in agents for id in AGENTS.ids())
    assert not any(id in agents for id in ENVS.ids())
    lines = printed(capsys, "cartpole-v").splitlines()
    assert [line.split()[0] for line in lines if re.match(r"  \S", line)] == [
        "CartPole-v0",
        "CartPole-v1",
        "bsuite/cartpole-v0",
    ]
    both = printed(capsys, "bandit")
    assert all(id in both for id in (*BANDIT, "Bandit-v0", "DriftingBandit-v0"))
    assert "q_learning" not in both


@pytest.mark.by_default("CustomGrid-v0-facts2", "GridWorld-v0-facts1", "ppo-facts3", "q_learning-facts4")
@pytest.mark.parametrize(
    ("id", "facts"),
    [
        (
            "CartPole-v1",
            [
                "balance a pole",
                "Box [4]",
                "Discrete(2)",
                "time limit 500",
                "agents a2c, ars, bc, dqn, iql, openai_es, pgpe, ppo, pqn, sac, sep_cma_es",
                "masspole",
            ],
        ),
        ("GridWorld-v0", ["8 x 12 empty cells", "Discrete(96)", "time limit none", "watkins_q_lambda", "options map"]),
        ("CustomGrid-v0", ["a map of your own", "options map"]),
        (
            "ppo",
            [
                "Proximal policy optimisation",
                "observations Discrete, MultiDiscrete, Box, Dict",
                "actions Discrete,",
                "gae_lambda",
                "recurrent",
                "tuned for CartPole-v1",
                "train ppo --help",
            ],
        ),
        (
            "q_learning",
            [
                "off-policy temporal-difference control",
                "observations Discrete actions Discrete",
                "temperature",
                "train q_learning --help",
            ],
        ),
    ],
)
def test_an_id_tells_all_of_one(id, facts, capsys):
    text = printed(capsys, id)
    assert text.startswith(f"{id}: ")
    assert max(map(len, text.splitlines())) <= 85
    said = " ".join(text.split())
    for fact in facts:
        assert fact in said
    assert ("tuned for" in said) == (id in ("CartPole-v1", "ppo"))


@pytest.mark.full("covered")
def test_what_others_published_is_not_called_tuned_and_a_family_has_one_name(capsys):
    said = " ".join(printed(capsys, "MinAtar/Breakout-v1").split())
    assert "tuned for ppo, dqn published for pqn (arXiv:2407.04811)" in said
    both = " ".join(printed(capsys, "pqn").split())
    assert "tuned for CartPole-v1, Acrobot-v1" in both
    assert "published for MinAtar/*-v1 (arXiv:2407.04811)" in both


@pytest.mark.full("covered")
def test_neighbours_share_what_is_told_of_them_and_long_names_have_it_below(capsys):
    lines = printed(capsys, "FrozenLake").splitlines()
    first, second = (i for i, line in enumerate(lines) if line.startswith("  FrozenLake"))
    assert lines[first].split()[:5] == ["FrozenLake-v1", "16", "->", "4", "cross"]
    assert lines[second].split() == ["FrozenLake8x8-v1", "64", "->", "4"]
    lines = printed(capsys, "Dynamic-Obstacles").splitlines()
    (place,) = (i for i, line in enumerate(lines) if line.startswith("  MiniGrid-Dynamic-Obstacles-16x16-v0"))
    assert lines[place + 1].startswith("      MiniGrid's Dynamic-Obstacles: balls that roll about")
    assert lines[place + 2].split()[0] == "MiniGrid-Dynamic-Obstacles-5x5-v0"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("agent", "did you mean 'agents'?"),
        ("CartPole-v2", "did you mean 'CartPole-v"),
        ("%%%", "`kousoku list` shows all"),
        ("gymnasium", "did you mean 'gymnasium:'?"),
        ("Envpool", "did you mean 'envpool:'?"),
    ],
)
def test_what_there_is_not(word, message, capsys):
    assert main(["list", word]) == 2
    assert f"list: got {word!r}; {message}" in capsys.readouterr().err


@pytest.mark.full("covered")
def test_the_agents_that_fit():
    fits = {id: fitting_agents(ks.make(id).spec) for id in ("GridWorld-v0", "Bandit-v0", "CartPole-v1", "Pendulum-v1")}
    assert set(fits["GridWorld-v0"]) == {*TABULAR, *EVOLUTION, "a2c", "bc", "dagger", "dqn", "iql", "ppo", "pqn", "sac"}
    assert set(fits["Bandit-v0"]) == {
        *TABULAR,
        *BANDIT,
        *EVOLUTION,
        "a2c",
        "bc",
        "dagger",
        "dqn",
        "iql",
        "ppo",
        "pqn",
        "sac",
    }
    assert fits["CartPole-v1"] == sorted([*EVOLUTION, "a2c", "bc", "dqn", "iql", "ppo", "pqn", "sac"])
    assert fits["Pendulum-v1"] == sorted([*EVOLUTION, "a2c", "apg", "bc", "ddpg", "iql", "ppo", "sac", "td3", "td3_bc"])


@pytest.mark.full("covered")
@pytest.mark.parametrize("id", ["Balls-v0", "MountainCar-v0", "Taxi-v4", "DriftingBandit-v0", "Reacher-v5"])
def test_the_first_of_a_group_speaks_for_all_of_it(id):
    first = {"Box": {"Box": "MountainCarContinuous-v0", "Discrete": "Acrobot-v1"}, "Discrete": {"Discrete": "Maze-v0"}}
    spec = ks.make(id).spec
    kinds = index.described(spec).kinds
    observations, actions = (words.split()[0] for words in kinds.split(" -> "))
    like = "Bandit-v0" if observations == "one" else first[observations][actions]
    assert index.described(ks.make(like).spec).kinds == kinds
    assert fitting_agents(spec) == fitting_agents(ks.make(like).spec)


class Corridor(ks.Env):
    """A corridor of ones own."""

    @property
    def observation_space(self):
        return Discrete(5)

    @property
    def action_space(self):
        return Discrete(2)

    @property
    def time_limit(self):
        return None

    def reset(self, key):
        raise AssertionError("to list it is not to play it")

    step = reset


class Guess(QLearning):
    """An agent of ones own."""


def test_ones_own_are_listed_beside_ours(monkeypatch, capsys):
    """What the index does not know is made and tried; what it knows is not."""
    for registry in (ENVS, AGENTS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    ENVS.register("Corridor-v0", Corridor)
    AGENTS.register("guess", Guess)
    monkeypatch.setattr("kousoku.training.compatible.fits", lambda id, spec: id == "guess" and spec.action_space.n == 4)
    for id, sizes, guesses in (("GridWorld-v", "96 -> 4", True), ("Corridor-v", "5 -> 2", False)):
        text = printed(capsys, id)
        agents = text.partition("for ")[2].partition(f"  {id}")[0].replace(",", "").split()
        assert "a2c" in agents
        assert ("guess" in agents) == guesses
        assert sizes in row(text, f"{id}0")
    assert "A corridor of ones own." in text


def test_every_agent_says_something_of_its_own():
    told = [AGENTS.summary(id) for id in AGENTS.ids()]
    assert sorted(set(told)) == sorted(told)


def test_the_kinds_of_spaces_that_fit():
    assert fitting_spaces("bandit_ucb") == (["one, as of a bandit"], ["Discrete"])
    assert fitting_spaces("q_learning") == (["Discrete"], ["Discrete"])
    assert fitting_spaces("ars")[1] == ["Discrete", "MultiDiscrete", "Box"]


def test_the_ids_of_gymnasium(capsys):
    ids = printed(capsys, "gymnasium:").split()
    assert {"gymnasium:CartPole-v1", "gymnasium:Ant-v5", "gymnasium:LunarLander-v3"} <= set(ids)
    assert not {"gymnasium:CartPole-v0", "gymnasium:Ant-v4"} & set(ids)
    assert not [id for id in ids if id.startswith("gymnasium:kousoku/")]


def test_every_library_tells_its_ids_or_what_to_install(capsys):
    for library in ENVS.libraries():
        status, told = main(["list", f"{library}:"]), capsys.readouterr()
        assert status == 0 or (status == 2 and "pip install" in told.err and told.err.count("\n") == 1), library


class Unbuilt(Corridor):
    """A corridor that cannot be made."""

    def __init__(self):
        raise ConfigError("bricks", 0, "buy some")


ABSENT = ("gymnasium:Nope-v1", "gymnax:Zoo", "jumanji:x", "craftax:Nope", "envpool:Nope")


@pytest.mark.parametrize("what", [*ABSENT, "Unbuilt-v0", "", "envs", "unbuilt"])
def test_nothing_is_told_where_something_cannot_be(what, monkeypatch, capsys):
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))
    ENVS.register("Unbuilt-v0", Unbuilt)
    assert main(["list", *([what] if what else [])]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1


def test_a_summary_of_ones_own_is_that_of_the_function():
    def corridor() -> None:
        """A corridor.

        More of it.
        """

    registry = Registry("thing")
    registry.register("Corridor-v0", corridor)
    registry.register("Silent-v0", lambda: None)
    assert registry.summary("Corridor-v0") == "A corridor."
    assert registry.summary("Silent-v0") == ""
    registry.summarise("Silent-v0", "A silent one.")
    assert registry.summary("Silent-v0") == "A silent one."
    with pytest.raises(ConfigError, match="thing id: got 'Nix-v0'"):
        registry.summary("Nix-v0")
