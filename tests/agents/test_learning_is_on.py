"""Settings under which an agent would never learn are refused, with what would do; their neighbours are not."""

import jax
import jax.numpy as jnp
import pytest

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.ops.losses import huber
from kousoku.ops.schedules import Linear


@pytest.mark.parametrize(
    ("agent", "settings", "told"),
    [
        (
            "ppo",
            {"num_envs": 1, "num_steps": 8, "minibatches": 8},
            "minibatches: got 8; the normalised advantage of one",
        ),
        (
            "ppo",
            {"num_envs": 4, "num_steps": 2, "minibatches": 8},
            "minibatches: got 8; the normalised advantage of one",
        ),
        (
            "ppo",
            {"num_envs": 1, "num_steps": 1, "minibatches": 1},
            "minibatches: got 1; .*or normalise_advantages=False",
        ),
        (
            "a2c",
            {"num_envs": 1, "num_steps": 1, "normalise_advantages": True},
            "normalise_advantages: got True; .*use more",
        ),
        ("ppo", {"clip": 0.0}, "clip: got 0.0"),
        ("ppo", {"epochs": 0}, "epochs: got 0"),
        ("ppo", {"learning_rate": 0.0}, "learning_rate: got 0.0"),
        ("a2c", {"learning_rate": 0.0}, "learning_rate: got 0.0"),
        ("dqn", {"learning_rate": 0.0}, "learning_rate: got 0.0"),
        ("dqn", {"tau": 0.0}, "tau: got 0.0"),
        ("dqn", {"gradient_steps": 0}, "gradient_steps: got 0"),
        ("dqn", {"huber_delta": 0.0}, "huber_delta: got 0.0"),
        ("ppo", {"max_gradient_norm": 0.0}, "max_gradient_norm: got 0.0"),
        ("a2c", {"reward_limit": 0.0}, "reward_limit: got 0.0"),
        ("q_learning", {"learning_rate": 0.0}, "learning_rate: got 0.0"),
        ("bandit_gradient", {"step_size": 0.0}, "step_size: got 0.0"),
    ],
)
def test_what_never_learns_is_refused(agent, settings, told):
    with pytest.raises(ConfigError, match=told):
        ks.make_agent(agent, **settings)


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("ppo", {"num_envs": 1, "num_steps": 8, "minibatches": 4}),
        ("ppo", {"num_envs": 1, "num_steps": 8, "minibatches": 8, "normalise_advantages": False}),
        ("a2c", {"num_envs": 1, "num_steps": 1}),
        ("a2c", {"num_envs": 2, "num_steps": 1, "normalise_advantages": True}),
        ("ppo", {"learning_rate": Linear(3e-4, 0.0, 1000)}),
        ("ppo", {"clip": Linear(0.2, 0.0, 1000)}),
    ],
)
def test_what_learns_a_little_is_not(agent, settings):
    ks.make_agent(agent, **settings)


def test_hubers_loss_without_a_limit_is_the_square():
    value, slope = jax.vmap(jax.value_and_grad(lambda e: huber(e, jnp.float32(jnp.inf))))(jnp.float32([-3.0, 0.0, 0.5]))
    assert value.tolist() == [4.5, 0.0, 0.125]
    assert slope.tolist() == [-3.0, 0.0, 0.5]
