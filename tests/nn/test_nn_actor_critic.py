"""The usual network as a whole: a plain pytree of float32, its carry, its gradients, its config."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process
from fresh_process import in_a_new_process, refusals

from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.nn import ActorCritic, ActorCriticConfig, Network, build

KEY = jax.random.key(0)
VECTOR = Box(-1.0, 1.0, (17,))
IMAGE = Box(0, 255, (6, 5, 2), np.uint8)
MIXED = Dict({"camera": Box(0.0, 1.0, (2, 2)), "goal": Discrete(3), "buttons": MultiDiscrete((2, 2))})
SMALL = {"hidden": (8,), "recurrent_size": 6}


def size(network) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(network))


@pytest.mark.full("covered")
def test_the_default_has_the_parameters_of_ppo():
    network = build(ActorCriticConfig(), VECTOR, Box(-1.0, 1.0, (6,)), KEY)
    hidden = 18 * 64 + 65 * 64
    assert size(network) == 2 * hidden + 65 * 6 + 6 + 65
    gains = [
        np.linalg.norm(np.asarray(layer.weight, np.float64), ord=2)
        for layer in (
            *network.actor.body.mlp.layers,
            *network.critic.body.mlp.layers,
            network.policy_head.gaussian.linear,
            network.value_head.linear,
        )
    ]
    np.testing.assert_allclose(gains, [2**0.5] * 4 + [0.01, 1.0], rtol=1e-5)


@pytest.mark.full("covered")
def test_other_configs_have_the_parameters_that_they_name():
    actions = Discrete(3)
    shared = build(ActorCriticConfig(shared=True), VECTOR, actions, KEY)
    assert size(shared) == 18 * 64 + 65 * 64 + 65 * 3 + 65
    uneven = build(ActorCriticConfig(hidden=(8,), critic_hidden=(16, 4)), VECTOR, actions, KEY)
    assert size(uneven) == (18 * 8 + 9 * 3) + (18 * 16 + 17 * 4 + 5)
    recurrent = build(
        ActorCriticConfig(hidden=(8,), shared=True, recurrent="lstm", recurrent_size=6), VECTOR, actions, KEY
    )
    assert size(recurrent) == 18 * 8 + 4 * 6 * (8 + 6 + 1) + 7 * 3 + 7


CASES = [
    (ActorCriticConfig(**SMALL), VECTOR, Box(-1.0, 1.0, (2,))),
    (ActorCriticConfig(**SMALL, shared=True, layer_norm=True, std="exp"), MIXED, Box(-1.0, 1.0, (2, 2))),
    (ActorCriticConfig(**SMALL, recurrent="gru", activation="silu"), IMAGE, Discrete(3)),
    (ActorCriticConfig(**SMALL, recurrent="lstm", policy="tanh_normal", std="softplus"), VECTOR, Box(-1.0, 1.0, (2,))),
    (ActorCriticConfig(**SMALL, recurrent="gru", shared=True), Discrete(4), MultiDiscrete((2, 3))),
    (ActorCriticConfig(**SMALL, init="lecun_normal", policy="beta"), Discrete(4), Box(-1.0, 1.0)),
]
NAMES = [
    f"{c.recurrent or 'plain'}-{'shared' if c.shared else 'apart'}-{type(o).__name__}-{type(a).__name__}"
    for c, o, a in CASES
]


@pytest.mark.full("covered")
@pytest.mark.parametrize(("config", "observations", "actions"), CASES, ids=NAMES)
def test_one_pass_equals_its_parts_and_every_leaf_is_a_float32_array(config, observations, actions):
    network = config(observations, actions, KEY)
    assert isinstance(network, ActorCritic)
    assert all(isinstance(leaf, jax.Array) and leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(network))
    carry = network.initial_carry()
    if config.recurrent is None:
        assert carry == ()
    parts = jax.jit(lambda network, obs, carry: (network.policy(obs, carry), network.value(obs, carry)))
    whole = jax.jit(lambda network, obs, carry: network(obs, carry))
    for seed in range(3):
        obs = observations.sample(jax.random.key(seed))
        distribution, value, after = whole(network, obs, carry)
        (alone, alone_after), value_alone = parts(network, obs, carry)
        assert value.shape == ()
        assert value.dtype == jnp.float32
        np.testing.assert_allclose(value_alone, value, rtol=1e-5, atol=1e-6)
        for a, b in zip(jax.tree.leaves(distribution), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert jax.tree.structure(alone_after) == jax.tree.structure(after) == jax.tree.structure(carry)
        carry = after


@pytest.mark.full("covered")
@pytest.mark.parametrize(("config", "observations", "actions"), CASES, ids=NAMES)
def test_gradients_reach_every_leaf(config, observations, actions):
    network = config(observations, actions, KEY)
    keys = jax.random.split(KEY, 8)

    def step(network, carry, key):
        obs_key, action_key = jax.random.split(key)
        distribution, value, carry = network(observations.sample(obs_key), carry)
        return carry, distribution.log_prob(actions.sample(action_key)) + value

    def loss(network):
        return jnp.sum(jax.lax.scan(partial(step, network), network.initial_carry(), keys)[1])

    gradient = jax.jit(jax.grad(loss))(network)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.isfinite(leaf).all(), jax.tree_util.keystr(path)
        assert np.any(leaf), jax.tree_util.keystr(path)


@pytest.mark.full("covered")
def test_memories_of_actor_and_critic_are_apart():
    network = build(ActorCriticConfig(**SMALL, recurrent="gru"), VECTOR, Discrete(3), KEY)
    obs, start = jnp.ones(17), network.initial_carry()
    _, (actor, critic) = network.policy(obs, start)
    assert np.any(actor)
    assert not np.any(critic)
    _, _, (both_actor, both_critic) = network(obs, start)
    assert jnp.array_equal(both_actor, actor)
    assert np.any(both_critic)
    assert not np.array_equal(both_actor, both_critic)
    assert float(network.value(obs, start)) == float(network.value(obs, (actor, critic)))
    assert float(network.value(obs, start)) != float(network.value(obs, (actor, both_critic)))


@pytest.mark.full("covered")
def test_actor_and_critic_begin_with_different_weights():
    network = build(ActorCriticConfig(), VECTOR, Discrete(3), KEY)
    assert not np.allclose(network.actor.body.mlp.layers[0].weight, network.critic.body.mlp.layers[0].weight)


@pytest.mark.full("covered")
def test_equal_networks_share_one_compilation():
    config, actions = ActorCriticConfig(**SMALL, recurrent="lstm"), Box(-1.0, 1.0, (2,))
    first, second = (config(IMAGE, actions, jax.random.key(i)) for i in range(2))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert hash(jax.tree.structure(first)) == hash(jax.tree.structure(second))
    traces = []

    @jax.jit
    def value(network):
        traces.append(None)
        return network.value(jnp.zeros(IMAGE.shape, jnp.uint8), network.initial_carry())

    assert float(value(first)) == float(value(first))
    value(second)
    value(dataclasses.replace(config, activation="relu")(IMAGE, actions, KEY))
    assert len(traces) == 2


@pytest.mark.full("covered")
def test_many_seeds_at_once_equal_each_alone():
    config = ActorCriticConfig(**SMALL, recurrent="lstm", shared=True)
    keys = jax.random.split(KEY, 5)
    make = lambda key: config(VECTOR, Discrete(3), key)  # noqa: E731
    together = jax.jit(jax.vmap(make))(keys)
    for i in (0, 3):
        for many, one in zip(jax.tree.leaves(together), jax.tree.leaves(make(keys[i])), strict=True):
            np.testing.assert_allclose(many[i], one, atol=2e-6)
    obs = jnp.ones((5, 7, 17))
    value = jax.vmap(lambda network, row: network.value(row, network.initial_carry()), (None, 0))
    values = jax.vmap(value)(together, obs)
    assert values.shape == (5, 7)
    assert len(np.unique(np.asarray(values)[:, 0])) == 5


def test_a_network_can_be_flattened_scaled_and_rebuilt():
    network = build(ActorCriticConfig(**SMALL), VECTOR, Discrete(3), KEY)
    double = jax.jit(lambda n: jax.tree.map(lambda leaf: 2 * leaf, n), donate_argnums=0)
    doubled = double(jax.tree.map(jnp.copy, network))
    np.testing.assert_array_equal(doubled.value_head.linear.weight, 2 * network.value_head.linear.weight)


def test_the_policy_alone_costs_no_critic():
    network = build(ActorCriticConfig(), VECTOR, Discrete(3), KEY)
    jaxpr = str(jax.make_jaxpr(lambda obs: network.policy(obs, ())[0])(jnp.zeros(17)))
    assert jaxpr.count("dot_general[") == 3
    shared = build(ActorCriticConfig(shared=True), VECTOR, Discrete(3), KEY)
    assert str(jax.make_jaxpr(lambda obs: shared(obs, ())[:2])(jnp.zeros(17))).count("dot_general[") == 4


def test_the_config_is_a_value():
    assert ActorCriticConfig(hidden=(64, 64)) == ActorCriticConfig()
    assert hash(ActorCriticConfig(hidden=(64, 64))) == hash(ActorCriticConfig())
    assert ActorCriticConfig(activation="relu") != ActorCriticConfig()
    assert dataclasses.replace(ActorCriticConfig(), shared=True).shared
    with pytest.raises(dataclasses.FrozenInstanceError):
        ActorCriticConfig().shared = True  # type: ignore[misc]


def test_lists_as_a_file_gives_them_become_tuples():
    script = """
import json
from kousoku.nn import NETWORK_CONFIGS
told = {}
for config in NETWORK_CONFIGS:
    for field in {"hidden", "critic_hidden", "stream_hidden"} & {*config.__dataclass_fields__}:
        rest = {"dueling": True} if field == "stream_hidden" else {}
        listed, plain = (config(**{field: x([4, 8])}, **rest) for x in (list, tuple))
        told[f"{config.__name__}.{field}"] = [listed == plain, hash(listed) == hash(plain)]
print(json.dumps(told))
"""
    told = in_a_forked_process(script)
    assert sorted(told) == [
        "ActorCriticConfig.critic_hidden", "ActorCriticConfig.hidden", "ActorQConfig.critic_hidden",
        "ActorQConfig.hidden", "PolicyConfig.hidden", "QNetworkConfig.hidden", "QNetworkConfig.stream_hidden",
    ]  # fmt: skip
    assert all(same == [True, True] for same in told.values()), told


def test_the_interface_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Network()  # type: ignore[abstract]


REFUSED = {
    "ActorCriticConfig(hidden=(0,))": "hidden[0]: got 0; use a whole number of at least 1",
    "ActorCriticConfig(hidden=64)": "hidden: got 64; use a tuple of whole numbers, such as (64, 64)",
    "ActorCriticConfig(critic_hidden=(8, 1.5))": "critic_hidden[1]: got 1.5; use a whole number of at least 1",
    "ActorCriticConfig(activation='tahn')": "activation: got 'tahn'; did you mean 'tanh'? use one of",
    "ActorCriticConfig(activation=3)": "activation: got 3; use one of",
    "ActorCriticConfig(shared='yes')": "shared: got 'yes'; use True or False",
    "ActorCriticConfig(layer_norm=1)": "layer_norm: got 1; use True or False",
    "ActorCriticConfig(shared=True, critic_hidden=(8,))": "critic_hidden: got (8,); leave it out, or use shared=False",
    "ActorCriticConfig(recurrent='gur')": "recurrent: got 'gur'; did you mean 'gru'?",
    "ActorCriticConfig(recurrent_size=0)": "recurrent_size: got 0; use a whole number of at least 1",
    "ActorCriticConfig(body='cnm')": "body: got 'cnm'; did you mean 'cnn'?",
    "ActorCriticConfig(policy='gaussian')": "policy: got 'gaussian'; use one of",
    "ActorCriticConfig(std='exp2')": "std: got 'exp2'; did you mean 'exp'?",
    "ActorCriticConfig(init_std=0)": "init_std: got 0; use a number above 0",
    "ActorCriticConfig(policy_gain=float('nan'))": "policy_gain: got nan; use a number",
    "ActorCriticConfig(hidden_gain=-1)": "hidden_gain: got -1; use a number of at least 0",
    "ActorCriticConfig(init='he')": "initialiser: got 'he'; did you mean 'he_normal'? use one of",
    "ActorCriticConfig(policy='beta')(BOX, FREE, KEY)": "policy: got 'beta'; use 'normal': the Box of",
    "ActorCriticConfig(policy='beta')(BOX, Discrete(2), KEY)": "policy: got 'beta'; use 'auto' or 'categorical'",
    "ActorCriticConfig(body='cnn')(BOX, BOX, KEY)": "body: got 'cnn'; use 'mlp': observations of shape (4,) are no",
}


def test_every_wrong_config_is_refused_in_one_line():
    setup = """
import jax
from kousoku.core.spaces import Box, Discrete
from kousoku.nn import ActorCriticConfig
BOX, FREE, KEY = Box(-1.0, 1.0, (4,)), Box(-float('inf'), float('inf'), (4,)), jax.random.key(0)
"""
    messages = refusals({call: call for call in REFUSED}, setup)
    for call, start in REFUSED.items():
        assert messages[call].startswith(start), messages[call]
        assert "\n" not in messages[call]


def test_importing_creates_no_backend():
    script = (
        "import json, kousoku.nn; from jax._src import xla_bridge as b; print(json.dumps(b.backends_are_initialized()))"
    )
    assert in_a_new_process(script) == 0
