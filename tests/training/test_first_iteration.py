"""The shapes of a member's first iteration: what they are, and that they are traced once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import kousoku as ks
from kousoku.collectors.streams import member_key
from kousoku.training.io import tree_io
from kousoku.training.loop import iteration
from kousoku.training.metrics.metric_sums import Recording

RECORDING = Recording(metrics=True, visits=True)
SMALL = {"num_envs": 4, "num_steps": 8, "minibatches": 2, "epochs": 1, "hidden": (8,)}
REPLAY = {"num_envs": 2, "capacity": 64, "batch_size": 8, "learning_starts": 16, "hidden": (8,)}


@pytest.mark.by_default("ppo-CartPole-v1-options1", "q_learning-FrozenLake-v1-options0")
@pytest.mark.parametrize(
    ("agent", "env", "options"),
    [("q_learning", "FrozenLake-v1", {}), ("ppo", "CartPole-v1", SMALL), ("dqn", "CartPole-v1", REPLAY)],
)
def test_they_are_those_of_what_it_begins_with(agent, env, options):
    agent, env = ks.make_agent(agent, **options), ks.make(env)
    told = iteration.shapes_of(agent, env, RECORDING)
    slots = iteration.slots_of(agent, env)
    begun = jax.eval_shape(lambda key: iteration.start(agent, env, slots, key, RECORDING), member_key(jnp.int32(0)))
    assert tree_io.shapes(told.state) == tree_io.shapes(begun)


@pytest.mark.full("covered")
def test_runs_that_differ_in_numbers_share_one_trace(monkeypatch):
    traced, zero_sums = [], iteration.zero_sums
    monkeypatch.setattr(iteration, "zero_sums", lambda *of: traced.append(of) or zero_sums(*of))
    env = ks.gridworld("S...G....")
    for seeds, rate in ((1, 0.1), ([5, 7, 9], 0.3)):
        ks.train("q_learning", env, steps=10, out="", eval_episodes=0, seeds=seeds, learning_rate=rate)
    assert len(traced) == 1
    ks.train("q_learning", env, steps=10, out="", eval_episodes=0, record=["visits"])
    assert len(traced) == 2, "other sums are recorded"


def test_one_member_of_many():
    tree = {
        "float": jnp.arange(6.0).reshape(3, 2),
        "half": jnp.arange(3).astype(jnp.bfloat16),
        "key": jax.random.split(jax.random.key(1), 3),
        "empty": jnp.zeros((3, 0)),
    }
    places = NamedSharding(Mesh(np.array(jax.devices()), ("half",)), PartitionSpec("half"))
    tree["divided"] = jax.device_put(jnp.arange(4), places)
    for i in range(3):
        one = tree_io.pick_member(tree, i)
        for name, leaf in tree.items():
            assert (one[name].dtype, one[name].shape) == (leaf.dtype, leaf.shape[1:])
            assert len(one[name].devices()) == 1
        np.testing.assert_array_equal(jax.random.key_data(one.pop("key")), jax.random.key_data(tree["key"][i]))
        for name in one:
            np.testing.assert_array_equal(one[name], tree[name][i])
