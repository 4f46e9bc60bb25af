"""Deterministic policies: a Discrete observation is looked up, and gives what its one-hot vector would."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.spaces import Box, Discrete
from kousoku.nn import MLP, Dense, PolicyConfig, flattened

KEY = jax.random.key(0)
STATES, INDICES = 7, (0, 3, 6, -1, 7, 1000)


def shaken(network):
    learned, rest = eqx.partition(network, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(lambda x: x + 0.3 * jax.random.normal(KEY, x.shape), learned), rest)


@pytest.mark.by_default(
    "-1-False",
    "-1-True",
    "0-False",
    "1000-False",
    "1000-True",
    "3-False",
    "3-True",
    "6-False",
    "6-True",
    "7-False",
    "7-True",
)
@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("i", INDICES)
def test_a_layer_reads_the_row_of_an_index(i, use_bias):
    """Outside its space an index has no row: what is left is the bias."""
    dense = shaken(Dense(STATES, 5, key=KEY, use_bias=use_bias))
    expected = dense(flattened(Discrete(STATES), jnp.int32(i)))
    np.testing.assert_array_equal(dense.of_index(jnp.int32(i)), expected)
    assert (np.asarray(expected) == (0 if dense.bias is None else dense.bias)).all() == (not 0 <= i < STATES)


@pytest.mark.by_default("sizes0-False", "sizes1-False")
@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("sizes", [(8,), (8, 4)])
def test_so_does_an_mlp(sizes, layer_norm):
    mlp = shaken(MLP(STATES, sizes, key=KEY, layer_norm=layer_norm))
    for i in INDICES:
        expected = mlp(flattened(Discrete(STATES), jnp.int32(i)))
        np.testing.assert_allclose(mlp.of_index(jnp.int32(i)), expected, rtol=1e-6)


@pytest.mark.by_default("hidden1-Discrete(n=3)")
@pytest.mark.parametrize("actions", [Discrete(3), Box(-1.0, 1.0, (2,))], ids=str)
@pytest.mark.parametrize("hidden", [(), (4,)])
def test_a_policy_does_what_it_does_of_the_one_hot_vector(hidden, actions):
    """In the kernel too, for lanes with other observations; its parameters are as many, in the same order."""
    config = PolicyConfig(hidden, bias=True, head_gain=1.0)
    table, vector = (shaken(config(space, actions, KEY)) for space in (Discrete(STATES), Box(0.0, 1.0, (STATES,))))
    for one, other in zip(jax.tree.leaves(table), jax.tree.leaves(vector), strict=True):
        np.testing.assert_array_equal(one, other)
    seen = jnp.array(INDICES, jnp.int32)
    expected = [vector(flattened(Discrete(STATES), i)) for i in seen]
    np.testing.assert_allclose(jax.vmap(ks.kernel(table))(seen), jnp.stack(expected), rtol=1e-6)


def test_the_one_hot_vector_of_an_observation_is_not_made():
    """A table of many states costs as much as one of few: no product, and nothing as long as the states."""
    policy = PolicyConfig(hidden=(4,))(Discrete(1000), Discrete(2), KEY)
    program = str(jax.make_jaxpr(lambda obs: policy(obs))(jnp.int32(3)))
    assert "dot_general" in program  # of the head
    assert "f32[1000]" not in program
