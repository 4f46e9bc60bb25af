"""Means and sums over devices, and what is made of them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from kousoku.agents.deep.a2c import A2C
from kousoku.agents.deep.minibatches import num_strata
from kousoku.agents.deep.ppo import PPO
from kousoku.collectors.rollouts import SAMPLES_PER_DEVICE
from kousoku.ops import losses
from kousoku.ops.across import mean_over, sum_over


def on_two(function, *args):
    """The function on two devices, each with one of the two rows of the arguments."""
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
    inner = lambda *rows: jax.tree.map(lambda x: x[None], function(*(row[0] for row in rows)))  # noqa: E731
    mapped = jax.shard_map(inner, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)
    return jax.jit(mapped), mapped(*args)


@pytest.mark.full("covered")
def test_a_tree_travels_as_one_vector():
    x, n = jnp.array([[1.0, 2.0], [3.0, 6.0]]), jnp.array([[2**24 + 1], [1]], jnp.int32)
    mean, means = on_two(lambda x: mean_over({"a": x, "b": (x[0], -x)}, "d"), x)
    np.testing.assert_array_equal(means["a"], [[2.0, 4.0]] * 2)
    np.testing.assert_array_equal(means["b"][0], [2.0] * 2)
    np.testing.assert_array_equal(means["b"][1], [[-2.0, -4.0]] * 2)
    total, sums = on_two(lambda x, n: sum_over({"a": x, "n": n, "b": x[1], "m": n + 1}, "d"), x, n)
    np.testing.assert_array_equal(sums["a"], [[4.0, 8.0]] * 2)
    np.testing.assert_array_equal(sums["n"], [[2**24 + 2]] * 2)
    np.testing.assert_array_equal(sums["m"], [[2**24 + 4]] * 2)
    np.testing.assert_array_equal(sums["b"], [8.0] * 2)
    assert mean.lower(x).as_text().count("stablehlo.all_reduce") == 1
    assert total.lower(x, n).as_text().count("stablehlo.all_reduce") == 1, "numbers of two dtypes wait once"


def test_without_an_axis_nothing_happens():
    tree = {"a": jnp.ones(3), "n": jnp.int32(1)}
    assert mean_over(tree, None) is tree
    assert sum_over(tree, None) is tree


@pytest.mark.full("covered")
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_two_devices_standardise_and_explain_as_one_does(offset):
    """Their means are far apart, so that each device's own are of no use."""
    x = jax.random.normal(jax.random.key(0), (2, 500)) + jnp.array([[offset], [-3.0]])
    y = x + jax.random.normal(jax.random.key(1), (2, 500))
    _, two = on_two(partial(losses.standardised, axis_name="d"), x)
    every = np.asarray(x, np.float64)
    np.testing.assert_allclose(two, (every - every.mean()) / every.std(), rtol=1e-4, atol=1e-5)
    explained, fit = on_two(partial(losses.explained_variance, axis_name="d"), x, y)
    far = np.asarray(y, np.float64)
    np.testing.assert_allclose(fit, [1.0 - (far - every).var() / far.var()] * 2, rtol=1e-4)
    assert explained.lower(x, y).as_text().count("stablehlo.all_gather") == 1


@pytest.mark.full("covered")
def test_equal_advantages_become_nothing_on_two_devices():
    _, two = on_two(partial(losses.standardised, axis_name="d"), jnp.full((2, 1000), 0.1))
    np.testing.assert_allclose(two, np.zeros((2, 1000)), atol=1e-6)


def test_devices_get_parts_that_are_worth_it():
    """Divisors of the strata, with at least `SAMPLES_PER_DEVICE` samples of each minibatch."""
    assert PPO(num_envs=64, num_steps=64, minibatches=8).learns_from.num_devices(2) == 2
    assert (
        PPO(num_envs=64, num_steps=64, minibatches=8).learns_from.num_devices(64) == 64 * 64 // 8 // SAMPLES_PER_DEVICE
    )
    assert PPO(num_envs=4, num_steps=128, minibatches=4).learns_from.num_devices(2) == 1
    assert PPO(num_envs=6, num_steps=4096, minibatches=2).learns_from.num_devices(4) == 3
    assert PPO(num_envs=7, num_steps=4096, minibatches=2).learns_from.num_devices(4) == 1
    wide = PPO(num_envs=2048, num_steps=16, minibatches=16)
    assert wide.learns_from.num_devices(6) == 4
    assert num_strata(2048, 16, 16) % wide.learns_from.num_devices(6) == 0
    assert A2C(num_envs=96, num_steps=8).learns_from.num_devices(4) == 3
    assert A2C(num_envs=6).learns_from.num_devices(4) == 1
