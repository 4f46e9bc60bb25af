"""A trained policy acts on what other libraries' environments observe, alone and in a vector."""

import gymnasium
import numpy as np
import pytest

import kousoku as ks


@pytest.fixture(scope="module")
def policy():
    options = {"is_slippery": False}
    return ks.load_policy(ks.train("q_learning", "FrozenLake-v1", steps=5000, seeds=2, env_options=options, out=""))


@pytest.mark.by_default("FrozenLake-v1")
@pytest.mark.parametrize("id", ["kousoku/FrozenLake-v1", "FrozenLake-v1"])
def test_it_reaches_the_goal_in_our_environment_and_in_gymnasiums(policy, id):
    env = gymnasium.make(id, is_slippery=False)
    obs, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        total, over = total + reward, terminated or truncated
    assert total == 1.0


def test_it_acts_in_a_vector_as_alone(policy):
    envs = gymnasium.make_vec("kousoku/FrozenLake-v1", num_envs=3, is_slippery=False)
    obs, _ = envs.reset(seed=0)
    actions = policy(obs)
    assert actions.tolist() == [policy(one) for one in obs]
    assert hash(policy(obs[0])) == hash(int(actions[0]))
    assert envs.step(actions)[0].shape == (3,)


def test_one_of_continuous_actions_takes_gymnasiums_float64():
    agent, spec = ks.make_agent("ppo", hidden=(8,), init="lecun_normal"), ks.make("Pendulum-v1").spec
    from jax import random

    from kousoku.training.evaluation.policy import Policy

    policy = Policy(agent, agent.init(spec, random.key(0)), spec)
    env = gymnasium.make("kousoku/Pendulum-v1")
    obs, _ = env.reset(seed=0)
    action = policy(obs.astype(np.float64))
    assert action in env.action_space
    assert np.array_equal(action, policy(obs))
    env.step(action)
