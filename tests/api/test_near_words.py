"""Words of other libraries that are rather like a known one: the hint names what the agent has, or nothing."""

import re

import pytest
from fresh_process import check_refusals

from kousoku.agents import AGENTS
from kousoku.agents.options import option_names
from kousoku.core import synonyms
from kousoku.core.errors import ConfigError, check_keys
from kousoku.training.config import settings

WHICH = ", whichever is meant"
NONE = "it needs none here; leave it out"
WORDS = sorted({*synonyms.SAME, *synonyms.OPEN, *synonyms.NEAR, *synonyms.ANSWERS, *synonyms.OPTIONS_ELSEWHERE})


def known_of(agent):
    return [*settings(), *option_names(agent)]


def hint(word, known):
    """What is said of a word that is not known; None of one that is."""
    if word in known:
        return None
    with pytest.raises(ConfigError) as caught:
        check_keys("option", [word], known)
    return caught.value.fix


@pytest.mark.parametrize(
    ("agent", "word", "told"),
    [
        ("q_learning", "policy", NONE),
        ("bandit_ucb", "actor", NONE),
        ("dqn", "policy", f"use 'hidden' or 'network'{WHICH}"),
        ("ars", "policy", f"use 'hidden' or 'network'{WHICH}"),
        ("ppo", "policy", None),
        ("ppo", "actor", f"use 'hidden' or 'network'{WHICH}"),
        ("td3", "actor", f"use 'hidden' or 'network'{WHICH}"),
        ("ppo", "critic", f"use 'critic_hidden', 'hidden' or 'network'{WHICH}"),
        ("dqn", "critic", f"use 'hidden' or 'network'{WHICH}"),
        ("apg", "critic", None),
        ("ppo", "eps", "use 'adam_epsilon'"),
        ("a2c", "eps", "use 'rmsprop_epsilon'"),
        ("dqn", "eps", f"use 'epsilon' or 'adam_epsilon'{WHICH}"),
        ("q_learning", "eps", "use 'epsilon', the probability of a random action"),
        ("ars", "eps", "known: "),
        ("ppo", "adam_eps", "did you mean 'adam_epsilon'?"),
        ("ppo", "target_network_frequency", NONE),
        ("q_learning", "target_update_interval", NONE),
        ("dqn", "target_network_frequency", "use 'target_period', which counts gradient steps"),
        ("td3", "target_network_frequency", "the target follows by `tau` at each update"),
        ("sac", "train_freq", "agents with a replay buffer have `update_ratio` for it"),
        ("q_learning", "train_freq", NONE),
        ("ppo", "gama", "did you mean 'gamma'? use 'discount'"),
        ("ppo", "vf_coeff", "did you mean 'vf_coef'? use 'value_coefficient', which weighs half"),
        ("dqn", "alpah", "did you mean 'alpha'? use 'priority_alpha', 'munchausen_alpha' or 'learning_rate'"),
        ("ppo", "learning", "did you mean 'learning_rate'?"),
    ],
)
def test_what_is_said_of_a_word(agent, word, told):
    said = hint(word, known_of(agent))
    assert said is None if told is None else said.startswith(told)


@pytest.mark.parametrize("agent", AGENTS.ids())
def test_every_hint_names_something_that_the_agent_has(agent):
    known = known_of(agent)
    for word in WORDS:
        said = hint(word, known) or ""
        if said.startswith(("use ", "did you mean ")):
            used = said.partition("use ")[2].partition(", wh")[0] if "use " in said else said
            assert set(re.findall(r"'(\w+)'", used)) <= set(known), (word, said)
        if word in synonyms.ANSWERS and "`" in said:
            assert set(re.findall(r"`(\w+)`", said)) <= set(known), (word, said)


@pytest.mark.parametrize("agent", ["q_learning", "ppo", "td3", "ars"])
def test_a_whole_word_of_a_longer_one_is_no_slip_of_it(agent):
    known = known_of(agent)
    for word in synonyms.leading_to(known):
        for part in {word.rpartition("_")[0], word.partition("_")[2]} - {"", *WORDS}:
            assert repr(word) not in (hint(part, known) or ""), part


def test_the_shell_writes_hints_as_it_reads_options():
    known = ["--" + name.replace("_", "-") for name in known_of("ppo")]
    assert hint("--eps", known) == "use '--adam-epsilon'"
    assert hint("--gama", known) == "did you mean '--gamma'? use '--discount'"
    assert hint("--target-network-frequency", known) == NONE


def test_a_class_in_the_place_of_an_agent_is_told_as_that_of_an_environment_is():
    cases = {
        "ks.train(QLearning, 'GridWorld-v0')": "agent: got 'QLearning'; that is the class; make one of it: QLearning(",
        "ks.train(ks.Agent, 'GridWorld-v0')": "that is the class; make one of it: Agent(...)",
        "ks.train('q_learning', GridWorld)": "env: got 'GridWorld'; that is the class; make one of it: GridWorld(...)",
        "ks.train(3, 'GridWorld-v0')": "agent: got 3; give an id or a kousoku.Agent",
        "ks.train(None, 'GridWorld-v0')": "agent: got None; give an id or a kousoku.Agent",
    }
    kinds = "QLearning, GridWorld = type(ks.make_agent('q_learning')), type(ks.make('GridWorld-v0'))"
    check_refusals(cases, f"import kousoku as ks\n{kinds}")
