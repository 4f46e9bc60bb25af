"""DQN with distributions of returns, and with Munchausen's targets: an update, number by number, in float64."""

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import returns_reference as returns
from fast_compile import FAST_COMPILE
from returns_reference import softmax

from kousoku.agents.deep.dqn import DQN
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import QNetworkConfig

SPEC, KEY, N = EnvSpec(Box(-np.inf, np.inf, (3,)), Discrete(4)), jax.random.key(0), 32
CATEGORICAL = {"distribution": "categorical", "num_atoms": 11, "v_min": -2.0, "v_max": 3.0}
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)
HL_GAUSS = CATEGORICAL | {"distribution": "hl_gauss", "smoothing": 0.6}
QUANTILE = {"distribution": "quantile", "num_atoms": 7}
ATOMS = np.linspace(-2.0, 3.0, 11)


def dqn(of_network: dict[str, Any], **options: Any) -> DQN:
    return DQN(network=QNetworkConfig(hidden=(8,), **of_network), **options)


def state_of(agent: DQN) -> Any:
    """One whose target network is another."""
    state = agent.init(SPEC, KEY)
    return eqx.tree_at(lambda s: s.target, state, agent.init(SPEC, jax.random.key(9)).network)


def batch() -> ReplayBatch:
    keys = jax.random.split(KEY, 6)
    transitions = jax.vmap(Transition)(
        jax.random.normal(keys[0], (N, 3)),
        jax.random.randint(keys[1], (N,), 0, 4),
        jax.random.normal(keys[2], (N,)),
        jax.random.bernoulli(keys[3], 0.3, (N,)),
        jnp.zeros(N, bool),
        jax.random.normal(keys[4], (N, 3)),
    )
    discount = 0.9 ** jax.random.randint(keys[5], (N,), 1, 4).astype(jnp.float32)
    return ReplayBatch(transitions, jnp.int32(100), discount, jnp.linspace(0.1, 1.0, N))


def outputs_of(network: Any, obs: Any) -> np.ndarray:
    return np.asarray(jax.vmap(network.outputs)(obs), np.float64)


def follows(state: Any, data: ReplayBatch, double: bool, mean: Any) -> tuple[np.ndarray, np.ndarray]:
    """(the target network's outputs of the action that is chosen in s', gamma^m (1 - terminated))."""
    after = outputs_of(state.target, data.transitions.next_obs)
    chooser = outputs_of(state.network, data.transitions.next_obs) if double else after
    best = mean(chooser).argmax(axis=1)
    goes_on = np.where(data.transitions.terminated, 0.0, np.asarray(data.discount, np.float64))
    return after[np.arange(N), best], goes_on[:, None]


@pytest.mark.by_default("hl_gauss-True")
@pytest.mark.parametrize(("of_network", "double"), [("c51", True), ("c51", False), ("hl_gauss", True)])
def test_c51_and_hl_gauss_in_float64(of_network, double):
    agent = dqn(CATEGORICAL if of_network == "c51" else HL_GAUSS, double=double)
    state, data = state_of(agent), batch()
    atoms = state.network.atoms
    after, goes_on = follows(state, data, double, lambda x: returns.mean(atoms, x))
    reward = np.asarray(data.transitions.reward, np.float64)
    target = returns.target(atoms, after, reward, goes_on[:, 0])
    np.testing.assert_allclose(agent.targets(state, data), target, atol=1e-5)
    taken = outputs_of(state.network, data.transitions.obs)[np.arange(N), data.transitions.action]
    each, q = returns.loss(atoms, taken, target), returns.mean(atoms, taken)
    _, metrics, errors = fast_jit(agent.update_with_errors)(state, data, KEY)
    np.testing.assert_allclose(errors, each, rtol=1e-3, atol=1e-5)
    assert float(metrics["td_loss"]) == pytest.approx((np.asarray(data.weights) * each).mean(), rel=1e-4)
    assert float(metrics["q_values"]) == pytest.approx(q.mean(), rel=1e-4)
    assert float(metrics["td_error"]) == pytest.approx(np.abs(target @ returns.places(atoms) - q).mean(), rel=1e-4)


@pytest.mark.by_default("0.3")
@pytest.mark.parametrize("delta", [None, 0.3])
def test_qr_in_float64(delta):
    agent = dqn(QUANTILE, huber_delta=delta)
    state, data = state_of(agent), batch()
    after, goes_on = follows(state, data, True, lambda x: x.mean(axis=-1))
    target = np.asarray(data.transitions.reward, np.float64)[:, None] + goes_on * after
    np.testing.assert_allclose(agent.targets(state, data), target, rtol=1e-4, atol=1e-5)
    taken = outputs_of(state.network, data.transitions.obs)[np.arange(N), data.transitions.action]
    each = returns.loss(state.network.atoms, taken, target, 1.0 if delta is None else delta)
    _, metrics, errors = fast_jit(agent.update_with_errors)(state, data, KEY)
    np.testing.assert_allclose(errors, each, rtol=1e-4, atol=1e-6)
    assert float(metrics["td_loss"]) == pytest.approx((np.asarray(data.weights) * each).mean(), rel=1e-4)
    assert float(metrics["q_values"]) == pytest.approx(taken.mean(), rel=1e-4)
    assert float(metrics["td_error"]) == pytest.approx(np.abs(target.mean(1) - taken.mean(1)).mean(), rel=1e-4)


def test_munchausen_in_float64():
    agent = dqn({}, munchausen=True, munchausen_temperature=0.4, munchausen_floor=-0.7)
    state, data = state_of(agent), batch()
    made = data.transitions
    q, after = (np.asarray(jax.vmap(state.target)(x), np.float64) for x in (made.obs, made.next_obs))
    own = np.clip(0.4 * np.log(softmax(q / 0.4)), -0.7, 0.0)[np.arange(N), made.action]
    soft = 0.4 * np.log(np.exp(after / 0.4).sum(axis=1))
    goes_on = np.where(made.terminated, 0.0, data.discount)
    np.testing.assert_allclose(
        agent.targets(state, data), made.reward + 0.9 * own + goes_on * soft, rtol=1e-4, atol=1e-5
    )
    other = dataclasses.replace(agent, double=False)
    np.testing.assert_array_equal(agent.targets(state, data), other.targets(state, data))


@pytest.mark.by_default("False-quantile")
@pytest.mark.parametrize("of_network", [CATEGORICAL, QUANTILE], ids=["categorical", "quantile"])
@pytest.mark.parametrize("dueling", [True, False])
def test_a_value_is_the_mean_of_its_atoms(of_network, dueling):
    network = QNetworkConfig(hidden=(8,), dueling=dueling, stream_hidden=(6,) if dueling else (), **of_network)(
        SPEC.observation_space, SPEC.action_space, KEY
    )
    obs = jnp.array([0.3, -1.0, 2.0])
    outputs = np.asarray(network.outputs(obs))
    assert outputs.shape == (4, of_network["num_atoms"])
    wanted = softmax(outputs) @ ATOMS if of_network is CATEGORICAL else outputs.mean(axis=1)
    np.testing.assert_allclose(network(obs), wanted, rtol=1e-5, atol=1e-6)
    if dueling:
        value = np.asarray(network.head.value(network.head.value_stream(network.body(obs))))
        np.testing.assert_allclose(outputs.mean(axis=0), value, rtol=1e-4, atol=1e-5)
        assert outputs.std(axis=0).max() > 0.01


@pytest.mark.full("covered")
@pytest.mark.parametrize("of_network", [CATEGORICAL, QUANTILE], ids=["categorical", "quantile"])
def test_it_learns_the_distribution_of_a_reward(of_network):
    """Rewards of -1 and 2, three to one: half of the quantiles below 3/4 are -1; the probabilities are those."""
    agent = dqn(of_network, learning_rate=0.01, huber_delta=0.05, double=False)
    state = agent.init(SPEC, KEY)
    reward = jnp.where(jnp.arange(64) % 4 == 0, 2.0, -1.0)
    same, ended, action = jnp.ones((64, 3)), jnp.ones(64, bool), jnp.full(64, 1, jnp.int32)
    data = ReplayBatch(jax.vmap(Transition)(same, action, reward, ended, ~ended, same), jnp.int32(0))
    many = jax.jit(
        lambda state: jax.lax.fori_loop(0, 400, lambda _, s: agent.update(s, data, KEY)[0], state),
        compiler_options=FAST_COMPILE,
    )
    network = many(state).network
    outputs = np.asarray(network.outputs(same[0])[1])
    if of_network is CATEGORICAL:
        wanted = np.zeros(11)
        wanted[[2, 8]] = 0.75, 0.25
        np.testing.assert_allclose(softmax(outputs), wanted, atol=0.02)
        assert float(network(same[0])[1]) == pytest.approx(-0.25, abs=0.05)
    else:
        np.testing.assert_allclose(outputs, np.where((np.arange(7) + 0.5) / 7 < 0.75, -1.0, 2.0), atol=0.1)


def c51_of_ones_own(observation_space, action_space, key):
    return QNetworkConfig(hidden=(4,), **CATEGORICAL)(observation_space, action_space, key)


def test_a_distribution_of_ones_own_network_is_learned_and_is_nothing_for_munchausen():
    agent = DQN(network=c51_of_ones_own)
    _, metrics, errors = fast_jit(agent.update_with_errors)(agent.init(SPEC, KEY), batch(), KEY)
    assert errors.shape == (N,)
    assert (np.asarray(errors) > -1e-6).all()
    assert all(np.isfinite(value) for value in metrics.values())
    with pytest.raises(ConfigError, match="munchausen: got True; its targets are of values"):
        DQN(network=c51_of_ones_own, munchausen=True).init(SPEC, KEY)
