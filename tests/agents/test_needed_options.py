"""Options that change nothing unless another one has a certain value: refused where they are given in vain."""

from typing import Any

import pytest
from fresh_process import check_refusals

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.agents.needed_options import NEEDED, OF_HIDDEN_LAYERS
from kousoku.agents.options import beside, check_swept, describe, idle_options, make_agent, option_names, rebuild
from kousoku.core.agent import Agent
from kousoku.core.errors import ConfigError
from kousoku.nn import PolicyConfig, QNetworkConfig

IN_VAIN = [
    ("dqn", "munchausen_alpha", 0.1, "munchausen=True", {"munchausen": True}),
    ("dqn", "munchausen_temperature", 1.0, "munchausen=True", {"munchausen": True}),
    ("dqn", "munchausen_floor", -2.0, "munchausen=True", {"munchausen": True}),
    ("dqn", "priority_alpha", 0.1, "prioritised=True", {"prioritised": True}),
    ("sac", "priority_beta", "linear:0.4:1:50%", "prioritised=True", {"prioritised": True}),
    ("dqn", "num_atoms", 11, "distribution='categorical' or 'hl_gauss' or 'quantile'", {"distribution": "quantile"}),
    ("dqn", "v_min", -1.0, "distribution='categorical' or 'hl_gauss'", {"distribution": "hl_gauss"}),
    ("td3", "v_max", 1.0, "distribution='categorical' or 'hl_gauss'", {"distribution": "categorical"}),
    ("dqn", "smoothing", 2.0, "distribution='hl_gauss'", {"distribution": "hl_gauss"}),
    ("dqn", "noisy_std", 2.0, "noisy=True", {"noisy": True}),
    ("ddpg", "return_limit", 1.0, "normalise_rewards=True", {"normalise_rewards": True}),
    ("ppo", "reward_limit", 1.0, "normalise_rewards=True", {"normalise_rewards": True}),
    ("a2c", "observation_limit", 1.0, "normalise_observations=True", {"normalise_observations": True}),
    ("ars", "observation_limit", 1.0, "normalise_observations=True", {"normalise_observations": True}),
    ("sac", "target_entropy", -1.0, "learn_temperature=True", {"learn_temperature": True}),
    ("sac", "dropout", 0.5, "critic_body='droq'", {"critic_body": "droq"}),
    ("apg", "critic_learning_rate", 0.1, "critic=True", {"critic": True}),
    ("apg", "critic_epochs", 2, "critic=True", {"critic": True}),
    ("apg", "td_lambda", 0.1, "critic=True", {"critic": True}),
    ("apg", "tau", 0.1, "critic=True", {"critic": True}),
    ("apg", "critic_hidden", (8,), "critic=True", {"critic": True}),
    ("ars", "layer_norm", True, "hidden layers", {"hidden": (8,)}),
    ("pgpe", "activation", "relu", "hidden layers", {"body": "cnn"}),
    ("openai_es", "hidden_gain", 5.0, "hidden layers", {"network": PolicyConfig(hidden=(8,))}),
]
"""(agent, option, a value of it, what it lacks, what is given with it for it to change something)."""
OFF = {
    "critic": False, "prioritised": False, "munchausen": False, "normalise_observations": False,
    "normalise_rewards": False, "learn_temperature": False, "distribution": "scalar", "noisy": False,
    "critic_body": "plain",
}  # fmt: skip


def off(id, name):
    return {switch: OFF[switch] for switch in (NEEDED[name].option,)} if name in NEEDED else {}


@pytest.mark.parametrize(("id", "name", "value", "lacking", "beside_it"), IN_VAIN)
def test_an_option_given_in_vain_is_told_what_it_lacks(id, name, value, lacking, beside_it):
    with pytest.raises(ks.ConfigError, match=f"^{name}: got .*; it changes nothing without {lacking}.*; give that"):
        make_agent(id, **{name: value}, **off(id, name))
    assert name in str(describe(make_agent(id, **{name: value}, **beside_it)))


@pytest.mark.parametrize(("id", "name", "value", "lacking", "beside_it"), IN_VAIN)
def test_its_default_may_be_given_and_an_older_run_may_have_it(id, name, value, lacking, beside_it):
    usual: Any = make_agent(id, **off(id, name))
    held = usual if hasattr(usual, name) else usual.network
    make_agent(id, **{name: getattr(held, name)}, **off(id, name))
    told = describe(usual)
    (told if name in told else told["network"])[name] = value if isinstance(value, str | float | int) else list(value)
    assert name in str(describe(rebuild(told)))


@pytest.mark.parametrize("id", AGENTS.ids())
def test_no_default_is_refused_and_what_is_needed_is_an_option(id):
    names = option_names(id)
    assert idle_options(id, {}) == []
    make_agent(id)
    switches = {NEEDED[name].option for name in names if name in NEEDED}
    assert switches <= set(OFF)
    assert set(OF_HIDDEN_LAYERS) <= set(names) or id not in ("ars", "pgpe", "openai_es", "sep_cma_es", "evosax")


def test_a_network_as_a_whole_tells_its_own_switches():
    network = QNetworkConfig(distribution="quantile")
    made: Any = make_agent("dqn", network=network, num_atoms=11)
    assert made.network.num_atoms == 11
    with pytest.raises(ks.ConfigError, match=r"v_min: got -1\.0; it changes nothing without distribution"):
        make_agent("dqn", network=network, v_min=-1.0)


def test_a_preset_leaves_out_what_a_given_switch_makes_idle():
    tuned = {"target_entropy": -3.0, "num_envs": 4}
    assert beside("sac", tuned, {"learn_temperature": False}) == {"num_envs": 4}
    assert beside("sac", tuned, {"gamma": 0.5}) == tuned
    assert beside("sac", tuned, {"learn_temperature": False, "target_entropy": -1.0}) == tuned


def test_a_run_of_a_preset_begins_without_what_a_given_switch_makes_idle(monkeypatch):
    begun = []
    monkeypatch.setattr("kousoku.api.run_training", lambda agent, *_, **__: begun.append(agent) or 1 / 0)
    assert ks.preset("sac", "Hopper-v5").options["target_entropy"] != -1.0
    with pytest.raises(ZeroDivisionError):
        ks.train("sac", "Hopper-v5", learn_temperature=False)
    assert begun[0].target_entropy is None
    assert not begun[0].learn_temperature


@pytest.mark.parametrize(
    ("id", "name", "lacking"),
    [("dqn", "priority_alpha", "prioritised=True"), ("sac", "return_limit", "normalise_rewards=True"),
     ("td3", "return_limit", "normalise_rewards=True")],
)  # fmt: skip
def test_a_sweep_over_what_changes_nothing_is_refused(id, name, lacking):
    with pytest.raises(ConfigError, match=rf"sweep\['{name}'\]: got .*; it changes nothing without {lacking}; give"):
        ks.train(id, "Pendulum-v1" if id != "dqn" else "CartPole-v1", sweep={name: [0.1, 0.2]}, out="", progress=False)
    option, value = lacking.split("=")
    check_swept(id, {option: value == "True"}, {name: [0.1, 0.2], "learning_rate": [0.1]})


class Own(Agent):
    """An agent whose options are called as ours are, and mean something else."""

    critic: str = "none"
    tau: float = 0.5


def test_the_options_of_ones_own_agent_are_its_own(monkeypatch):
    monkeypatch.setattr(AGENTS, "_entries", dict(AGENTS._entries))
    AGENTS.register("own", lambda critic="none", tau=0.5: Own)
    assert idle_options("own", {"tau": 0.1}) == []


def test_a_network_that_takes_no_options_is_told_by_its_own_name():
    setup = """
import kousoku as ks
from kousoku.nn import ActorCriticConfig
make = ks.make_agent
def own(observation_space, action_space, key):
    return None
"""
    calls = {
        "make('ppo', network=5, hidden=(8,))": "network: got 5; use an ActorCriticConfig or a function",
        "make('dqn', network='mlp', num_atoms=5)": "network: got 'mlp'; use a QNetworkConfig or a function",
        "make('ppo', network=own, hidden=(8,))": "it has no hidden to be given; leave that out, or the network",
        "make('ppo', network=ActorCriticConfig, init_std=2.0)": "it has no init_std to be given; leave that out",
        "make('ppo', network=5, hiden=(8,))": "option of ppo: got 'hiden'; did you mean 'hidden'?",
    }
    check_refusals(calls, setup)
