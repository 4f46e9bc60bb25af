"""PPO by hand computes what the library computes, and learns; three ways to write a network are one network."""

import importlib.util
import pathlib
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.deep.actor_critic import Samples, flat_time
from kousoku.ops.advantages import gae

pytestmark = pytest.mark.learning

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def load(monkeypatch):
    """An example as a module; known to Python while the test runs, since its classes look it up."""

    def load(name: str):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def relaxed():
    """optax raises floats to integer powers: for a reader, and here, dtypes promote as JAX promotes them by default."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def rollout(module, settings, obs_size=3, action_size=2):
    """A network, what it did for a while, and what the library's agent would call its state."""
    keys = jax.random.split(jax.random.key(0), 8)
    params = module.first_params(keys[0], obs_size, action_size)
    params["actor"] = jax.tree.map(lambda x: x + 0.1 * jax.random.normal(keys[1], x.shape), params["actor"])
    params["log_std"] = jnp.array([0.1, -0.3])
    shape = settings.num_steps, settings.num_envs
    obs, next_obs = jax.random.normal(keys[2], (2, *shape, obs_size))
    action = jax.random.normal(keys[3], (*shape, action_size))
    reward = jax.random.normal(keys[4], shape)
    terminated = jax.random.uniform(keys[5], shape) < 0.2
    ended = terminated | (jax.random.uniform(keys[6], shape) < 0.2)
    moments = module.Moments(jnp.float32(1.0), jnp.full(obs_size, 0.1), jnp.full(obs_size, 2.0))
    state = module.TrainState(params, None, moments, None)
    return state, obs, action, module.Outcome(reward, terminated, ended, next_obs, reward)


@pytest.mark.full("more cases")
def test_advantages_by_hand_are_the_librarys(load):
    module = load("ppo_by_hand")
    settings = module.Settings(num_envs=5, num_steps=20)
    state, obs, action, outcome = rollout(module, settings)
    samples = module.samples_of(settings, state, obs, action, outcome)

    def values(obs):
        seen = (obs - 0.1) / jnp.sqrt(jnp.float32(2.0))
        return jax.vmap(jax.vmap(lambda o: module.value(state.params, o)))(seen)

    flags = outcome.terminated, outcome.ended & ~outcome.terminated
    arguments = (0.1 * outcome.reward, values(obs), values(outcome.next_obs), *flags)
    expected = jax.vmap(lambda *x: gae(*x, 0.99, 0.95), 1, 1)(*arguments)
    np.testing.assert_allclose(samples.advantage.reshape(20, 5), expected, atol=2e-5)
    np.testing.assert_allclose(samples.target - samples.advantage, values(obs).reshape(-1), atol=1e-5)


@pytest.mark.full("more cases")
def test_the_loss_by_hand_is_the_librarys(load):
    module, networks = load("ppo_by_hand"), load("networks_three_ways")
    settings = module.Settings(num_envs=5, num_steps=20, entropy_coefficient=0.1)
    state, obs, action, outcome = rollout(module, settings)
    old = module.samples_of(settings, state, obs, action, outcome)
    params = jax.tree.map(lambda x: x + 0.2 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), state.params)
    new = jax.vmap(lambda obs, action: module.log_prob(params, obs, action))(old.obs, old.action)
    ratio, good = jnp.exp(new - old.log_prob), old.advantage > old.advantage.mean()
    assert min(jnp.sum(good & (ratio > 1.2)), jnp.sum(~good & (ratio < 0.8))) > 3, "both sides of the clip are tried"
    names = [(name, i) for name in ("actor", "critic") for i in range(3)]
    weights = {f"{name}_{kind}{i}": params[name][i][k] for name, i in names for k, kind in enumerate("wb")}
    network = networks.Raw({**weights, "log_std": params["log_std"]})

    agent = ks.make_agent("ppo", num_envs=5, num_steps=20, minibatches=1, entropy_coefficient=0.1)
    spec = ks.EnvSpec(ks.Box(-1.0, 1.0, (3,)), ks.Box(-1.0, 1.0, (2,)))
    timed = jax.tree.map(lambda x: x.reshape(20, 5, *x.shape[1:]), old)
    fresh, value = jnp.zeros((20, 5), bool), timed.target - timed.advantage
    samples = Samples(timed.obs, timed.action, timed.log_prob, fresh, value, timed.advantage, timed.target)
    flat = flat_time(samples)
    flat = eqx.tree_at(lambda s: s.advantage, flat, agent.normalised_advantages(flat.advantage))
    expected, metrics = agent.loss(network, flat, (), agent.init(spec, jax.random.key(0)))
    assert 0.05 < metrics["clipfrac"] < 0.95
    assert float(module.loss(params, old, settings)) == pytest.approx(float(expected), rel=1e-5)


def test_moments_of_batches_are_those_of_all(load):
    module = load("ppo_by_hand")
    seen = 5.0 + 3.0 * jax.random.normal(jax.random.key(0), (100, 4))
    moments = module.Moments(jnp.float32(0.0), jnp.zeros(4), jnp.ones(4))
    for batch in (seen[:10], seen[10:70], seen[70:]):
        moments = module.observed(moments, batch)
    np.testing.assert_allclose(moments.mean, seen.mean(0), rtol=1e-5)
    np.testing.assert_allclose(moments.variance, seen.var(0), rtol=1e-5)


@pytest.mark.full("covered")
def test_a_lane_begins_anew_where_its_time_is_up(load):
    module = load("ppo_by_hand")
    env = ks.make("InvertedPendulum-v5", time_limit=2)
    slot = module.begin(env, jax.random.key(0))
    slot, first = module.advance(env, slot, jnp.zeros(1), jax.random.key(1))
    assert (int(slot.length), bool(first.ended)) == (1, False)
    np.testing.assert_array_equal(slot.obs, first.next_obs)
    slot, second = module.advance(env, slot, jnp.zeros(1), jax.random.key(2))
    assert (int(slot.length), bool(second.ended), bool(second.terminated)) == (0, True, False)
    assert float(second.total) == 2.0
    assert float(slot.total) == 0.0
    assert np.abs(slot.obs - second.next_obs).max() > 0, "the true successor, not the next episode's start"


@pytest.mark.full("learning")
def test_ppo_by_hand_learns(load, relaxed, capsys):
    module = load("ppo_by_hand")
    settings = {"num_envs": 64, "num_steps": 32, "minibatches": 8, "learning_rate": 1e-3}
    curve = module.main(steps=40_000, env_id="InvertedPendulum-v5", **settings)
    assert np.nanmax(curve) > 5 * curve[0]
    assert capsys.readouterr().out.count("steps/s") == len(curve)


@pytest.mark.full("larger")
def test_ppo_by_hand_moves_the_ant(load, relaxed):
    curve = load("ppo_by_hand").main(steps=2 * 64 * 16, num_envs=64, minibatches=4)
    assert len(curve) == 2


@pytest.mark.full("whole way")
def test_one_line_trains_the_same(load):
    run = load("ppo_by_hand").one_line(64, num_envs=4, env_id="InvertedPendulum-v5", out="", eval_episodes=0)
    assert run.record.facts["steps"] == 64


WAYS = ("raw", "equinox", "haiku")


def builder(module, way):
    return module.ways()[way]


@pytest.mark.by_default("haiku")
@pytest.mark.parametrize("way", WAYS)
def test_the_same_weights_give_the_same_numbers(load, way):
    module = load("networks_three_ways")
    spaces = ks.Box(-1.0, 1.0, (5,)), ks.Box(-1.0, 1.0, (2,))
    fresh = builder(module, way)(*spaces, jax.random.key(1))
    weights = module.first_weights(*spaces, jax.random.key(0))
    keys = jax.random.split(jax.random.key(2), len(weights))
    weights = {n: w + 0.1 * jax.random.normal(k, w.shape) for k, (n, w) in zip(keys, weights.items(), strict=True)}
    network = {"raw": module.Raw, "equinox": module.as_equinox, "haiku": module.as_haiku}[way](weights)
    assert jax.tree.structure(network) == jax.tree.structure(fresh)
    assert [x.shape for x in jax.tree.leaves(network)] == [x.shape for x in jax.tree.leaves(fresh)]
    obs = jnp.linspace(-1.0, 1.0, 5)
    hidden = {}
    for name in ("actor", "critic"):
        x = np.asarray(obs, np.float64)
        for i in range(3):
            x = (np.tanh(x) if i else x) @ np.float64(weights[f"{name}_w{i}"]) + np.float64(weights[f"{name}_b{i}"])
        hidden[name] = x
    policy, value, carry = network(obs, network.initial_carry())
    np.testing.assert_allclose(policy.loc, hidden["actor"], atol=1e-5)
    np.testing.assert_allclose(policy.scale, np.exp(weights["log_std"]), rtol=1e-6)
    np.testing.assert_allclose(value, hidden["critic"][0], atol=1e-5)
    np.testing.assert_array_equal(value, network.value(obs, carry))


@pytest.mark.by_default("equinox", "haiku")
@pytest.mark.parametrize("way", WAYS)
def test_a_fresh_network_is_orthogonal_and_prefers_nothing(load, way):
    module = load("networks_three_ways")
    network = builder(module, way)(ks.Box(-1.0, 1.0, (5,)), ks.Box(-1.0, 1.0, (2,)), jax.random.key(1))
    policy, _, _ = network(jnp.ones(5), ())
    assert np.abs(policy.loc).max() < 0.1
    assert (np.asarray(policy.scale) == 1.0).all()
    gains = sorted({round(float(jnp.linalg.norm(x, 2)), 4) for x in jax.tree.leaves(network) if x.ndim == 2})
    assert gains == [0.01, 1.0, 1.4142]


@pytest.mark.full("whole way")
@pytest.mark.parametrize("way", ["haiku", *(way for way in WAYS if way != "haiku")])
def test_an_agent_trains_each(load, way):
    module = load("networks_three_ways")
    agent = ks.make_agent("ppo", network=builder(module, way), num_envs=4, num_steps=8, minibatches=2, epochs=1)
    run = ks.train(agent, "InvertedPendulum-v5", steps=64, out="", eval_episodes=0)
    assert run.record.facts["steps"] == 64
    assert np.isfinite(run.curves["value_loss"]).all()
