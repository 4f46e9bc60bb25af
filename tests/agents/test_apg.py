"""Analytic policy gradients: the loss number by number, what is refused, and that it learns."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probes import Aim
from rollouts import Scene, Walk, begin, collect, fast_jit, learned, leaves_equal, metrics_of, of_member
from smooth import Jump, Track

import kousoku as ks
from kousoku.agents.deep.apg import APG, first_steps
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete, MultiDiscrete
from kousoku.core.timestep import Rollout
from kousoku.nn import ActorCriticConfig
from kousoku.ops.schedules import Linear
from kousoku.training.io import checkpoints

KEY = jax.random.key(0)
PLAIN = {"normalise_observations": False, "normalise_rewards": False}
CLOSE = {"rtol": 2e-4, "atol": 2e-5}


def tiny_apg(**options):
    """4 environments, 8 steps, one hidden layer of 8, 2 epochs of 2 minibatches; network fields by name too."""
    fields = {name: options.pop(name) for name in list(options) if name in ActorCriticConfig.__dataclass_fields__}
    network = ActorCriticConfig(**{"hidden": (8,), "init": "lecun_normal", "policy": "tanh_normal", **fields})
    tiny = {"num_envs": 4, "num_steps": 8, "critic_epochs": 2, "critic_minibatches": 2, "network": network}
    return APG(**{**tiny, **options})


def rollout(rewards, terminated, truncated):
    """A rollout of one environment, whose observations count its steps."""
    steps = len(rewards)
    obs = jnp.arange(steps + 1, dtype=jnp.float32)[:, None, None] * jnp.ones((1, 1, 2))
    flags = (jnp.asarray([flag], bool) for flag in (terminated, truncated))
    ends = [flag.T for flag in flags]
    action = jnp.zeros((steps, 1, 1))
    return Rollout(obs[:-1], action, jnp.zeros((steps, 1)), jnp.asarray([rewards], jnp.float32).T, *ends, obs[1:], ())


@fast_jit
def told_of(agent, state, made):
    return agent.rollout_loss(state, made, None)


@pytest.fixture(scope="module")
def state():
    return tiny_apg(**PLAIN).init(Track().spec, KEY)


N, Y = False, True


@pytest.mark.parametrize(
    ("terminated", "truncated", "wanted"),
    [
        ((N, N, N), (N, N, N), lambda v: 1 + 0.5 * 2 + 0.25 * 4 + 0.125 * v[2]),
        ((N, Y, N), (N, N, N), lambda v: 1 + 0.5 * 2 + 4 + 0.5 * v[2]),
        ((N, N, N), (N, Y, N), lambda v: 1 + 0.5 * 2 + 0.25 * v[1] + 4 + 0.5 * v[2]),
        ((N, Y, N), (N, Y, N), lambda v: 1 + 0.5 * 2 + 4 + 0.5 * v[2]),
        ((N, N, Y), (N, N, N), lambda v: 1 + 0.5 * 2 + 0.25 * 4),
        ((Y, N, N), (N, N, Y), lambda v: 1 + 2 + 0.5 * 4 + 0.25 * v[2]),
        ((N, N, N), (Y, Y, Y), lambda v: 1 + 0.5 * v[0] + 2 + 0.5 * v[1] + 4 + 0.5 * v[2]),
    ],
)
def test_the_loss_by_hand(state, terminated, truncated, wanted):
    """Rewards 1, 2, 4 with a discount of 1/2; v are the target critic's values of the true successors."""
    agent, made = tiny_apg(discount=0.5, td_lambda=0.0, **PLAIN), rollout([1.0, 2.0, 4.0], terminated, truncated)
    value = np.array([float(state.target.value(obs, ())) for obs in made.next_obs[:, 0]])
    loss, told = told_of(agent, state, made)
    np.testing.assert_allclose(loss, -wanted(value) / 3, rtol=1e-5)
    one_step = np.array([1.0, 2.0, 4.0]) + 0.5 * np.where(terminated, 0.0, value)
    np.testing.assert_allclose(told.samples.target[:, 0], one_step, rtol=1e-5)
    bare, nothing = told_of(dataclasses.replace(agent, critic=False), bare_of(state), made)
    np.testing.assert_allclose(bare, -wanted(np.zeros(3)) / 3, rtol=1e-6)
    assert nothing.samples is None


def bare_of(state):
    return dataclasses.replace(state, target=None, critic_optimiser=None)


def test_first_steps_are_those_after_an_end_and_the_windows_own():
    made = rollout([0.0] * 4, (N, Y, N, N), (N, N, Y, N))
    assert first_steps(made)[:, 0].tolist() == [True, False, True, True]


@pytest.mark.full("covered")
def test_the_target_critic_follows_and_the_policy_step_leaves_the_critic_alone():
    """Without the critic's own steps only what the policy is made of moves."""
    agent = tiny_apg(tau=0.25, critic_learning_rate=Linear(0.0, 0.0, 1), **PLAIN)
    before = agent.init(Track().spec, jax.random.key(9))
    after = of_member(learned(agent, Track(), 1)).agent
    begun = of_member(learned(agent, Track(), 0)).agent
    leaves_equal(after.network.critic, begun.network.critic)
    leaves_equal(after.network.value_head, begun.network.value_head)
    assert (after.network.actor.body.mlp.layers[0].weight != begun.network.actor.body.mlp.layers[0].weight).any()
    for old, new, target in zip(*map(jax.tree.leaves, (begun.target, after.network, after.target)), strict=True):
        np.testing.assert_allclose(target, 0.75 * old + 0.25 * new, rtol=1e-5, atol=1e-7)
    assert jax.tree.structure(before) == jax.tree.structure(begun)


@pytest.mark.full("covered")
def test_the_first_gradient_is_clipped_to_the_norm_it_may_have():
    """Adam's first moment is a tenth of the gradient that it was given."""
    for limit in (1e-3, None):
        agent = tiny_apg(max_gradient_norm=limit, **PLAIN)
        state = learned(agent, Track(), 1)
        told = metrics_of(state)["gradient_norm"][0]
        given = 10 * np.linalg.norm(of_member(state).agent.optimiser.mu)
        np.testing.assert_allclose(given, told if limit is None else limit, rtol=1e-3)
        assert told > 1e-3


@pytest.mark.full("covered")
def test_what_a_rollout_shows_moves_the_statistics_only_afterwards():
    agent = tiny_apg()
    before, after = (of_member(learned(agent, Track(), updates)).agent for updates in (0, 1))
    assert int(before.observations.count[1]) == 0
    assert int(after.observations.count[1]) == 32
    assert int(after.rewards.count[1]) == 32
    assert int(after.step) == 32


@pytest.mark.parametrize(
    ("options", "spec", "told"),
    [
        ({}, EnvSpec(Box(-1.0, 1.0, (2,)), Discrete(2)), r"action space: got Discrete.*; use 'ppo' for others"),
        ({}, EnvSpec(Box(-1.0, 1.0, (2,)), MultiDiscrete((2, 2))), "action space: got MultiDiscrete"),
        ({}, EnvSpec(Box(-1.0, 1.0, (2,)), Box(0, 3, (1,), np.int32)), "action space: got Box"),
        ({"recurrent": "gru"}, Track().spec, "recurrent: got 'gru'; the critic learns from single steps"),
        ({}, EnvSpec(Box(-1.0, 1.0, (2,)), Box(-np.inf, 1.0, (1,))), "policy: got 'tanh_normal'; use 'normal'"),
    ],
)
def test_what_it_cannot_act_in_is_refused(options, spec, told):
    with pytest.raises(ConfigError, match=told):
        jax.eval_shape(lambda key: tiny_apg(**options).init(spec, key), KEY)


def test_rewards_without_a_gradient_are_refused_before_training(tmp_path):
    """With a critic the values may have one where rewards have none."""
    out = tmp_path / "run"
    with pytest.raises(ConfigError, match="agent: got 'APG'; no reward of this environment changes smoothly"):
        ks.train(tiny_apg(critic=False, policy="normal"), Jump(), steps=64, out=str(out), progress=False)
    assert not out.exists()
    with_values = tiny_apg(policy="normal")
    state = jax.eval_shape(lambda: begin(with_values, Jump(), KEY))
    jax.eval_shape(lambda state: collect(with_values, Jump(), state, KEY, jnp.int32(0))[0], state)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"num_steps": 0}, "num_steps: got 0"),
        ({"tau": 0.0}, "tau: got 0.0"),
        ({"td_lambda": 1.5}, "td_lambda: got 1.5"),
        ({"critic_epochs": 0}, "critic_epochs: got 0"),
        ({"critic_minibatches": 7}, "critic_minibatches: got 7; 2048 samples a rollout are not divisible; try 8"),
        ({"learning_rate": 0.0}, "learning_rate: got 0.0"),
        ({"critic_learning_rate": -1.0}, "critic_learning_rate: got -1.0"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm: got 0.0"),
        ({"num_envs": 0}, "num_envs: got 0"),
        ({"entropy_coefficient": -0.1}, "entropy_coefficient: got -0.1; use a number of at least 0"),
        ({"entropy_coefficient": Linear(0.1, -0.1, 100)}, "entropy_coefficient.end: got -0.1"),
        ({"discount": -0.1}, "discount: got -0.1"),
        ({"observation_limit": 0.0}, "observation_limit: got 0.0"),
        ({"adam_epsilon": 0.0}, "adam_epsilon: got 0.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(options, told):
    with pytest.raises(ConfigError, match=told):
        ks.make_agent("apg", **options)


@pytest.mark.full("more cases")
def test_observations_of_every_kind():
    agent = tiny_apg()
    env = dataclasses.replace(Scene(), action_space=Box(-1.0, 1.0, (1,)))
    metrics = metrics_of(learned(agent, env, 1))
    assert all(np.isfinite(value).all() for value in metrics.values())


@pytest.mark.full("more cases")
def test_the_window_of_a_random_walk_has_ends_and_stays_finite():
    metrics = metrics_of(learned(tiny_apg(), Walk(), 3))
    assert set(metrics) == {
        "policy_loss", "entropy", "gradient_norm", "learning_rate", "value_loss", "explained_variance",
    }  # fmt: skip
    assert all(np.isfinite(value).all() for value in metrics.values())


@pytest.mark.full("more cases")
def test_seeds_and_sweep_points_are_what_they_are_alone():
    rates = [1e-3, 1e-2]
    many = learned(tiny_apg(), Track(), 3, seeds=2, learning_rate=rates)
    alone = learned(dataclasses.replace(tiny_apg(), learning_rate=rates[1]), Track(), 3, seeds=[1])
    leaves_equal(of_member(many, 3), of_member(alone), **CLOSE)


@pytest.mark.full("more cases")
def test_two_devices_give_what_one_gives():
    one, two = (learned(tiny_apg(), Track(), 3, devices=devices) for devices in (1, 2))
    leaves_equal(one, two, **CLOSE)


@pytest.mark.full("learning")
@pytest.mark.learning
@pytest.mark.parametrize("critic", [True, False])
def test_an_action_is_aimed(critic):
    """The mean goes to x / 2: one step, so that a gradient is all that there is."""
    options = {"critic": critic, "learning_rate": 1e-2, "init_std": 0.1, "hidden": (16,), **PLAIN}
    state = learned(tiny_apg(**options), Aim(), 150, seeds=2).agent
    for member in range(2):
        network = jax.tree.map(jnp.asarray, of_member(state, member).network)
        for x in (-1.0, 1.0):
            np.testing.assert_allclose(network.policy(jnp.array([x]), ())[0].mode(), [0.5 * x], atol=0.1)


@pytest.mark.full("covered")
@pytest.mark.learning
def test_a_target_is_tracked_and_a_time_limit_is_no_end():
    """Near 1 a step for ever, worth 10 at a discount of 0.9, though the clock ends every episode after five steps."""
    env = dataclasses.replace(Track(), time_limit=5)
    options = {"discount": 0.9, "hidden": (32,), "learning_rate": 5e-3, "critic_learning_rate": 1e-2, "num_envs": 16}
    state = learned(tiny_apg(critic_epochs=4, **options, **PLAIN), env, 150).agent
    network = jax.tree.map(jnp.asarray, of_member(state).network)
    for x in (-1.0, 1.0):
        there = jnp.array([x, x])
        np.testing.assert_allclose(network.policy(there, ())[0].mode(), [0.0], atol=0.15)
        assert 8.5 < float(network.value(there, ())) < 10.2
        away = jnp.array([x, -x])
        assert x * float(network.policy(away, ())[0].mode()[0]) > 0.3


@pytest.mark.full("whole way")
@pytest.mark.reports
@pytest.mark.slow_because("a run is trained twice, and draws its report")
def test_a_run_resumes_bit_for_bit_reports_and_exports(tmp_path):
    agent = ks.make_agent("apg", num_envs=4, num_steps=8, critic_minibatches=2, hidden=(8,))
    options = {"record_every": 64, "progress": False, "eval_episodes": 2}
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    run = ks.train(agent, "Pendulum-v1", steps=256, out=str(whole), **options)
    ks.train(agent, "Pendulum-v1", steps=128, out=str(halves), **options)
    ks.resume(str(halves), steps=256)
    one, two = (checkpoints.newest(folder) for folder in (whole, halves))
    for path, mine, its in zip(one.paths, one.leaves, two.leaves, strict=True):
        np.testing.assert_array_equal(mine, its, err_msg=path)
    assert (whole / "report.html").stat().st_size > 10_000
    policy = ks.load(str(whole)).policy()
    np.testing.assert_allclose(policy(jnp.array([1.0, 0.0, 0.1])), run.policy()(jnp.array([1.0, 0.0, 0.1])), rtol=1e-6)
    assert np.isfinite(run.evaluate(3).returns).all()


class Steep(Track):
    """Its reward is finite where its derivative is not: of a square root at 0."""

    def step(self, key, state, action):
        after, timestep = super().step(key, state, action)
        return after, dataclasses.replace(timestep, reward=timestep.reward + jnp.sqrt(0.0 * action[0] * action[0]))


@pytest.mark.full("more cases")
def test_a_gradient_that_is_not_a_number_ends_the_run():
    run = ks.train(tiny_apg(), Steep(), steps=128, out="", progress=False, eval_episodes=0)
    assert run.record.facts["status"] == "diverged"
    assert re.search(r"agent\.\S+ became nan", run.record.facts["failure"])
