"""The estimate of memory counts what is held at once."""

import jax
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.trees import tree_bytes
from kousoku.training.guards import memory_check
from kousoku.training.guards.memory_check import check_memory
from kousoku.training.metrics.metric_sums import Recording
from kousoku.training.population import PointEnvs

ENV = ks.make("CartPole-v1")


def refusal(agent, memory, monkeypatch):
    """What is said where there are so many bytes of memory; None where they are enough."""
    monkeypatch.setattr(memory_check, "_memory", lambda: memory)
    try:
        check_memory(agent, PointEnvs((ENV,), None, ENV), 1, Recording())
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.by_default("1-None")
@pytest.mark.parametrize(("episodes", "num_envs"), [(1, None), (1, 4), (4, None), (4, 64)])
def test_candidates_count_as_data_as_noise_as_policies_and_once_an_episode(episodes, num_envs, monkeypatch):
    """Two for the data, one for noise, one for policies, one for each episode, however few slots play them."""
    agent = ks.make_agent("ars", num_directions=32, episodes=episodes, num_envs=num_envs, hidden=(128, 128))
    agent = agent.for_env(ENV.spec)
    policy = jax.eval_shape(lambda key: agent.init(ENV.spec, key), jax.random.key(0)).policy
    vectors = 64 * 4 * sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(policy))
    held = (4 + episodes) * vectors / 0.8
    assert refusal(agent, int(1.1 * held), monkeypatch) is None
    said = refusal(agent, int(0.99 * held), monkeypatch)
    assert said is not None
    assert said.startswith("population_size: got '64 candidates'; they need about ")


@pytest.mark.full("covered")
@pytest.mark.parametrize("options", [{}, {"prioritised": True}, {"prioritised": True, "n_step": 5}])
def test_a_buffer_counts_with_its_priorities_and_with_the_steps_of_what_is_drawn(options, monkeypatch):
    sizes = {"num_envs": 4, "capacity": 40_000, "batch_size": 64, "gradient_steps": 50}
    agent = ks.make_agent("dqn", **sizes, hidden=(4,), **options)
    step = 4 * (4 + 4) + 4 + 4 + 1 + 1  # two observations, action, reward, two flags
    held = 2 * 40_000 * (step + (8 if "prioritised" in options else 0))
    held += 50 * 64 * (step + (5 * (4 + 4 + 1 + 1) if "n_step" in options else 0))
    assert refusal(agent, int(1.02 * held / 0.8), monkeypatch) is None
    said = refusal(agent, int(0.99 * held / 0.8), monkeypatch)
    assert said is not None
    assert said.startswith("capacity: got '40000 transitions'; they need about ")


@pytest.mark.full("covered")
def test_what_other_collectors_hold_is_state_and_data_twice(monkeypatch):
    agent = ks.make_agent("ppo", num_envs=64, num_steps=64, hidden=(4,)).for_env(ENV.spec)
    shapes = memory_check.shapes_of(agent, ENV, Recording())
    held = 2 * tree_bytes((shapes.state, shapes.data, shapes.steps.info, shapes.steps.end)) + 256
    assert refusal(agent, int(1.01 * held / 0.8), monkeypatch) is None
    assert "num_envs" in str(refusal(agent, int(0.99 * held / 0.8), monkeypatch))


def test_a_data_set_that_is_too_large_is_named_and_not_the_minibatches_of_it(monkeypatch):
    n, rng = 4000, np.random.default_rng(0)
    obs, next_obs = (rng.uniform(-0.1, 0.1, (n, 4)) for _ in range(2))
    data = ks.Dataset(
        obs, np.zeros(n, int), np.zeros(n), np.ones(n, bool), np.zeros(n, bool), next_obs,
        ENV.observation_space, ENV.action_space,
    )  # fmt: skip
    agent = ks.make_agent("bc", dataset=data, hidden=(4,), batch_size=16).for_env(ENV.spec)
    held = n * (2 * 4 * 4 + 4 + 4 + 1 + 1)
    assert refusal(agent, 2 * held, monkeypatch) is None
    said = refusal(agent, held, monkeypatch)
    assert said is not None
    assert said.startswith("dataset: got '4000 transitions'; they need about ")
