"""What an agent's network is made by: a config, or a function of two spaces and a key; for every agent that has one."""

import jax
import pytest

import kousoku as ks
from kousoku.agents import AGENTS
from kousoku.nn.fits import check_builder

WITH_NETWORK = [id for id in AGENTS.ids() if "network" in AGENTS.options(id)]


def test_what_is_no_function_is_refused():
    with pytest.raises(ks.ConfigError, match=r"network: got 'mlp'; use a Config or a function that builds a network$"):
        check_builder("mlp", "a Config", "a network")


@pytest.mark.parametrize("id", WITH_NETWORK)
def test_a_function_of_other_arguments_is_refused(id):
    with pytest.raises(ks.ConfigError, match=r"use a function of \(observation_space, action_space, key\)"):
        ks.make_agent(id, network=lambda observation_space: None)


@pytest.mark.parametrize("id", [id for id in WITH_NETWORK if "learning_rate" in AGENTS.options(id)])
@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_learning_rate_that_cannot_work_is_refused(id, rate):
    with pytest.raises(ks.ConfigError, match="learning_rate"):
        ks.make_agent(id, learning_rate=rate)


@pytest.mark.parametrize("id", AGENTS.ids())
def test_an_agents_leaves_are_its_numbers_and_all_else_is_structure(id):
    """Arrays are traced: what is no number decides which program is compiled."""
    assert {type(leaf) for leaf in jax.tree.leaves(ks.make_agent(id))} == {float}
