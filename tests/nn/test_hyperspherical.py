"""SimBaV2: unit lengths of features and weights, before and after gradient steps, and where scalers begin."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import dense, features, in_float64, unit
from fast_compile import FAST_COMPILE

import kousoku as ks
from kousoku.agents.deep.gradients import apply_gradients, init_optimiser
from kousoku.core.spaces import Box, Discrete
from kousoku.nn import ActorQConfig, UnitDense
from kousoku.nn.hidden import hidden_for
from kousoku.nn.hyperspherical import Scaler, unit_length, with_unit_weights

KEY = jax.random.key(0)
OBS, ACTIONS = Box(-np.inf, np.inf, (3,)), Box(-1.0, 1.0, (2,))
BODY = {"activation": "tanh", "gain": 1.0, "init": "orthogonal"}


def unit_layers(tree):
    is_unit = lambda node: isinstance(node, UnitDense)  # noqa: E731
    return [node.weight for node in jax.tree.leaves(tree, is_leaf=is_unit) if is_unit(node)]


@pytest.mark.full("covered")
@pytest.mark.parametrize("init", ["orthogonal", "he_normal"])
def test_layers_are_those_of_the_papers_equations_and_their_lengths_are_one(init):
    hidden = hidden_for("simba_v2", 4, (6, 6), key=KEY, **{**BODY, "init": init})
    x = 3.0 * np.random.default_rng(0).normal(size=(20, 4))
    found = jax.vmap(hidden)(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(found, features(in_float64(hidden), x, None), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, rtol=1e-5)
    weights = unit_layers(hidden)
    assert [weight.shape for weight in weights] == [(5, 6), (6, 24), (24, 6), (6, 24), (24, 6)]
    for weight in weights:
        np.testing.assert_allclose(np.linalg.norm(weight, axis=0), 1.0, rtol=1e-5)


@pytest.mark.full("covered")
def test_an_inputs_length_is_not_lost_and_zeros_have_a_gradient():
    hidden = hidden_for("simba_v2", 2, (4,), key=KEY, **BODY)
    assert np.abs(hidden(jnp.array([0.1, 0.2])) - hidden(jnp.array([1.0, 2.0]))).max() > 0.01
    assert np.isfinite(jax.jacobian(hidden)(jnp.zeros(2))).all()
    np.testing.assert_array_equal(unit_length(jnp.zeros(3)), 0.0)
    assert np.isfinite(jax.jacobian(unit_length)(jnp.zeros(3))).all()


@pytest.mark.full("covered")
def test_scalers_begin_where_they_should_and_a_parameter_moves_them_by_their_ratio():
    hidden = hidden_for("simba_v2", 4, (8, 8), key=KEY, **BODY)
    ones = jnp.ones(8)
    np.testing.assert_allclose(hidden.scaler(ones), np.sqrt(2 / 8), rtol=1e-6)
    np.testing.assert_allclose(hidden.blocks[0].scaler(jnp.ones(32)), np.sqrt(2 / 32), rtol=1e-6)
    np.testing.assert_allclose(hidden.blocks[1].step(ones), 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(hidden.blocks[1].step.parameter, 1 / np.sqrt(8), rtol=1e-6)
    moved = eqx.tree_at(lambda s: s.parameter, Scaler(8, first=0.5, size=0.1), jnp.full(8, 0.2))
    np.testing.assert_allclose(moved(ones), 1.0, rtol=1e-6)


def test_a_block_without_steps_leaves_features_alone():
    hidden = hidden_for("simba_v2", 4, (6, 6), key=KEY, **BODY)
    still = jax.tree.map(jnp.zeros_like, [block.step for block in hidden.blocks])
    bare = eqx.tree_at(lambda h: [block.step for block in h.blocks], hidden, still)
    first = eqx.tree_at(lambda h: h.blocks, hidden, ())
    x = jnp.arange(4.0)
    np.testing.assert_allclose(bare(x), first(x), rtol=1e-5)


def test_last_layers_are_the_papers():
    network = ActorQConfig(hidden=(4,), actor_body="simba_v2", critic_body="simba_v2")(OBS, ACTIONS, KEY)
    x = np.random.default_rng(1).normal(size=(5, 4))
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    loc, scale = jax.vmap(network.actor.gaussian)(jnp.asarray(x, jnp.float32))
    heads = in_float64(network.actor.gaussian)
    np.testing.assert_allclose(loc, dense(heads.loc, x), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.log(scale), -4.0 + 6.0 * np.tanh(dense(heads.log_scale, x)), rtol=1e-4, atol=1e-4)
    value = jax.vmap(network.critics[0].head)(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(value, dense(in_float64(network.critics[0].head), x), rtol=1e-4, atol=1e-5)


def test_a_gradient_step_leaves_weights_of_unit_length():
    """The rest of the parameters moves as far as the optimiser says."""
    hidden = hidden_for("simba_v2", 3, (4,), key=KEY, **BODY)
    optimiser = ks.make_agent("sac").optimiser()
    gradient = jax.tree.map(lambda x: jnp.cos(jnp.arange(x.size, dtype=jnp.float32)).reshape(x.shape), hidden)
    moved, _, _ = apply_gradients(
        hidden, optimiser, init_optimiser(hidden, optimiser), gradient, jnp.float32(0.3), None
    )
    for before, after, slope in zip(*map(unit_layers, (hidden, moved, gradient)), strict=True):
        np.testing.assert_allclose(np.linalg.norm(after, axis=0), 1.0, rtol=1e-5)
        expected = unit(np.asarray(before, np.float64) - 0.3 * np.sign(slope), 0)
        np.testing.assert_allclose(after, expected, atol=1e-4)
    np.testing.assert_allclose(
        hidden.scaler.parameter - moved.scaler.parameter, 0.3 * np.sign(gradient.scaler.parameter), rtol=1e-4
    )
    plain = hidden_for("plain", 3, (4,), key=KEY, **BODY)
    assert all(a is b for a, b in zip(*map(jax.tree.leaves, (plain, with_unit_weights(plain))), strict=True))


@pytest.mark.full("covered")
@pytest.mark.parametrize(("id", "actions"), [("sac", ACTIONS), ("td3", ACTIONS), ("sac", Discrete(3))])
def test_agents_updates_keep_unit_lengths(id, actions):
    options = {"hidden": (4,), "actor_body": "simba_v2", "critic_body": "simba_v2", "learning_rate": 0.1}
    agent = ks.make_agent(id, **options)
    spec = ks.EnvSpec(OBS, actions)
    state = agent.init(spec, KEY)
    obs = jax.random.normal(KEY, (16, 3))
    action = jax.vmap(actions.sample)(jax.random.split(KEY, 16))
    flag = jnp.zeros(16, bool)
    made = jax.vmap(ks.Transition)(obs, action, obs[:, 0], flag, flag, obs + 1.0)
    data = ks.ReplayBatch(made, jnp.int32(100))
    step = eqx.filter_jit(lambda state, key: agent.update(state, data, key), compiler_options=FAST_COMPILE)
    before = unit_layers(state.network)
    for i in range(3):
        state, metrics = step(state, jax.random.key(i))
    after = unit_layers(state.network)
    assert all((a != b).any() for a, b in zip(before, after, strict=True))
    for weight in after:
        np.testing.assert_allclose(np.linalg.norm(weight, axis=0), 1.0, rtol=1e-5)
    assert all(np.isfinite(value) for value in metrics.values())


def test_its_blocks_have_one_width():
    config = ActorQConfig(critic_hidden=(8, 8), critic_body="simba_v2")
    assert len(config(OBS, ACTIONS, KEY).critics[0].hidden.blocks) == 2
    with pytest.raises(ks.ConfigError, match="'simba_v2' adds its blocks up; use one width for all"):
        dataclasses.replace(config, critic_hidden=(8, 16))
