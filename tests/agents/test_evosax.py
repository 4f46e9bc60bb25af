"""Strategies of evosax in our loop: distributions with a mean, and populations without one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process
from fresh_process import refusals
from test_evolution import Line

import kousoku as ks
from kousoku.agents.evolution.evosax import Evosax
from kousoku.agents.evolution.strategy import parameters
from kousoku.core.promotion import their_promotion

HIDDEN = """
import json, sys
sys.modules["evosax"] = None
import kousoku as ks
try:
    ks.train("evosax", "CartPole-v1", steps=100, out="")
except ks.ConfigError as error:
    print(json.dumps(str(error)))
"""


def test_without_evosax_there_is_one_line():
    told = in_a_forked_process(HIDDEN)
    assert told.startswith("strategy: got 'CMA_ES'; it needs evosax: pip install")


class NeedsMore:
    """A strategy whose class takes other arguments than evosax's others."""

    def __init__(self, population_size, solution, teacher):
        raise AssertionError


class Undecided:
    """A strategy whose code decides by a value that is not known when it is traced."""

    def __init__(self, population_size, solution):
        self.default_params = self

    def replace(self):
        return self

    def init(self, key, population, fitness, params):
        return population if jax.random.uniform(key) > 0.5 else population + 1.0


@pytest.mark.parametrize(
    ("strategy", "told"),
    [(NeedsMore, "TypeError: .*missing 1 required"), (Undecided, "TracerBoolConversionError: Attempted boolean")],
)
def test_a_strategy_whose_own_code_fails_is_one_line(strategy, told):
    agent = Evosax(strategy=strategy, population_size=4)
    with pytest.raises(ks.ConfigError, match=f"; its own code raises {told}") as caught:
        ks.train(agent, "CartPole-v1", steps=100, out="")
    assert str(caught.value).startswith(f"strategy: got '{strategy.__name__}'")
    assert "\n" not in str(caught.value)


class Averaging:
    """A strategy that keeps a population, and compares its fitness with the mean of it."""

    def __init__(self, population_size, solution):
        self.default_params = self

    def replace(self, **params):
        assert not params
        return self

    def init(self, key, population, fitness, params):
        return population, fitness - jnp.mean(fitness), fitness


def test_what_nobody_has_tried_costs_much_but_is_a_number():
    """Strategies take means and variances of the first population's fitness: infinity would make NaN of them."""
    state = Evosax(strategy=Averaging, population_size=6).init(ks.make("CartPole-v1").spec, jax.random.key(0))
    population, about_mean, fitness = state.search
    assert population.shape == (6, 8)
    np.testing.assert_array_equal(about_mean, 0.0)
    assert np.isfinite(np.std(np.asarray(fitness), dtype=np.float32))
    assert (fitness > 1e12).all()


@pytest.mark.parametrize(
    "given", [(("std_init", 0.1), ("n", 2)), [["std_init", 0.1], ["n", 2]], [("std_init", 0.1), ("n", 2)]]
)
def test_parameters_of_a_strategy_are_pairs(given):
    """Lists, too, as JSON has them."""
    assert Evosax(strategy_params=given).strategy_params == (("std_init", 0.1), ("n", 2))
    assert ks.make_agent("evosax", strategy_params=given) == Evosax(strategy_params=given)


def test_what_is_no_parameter_of_a_strategy_is_refused():
    messages = refusals(
        {
            f"{given}": f"ks.make_agent('evosax', strategy_params={given})"
            for given in ("3", "None", "(1, 2)", "[['a', 1, 2]]", "[['a']]", "[[1, 2]]", "{'a': 1}", "'ab'")
        },
        "import kousoku as ks",
    )
    for name, message in messages.items():
        assert message.startswith("strategy_params: got "), (name, message)
        assert message.endswith('give pairs of a name and a number, such as (("std_init", 0.1),)'), (name, message)
    with pytest.raises(ks.ConfigError, match=r"strategy_params\['a'\]: got 'x'"):
        Evosax(strategy_params=[["a", "x"]])
    agent = Evosax(strategy=Averaging, strategy_params=[["a", 1]])
    with pytest.raises(ks.ConfigError, match="strategy_params: got 'a'; "):
        agent.init(ks.make("CartPole-v1").spec, jax.random.key(0))


@pytest.mark.peers
@pytest.mark.parametrize("strategy", ["LearnedGA", "DiffusionEvolution"])
def test_strategies_that_take_means_begin_with_numbers(strategy):
    pytest.importorskip("evosax")
    agent = Evosax(strategy=strategy, population_size=8, normalise_observations=False)
    run = ks.train(agent, Line(), steps=8 * 20, out="", eval_episodes=2, progress=False)
    assert run.record.facts["status"] == "finished"


@pytest.mark.peers
@pytest.mark.parametrize("strategy", ["CMA_ES", "SNES", "xNES", "SimpleGA", "PSO"])
def test_its_strategies_learn_a_line(strategy):
    """From -2.5 on, the best return is 0; how near each comes with its own defaults differs."""
    pytest.importorskip("evosax")
    agent = Evosax(strategy=strategy, population_size=16, episodes=8, normalise_observations=False)
    run = ks.train(agent, Line(), steps=16 * 8 * 300, out="", eval_episodes=200, progress=False)
    assert run.evaluate(200).returns.mean() > -1.0


@pytest.mark.peers
def test_the_loop_tells_what_evosax_tells_itself():
    """Our loop's search is evosax's own, asked and told by hand with the same keys and returns."""
    evosax = pytest.importorskip("evosax.algorithms")
    agent = Evosax(strategy="CMA_ES", population_size=8)
    state = agent.init(ks.make("CartPole-v1").spec, jax.random.key(0))
    with their_promotion():
        strategy = evosax.CMA_ES(population_size=8, solution=jnp.zeros_like(parameters(state.policy)))
        params, theirs = strategy.default_params, state.search
    for i in range(5):
        key, returns = jax.random.key(i), jnp.asarray(np.random.default_rng(i).normal(size=8), jnp.float32)
        asked, state = agent.ask(state, key)
        with their_promotion():
            candidates, theirs = strategy.ask(key, theirs, params)
        np.testing.assert_array_equal(asked, candidates)
        mean, search, _ = agent.tell(state, asked, returns, key)
        with their_promotion():
            theirs, _ = strategy.tell(key, candidates, -returns, theirs, params)
        np.testing.assert_array_equal(mean, theirs.mean)
        state = type(state)(agent.policy(state, mean), search, state.observations, state.step)


@pytest.mark.peers
def test_a_name_that_evosax_does_not_have_is_refused():
    pytest.importorskip("evosax")
    with pytest.raises(ks.ConfigError, match=r"strategy: got 'CMAES'.*CMA_ES"):
        ks.train("evosax", "CartPole-v1", strategy="CMAES", steps=100, out="")
    agent = Evosax(strategy_params=(("sigma", 0.1),))
    with pytest.raises(ks.ConfigError, match="strategy_params: got 'sigma'"):
        ks.train(agent, "CartPole-v1", steps=100, out="")
    with pytest.raises(ks.ConfigError, match="strategy_params: got 'sigma'; this strategy has none"):
        ks.train(Evosax(strategy="Open_ES", strategy_params=(("sigma", 0.1),)), "CartPole-v1", steps=100, out="")
    with pytest.raises(ks.ConfigError, match=r"strategy: got 'MutationFeatureEncoding'.*CMA_ES"):
        ks.train("evosax", "CartPole-v1", strategy="MutationFeatureEncoding", steps=100, out="")
