"""Bandit agents, pull by pull, against numbers worked out by hand."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from kousoku.agents import AGENTS
from kousoku.agents.bandit.epsilon_greedy import BanditEpsilonGreedy
from kousoku.agents.bandit.gradient import BanditGradient
from kousoku.agents.bandit.thompson import BanditThompson
from kousoku.agents.bandit.ucb import BanditUCB
from kousoku.agents.tabular.monte_carlo import MonteCarlo
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Transition
from kousoku.ops.schedules import Linear

KEY = jax.random.key(3)
SPEC = EnvSpec(Discrete(1), Discrete(3))
AGENTS_OF_ALL_KINDS = {
    "epsilon_greedy": BanditEpsilonGreedy(),
    "schedule": BanditEpsilonGreedy(epsilon=Linear(1.0, 0.0, 5), step_size=0.1),
    "ucb": BanditUCB(),
    "gradient": BanditGradient(),
    "gradient without baseline": BanditGradient(baseline=False),
    "thompson": BanditThompson(),
    "bernoulli": BanditThompson(model="bernoulli"),
}
ALL = pytest.mark.parametrize("agent", AGENTS_OF_ALL_KINDS.values(), ids=AGENTS_OF_ALL_KINDS.keys())


def pulled(arm: int, reward: float) -> Transition:
    zero, no = jnp.int32(0), jnp.array(False)
    return Transition(zero, jnp.int32(arm), jnp.float32(reward), no, no, zero)


@jax.jit
def update(agent, state, transition):
    """One program for all agents of one structure."""
    return agent.update(state, transition, KEY)


@partial(jax.jit, static_argnames="greedy")
def act(agent, state, keys, greedy):
    return jax.vmap(lambda key: agent.act(state, jnp.int32(0), (), key, greedy=greedy)[0])(keys)


def after(agent, pulls):
    state = agent.init(SPEC, KEY)
    for arm, reward in pulls:
        state, _ = update(agent, state, pulled(arm, reward))
    return state


def actions(agent, state, greedy=False):
    return np.asarray(act(agent, state, jax.random.split(KEY, 4000), greedy))


def frequencies(agent, state, **options):
    return np.bincount(actions(agent, state, **options), minlength=3)


def assert_drawn_from(counts, probabilities):
    assert stats.chisquare(counts, np.asarray(probabilities) * counts.sum()).pvalue > 1e-4


PULLS = [(0, 1.0), (1, 4.0), (0, 3.0), (0, 8.0)]


def test_sample_averages():
    """(1 + 3 + 8) / 3 = 4; the initial value is forgotten where an arm was pulled."""
    agent = BanditEpsilonGreedy(initial_value=100.0)
    np.testing.assert_allclose(agent.q_values(after(agent, PULLS)), [[4.0, 4.0, 100.0]], rtol=1e-6)


@pytest.mark.by_default("BanditUCB")
@pytest.mark.parametrize("kind", [BanditEpsilonGreedy, BanditUCB])
def test_constant_step_size(kind):
    """Step size 1/2: 0 -> 0.5 -> 1.75 -> 4.875."""
    agent = kind(step_size=0.5)
    state = after(agent, PULLS)
    assert agent.q_values(state).tolist() == [[4.875, 2.0, 0.0]]
    assert state.pulls.tolist() == [3, 1, 0]
    assert int(state.step) == 4
    _, metrics = agent.update(state, pulled(1, 5.0), KEY)
    assert float(metrics["td_error"]) == 3.0


def test_optimistic_is_epsilon_greedy_with_other_defaults():
    agent = AGENTS.make("bandit_optimistic")
    assert isinstance(agent, BanditEpsilonGreedy)
    assert (agent.epsilon, agent.initial_value, agent.step_size) == (0.0, 5.0, 0.1)
    state = after(agent, [(0, 0.0)])
    np.testing.assert_allclose(state.q, [4.5, 5.0, 5.0])
    assert_drawn_from(frequencies(agent, state)[1:], [0.5, 0.5])
    assert frequencies(agent, state)[0] == 0


def test_epsilon_greedy_frequencies():
    agent = BanditEpsilonGreedy(epsilon=0.3)
    assert_drawn_from(frequencies(agent, after(agent, [(0, 1.0), (1, 2.0), (2, 2.0)])), [0.1, 0.45, 0.45])
    state = after(AGENTS_OF_ALL_KINDS["schedule"], [(0, 1.0)] * 5)
    assert frequencies(AGENTS_OF_ALL_KINDS["schedule"], state).tolist() == [4000, 0, 0]


def test_ucb_by_hand():
    """Arms never pulled first; then 4 + 2 sqrt(ln 6 / 3), 4.5 + 2 sqrt(ln 6 / 2) or 1 + 2 sqrt(ln 6)."""
    agent = BanditUCB(c=2.0)
    assert_drawn_from(frequencies(agent, after(agent, [(0, 50.0)]))[1:], [0.5, 0.5])
    state = after(agent, [*PULLS, (1, 5.0), (2, 1.0)])
    bounds = [4 + 2 * math.sqrt(math.log(6) / 3), 4.5 + 2 * math.sqrt(math.log(6) / 2), 1 + 2 * math.sqrt(math.log(6))]
    assert frequencies(agent, state).argmax() == np.argmax(bounds) == 1
    curious = BanditUCB(c=10.0)
    assert set(actions(curious, state)) == {2}
    assert set(actions(curious, state, greedy=True)) == {1}


def test_gradient_by_hand():
    """Rewards 1 and 4 with step size 0.1; the baseline is the average of the rewards before."""
    agent = BanditGradient(step_size=0.1)
    state = after(agent, [(0, 1.0)])
    assert state.preferences.tolist() == [0.0, 0.0, 0.0]
    state = after(agent, [(0, 1.0), (1, 4.0)])
    np.testing.assert_allclose(state.preferences, [-0.1, 0.2, -0.1], atol=1e-6)
    policy = np.exp(state.preferences) / np.exp(state.preferences).sum()
    expected = np.asarray(state.preferences) + 0.1 * (0.0 - 2.5) * (np.eye(3)[2] - policy)
    state = after(agent, [(0, 1.0), (1, 4.0), (2, 0.0)])
    np.testing.assert_allclose(state.preferences, expected, atol=1e-6)
    np.testing.assert_allclose(state.mean_reward, 5 / 3, rtol=1e-6)
    np.testing.assert_allclose(agent.q_values(state), [[1.0, 4.0, 0.0]])


def test_gradient_without_baseline_by_hand():
    agent = BanditGradient(step_size=0.1, baseline=False)
    np.testing.assert_allclose(after(agent, [(0, 3.0)]).preferences, [0.2, -0.1, -0.1], atol=1e-6)


def test_gradient_acts_by_its_preferences():
    agent = BanditGradient(step_size=1.0, baseline=False)
    state = after(agent, [(0, 1.5), (1, -3.0), (1, -3.0)])
    weights = np.exp(np.asarray(state.preferences))
    assert_drawn_from(frequencies(agent, state), weights / weights.sum())
    assert set(actions(agent, state, greedy=True)) == {int(np.argmax(weights))}


def test_thompson_normal_is_the_conjugate_posterior():
    """Precision 1/4 + 3/9, mean (0.5/4 + 12/9) / precision; the draws have that mean and standard deviation."""
    agent = BanditThompson(reward_std=3.0, prior_mean=0.5, prior_std=2.0)
    state = after(agent, PULLS)
    precision = 1 / 4 + np.array([3, 1, 0]) / 9
    mean = (0.5 / 4 + np.array([12, 4, 0]) / 9) / precision
    np.testing.assert_allclose(agent.q_values(state)[0], mean, rtol=1e-5)
    draws = np.asarray(jax.jit(jax.vmap(lambda key: agent._draw(state, key)))(jax.random.split(KEY, 2000)))
    for arm in range(3):
        assert stats.kstest(draws[:, arm], stats.norm(mean[arm], precision[arm] ** -0.5).cdf).pvalue > 1e-4


def test_thompson_bernoulli_is_the_beta_posterior():
    """Beta(1 + successes, 1 + failures)."""
    agent = BanditThompson(model="bernoulli")
    state = after(agent, [(0, 1.0)] * 3 + [(0, 0.0)] + [(1, 0.0)] * 2)
    np.testing.assert_allclose(agent.q_values(state)[0], [4 / 6, 1 / 4, 1 / 2], rtol=1e-5)
    draws = np.asarray(jax.jit(jax.vmap(lambda key: agent._draw(state, key)))(jax.random.split(KEY, 2000)))
    for arm, (a, b) in enumerate([(4, 2), (1, 3), (1, 1)]):
        assert stats.kstest(draws[:, arm], stats.beta(a, b).cdf).pvalue > 1e-4


@pytest.mark.full("covered")
def test_thompson_bernoulli_survives_rewards_that_are_none():
    agent = BanditThompson(model="bernoulli")
    state = after(agent, [(0, 50.0), (1, -50.0), (2, 0.5)])
    np.testing.assert_allclose(state.q, [2 / 3, 1 / 3, 1 / 2], rtol=1e-6)
    assert frequencies(agent, state).min() > 0


def test_thompson_pulls_an_arm_as_often_as_it_may_be_the_best():
    """Two arms, posteriors N(1, 1/2) and N(0, 1): P(first is higher) = Phi(1 / sqrt(3/2))."""
    agent = BanditThompson()
    state = agent.init(EnvSpec(Discrete(1), Discrete(2)), KEY)
    state, _ = agent.update(state, pulled(0, 2.0), KEY)
    first = stats.norm.cdf(1 / math.sqrt(1.5))
    assert_drawn_from(np.bincount(actions(agent, state), minlength=2), [first, 1 - first])


@pytest.mark.by_default("bernoulli", "epsilon_greedy", "gradient", "gradient without baseline", "schedule", "ucb")
@ALL
def test_ties_at_the_beginning_are_broken_uniformly(agent):
    """Greedy and behaving; optimism and curiosity do not change that."""
    state = agent.init(SPEC, KEY)
    assert_drawn_from(frequencies(agent, state, greedy=True), [1 / 3] * 3)
    assert_drawn_from(frequencies(agent, state), [1 / 3] * 3)


@pytest.mark.full("covered")
@ALL
def test_keys_are_used_once(agent):
    with jax.debug_key_reuse(True), jax.disable_jit():
        state = agent.init(SPEC, jax.random.key(0))
        for i, (arm, reward) in enumerate([(0, 1.0), (1, 0.0), (2, 0.5)]):
            act_key, update_key = jax.random.split(jax.random.key(i))
            agent.act(state, jnp.int32(0), (), act_key)
            state, _ = agent.update(state, pulled(arm, reward), update_key)


@pytest.mark.by_default("thompson")
@ALL
def test_one_program_for_all_updates(agent):
    compilations = []

    @jax.jit
    def counted(agent, state, transition, key):
        compilations.append(1)
        return agent.update(state, transition, key)

    state = agent.init(SPEC, KEY)
    before = jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), state)
    for i in range(10):
        state, metrics = counted(agent, state, pulled(i % 3, 0.1 * i), jax.random.key(i))
    assert len(compilations) == 1
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), state) == before
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((state, metrics)))
    action, carry, _ = agent.act(state, jnp.int32(0), (), KEY)
    assert carry == ()
    assert (action.dtype, action.weak_type, action.shape) == (jnp.int32, False, ())
    assert agent.q_values(state).shape == (1, 3)


NAN, INF = float("nan"), float("inf")
BAD = [
    *(("bandit_epsilon_greedy", "epsilon", value) for value in (-0.1, 1.5, NAN)),
    *((id, "step_size", value) for id in ("bandit_epsilon_greedy", "bandit_ucb") for value in (0.0, -1.0, 1.5, NAN)),
    *(("bandit_epsilon_greedy", "initial_value", value) for value in (NAN, INF, -INF)),
    *(("bandit_ucb", "c", value) for value in (-1.0, NAN, INF)),
    *(("bandit_gradient", "step_size", value) for value in (0.0, -1.0, NAN, INF)),
    *(("bandit_thompson", "reward_std", value) for value in (0.0, -1.0, NAN, INF)),
    *(("bandit_thompson", "prior_std", value) for value in (0.0, -1.0, NAN, INF)),
    *(("bandit_thompson", "prior_mean", value) for value in (NAN, INF)),
    *(("bandit_thompson", "model", value) for value in ("", "Normal", "gamma")),
]


@pytest.mark.parametrize(("agent_id", "field", "value"), BAD)
def test_bad_numbers(agent_id, field, value):
    with pytest.raises(ConfigError) as caught:
        AGENTS.make(agent_id, **{field: value})
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@ALL
def test_bad_spaces(agent):
    with pytest.raises(ConfigError, match="bandits, which have one observation"):
        agent.init(EnvSpec(Discrete(16), Discrete(4)), KEY)
    with pytest.raises(ConfigError, match="observation_space"):
        agent.init(EnvSpec(Box(0.0, 1.0, (2,)), Discrete(2)), KEY)
    with pytest.raises(ConfigError, match="action_space"):
        agent.init(EnvSpec(Discrete(1), Box(0.0, 1.0)), KEY)


# ---- averages of very many rewards


def averaged(agent, rewards):
    """The values of one arm and of all rewards, where it alone is pulled, and is all of an episode."""
    spec, no = EnvSpec(Discrete(1), Discrete(2)), jnp.array(False)

    def pull(state, reward):
        end = Transition(jnp.int32(0), jnp.int32(1), reward, jnp.array(True), no, jnp.int32(0))
        return agent.update(state, end, KEY)[0], None

    return jax.jit(lambda rewards: jax.lax.scan(pull, agent.init(spec, KEY), rewards)[0])(jnp.float32(rewards))


AVERAGES = {
    "epsilon_greedy": BanditEpsilonGreedy(),
    "ucb": BanditUCB(),
    "gradient": BanditGradient(),
    "bernoulli": BanditThompson(model="bernoulli"),
    "normal": BanditThompson(prior_mean=0.5, prior_std=1e6),
    "monte_carlo": MonteCarlo(),
    "monte_carlo every": MonteCarlo(visit="every"),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_an_average_of_a_million_skewed_rewards_is_their_mean(name):
    """A step of 1 / N is soon below half of a unit in the last place, of frequent rewards but not of rare ones."""
    agent, rewards = AVERAGES[name], np.random.default_rng(0).random(1_000_000) < 0.9
    state = averaged(agent, rewards)
    assert float(agent.q_values(state)[0, 1]) == pytest.approx(rewards.mean(), rel=2e-6)
    if name == "gradient":
        assert float(state.mean_reward) == pytest.approx(rewards.mean(), rel=2e-6)


@pytest.mark.parametrize("name", ["epsilon_greedy", "gradient", "monte_carlo"])
def test_an_average_of_large_rewards_is_their_mean(name):
    rewards = 1000.0 + 10.0 * (np.random.default_rng(1).random(300_000) < 0.1)
    agent = AVERAGES[name]
    found = float(agent.q_values(averaged(agent, rewards))[0, 1])
    assert found == pytest.approx(np.float32(rewards).mean(dtype=np.float64), rel=1e-6)


@pytest.mark.parametrize("step_size", [0.1, 1e-3])
def test_estimates_with_a_step_size_of_their_own_have_no_rest(step_size):
    agent, rewards = BanditEpsilonGreedy(step_size=step_size), np.random.default_rng(0).normal(size=500)
    state, wanted = averaged(agent, rewards), np.float32(0.0)
    for reward in np.float32(rewards):
        wanted += np.float32(step_size) * (reward - wanted)
    assert state.rest is None
    assert float(state.q[1]) == pytest.approx(float(wanted), abs=1e-6)


def test_an_average_goes_on_where_another_run_left_it():
    agent, rewards = BanditEpsilonGreedy(), np.random.default_rng(0).random(200_000) < 0.9
    first = averaged(agent, rewards)
    taken = agent.adopt(agent.init(EnvSpec(Discrete(1), Discrete(2)), KEY), first)
    np.testing.assert_array_equal(taken.rest, first.rest)
    constant = BanditEpsilonGreedy(step_size=0.1)
    assert constant.adopt(constant.init(EnvSpec(Discrete(1), Discrete(2)), KEY), first).rest is None
