"""DQN with noisy layers: the noise itself, an update number by number in float64, and how it acts."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import Adam, gradient_of, in_float64, same
from fast_compile import FAST_COMPILE
from probes import probes
from small_learning import learned, values_of

from kousoku.agents.deep.dqn import DQN
from kousoku.agents.deep.pqn import PQN
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import Dense, NoisyDense, QNetworkConfig, noisy
from kousoku.ops.schedules import Linear

KEY, N, ACTIONS = jax.random.key(0), 5, 3
SPEC = EnvSpec(Box(-np.inf, np.inf, (4,)), Discrete(ACTIONS))
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)


def dqn(**options: Any) -> DQN:
    network = QNetworkConfig(hidden=(6,), activation="tanh", layer_norm=False, noisy=True, **options.pop("net", {}))
    return DQN(**({"network": network, "epsilon": 0.0, "adam_epsilon": 1e-3, "learning_rate": 0.02} | options))


def batch() -> ReplayBatch:
    rng = np.random.default_rng(4)
    made = jax.vmap(Transition)(
        jnp.asarray(rng.normal(size=(N, 4)), jnp.float32),
        jnp.asarray(rng.integers(0, ACTIONS, N), jnp.int32),
        jnp.asarray(rng.normal(size=N), jnp.float32),
        jnp.asarray(np.arange(N) % 3 == 0),
        jnp.zeros(N, bool),
        jnp.asarray(rng.normal(size=(N, 4)), jnp.float32),
    )
    return ReplayBatch(made, jnp.int32(0))


def weights_with(layer: Any, of_input: np.ndarray, of_output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of equations 9 to 11, each number by itself."""
    weight = layer.mean.weight + layer.weight_scale * np.outer(of_input, of_output)
    return weight, layer.mean.bias + layer.bias_scale * of_output


def values(network: Any, obs: np.ndarray, factors: Any) -> np.ndarray:
    x = obs
    for k, layer in enumerate((*network.body.mlp.layers, network.head)):
        weight, bias = weights_with(layer, *factors[k])
        x = x @ weight + bias
        x = np.tanh(x) if k == 0 else x
    return x


def factors_of(network: Any, key: Any) -> list[Any]:
    """What `with_noise` draws by a key, in the order of the layers."""
    layers = (*noisy.with_noise(network, key).body.mlp.layers, noisy.with_noise(network, key).head)
    return [tuple(np.asarray(each, np.float64) for each in layer.noise) for layer in layers]


@pytest.mark.full("covered")
def test_an_update_is_that_of_the_paper():
    """Three draws: for the loss, for the targets, and for the choice of their actions."""
    agent = dqn(max_gradient_norm=None, target_period=1)
    state = agent.init(SPEC, KEY)
    state = eqx.tree_at(lambda s: s.target, state, agent.init(SPEC, jax.random.key(9)).network)
    loss_key, target_key, choice_key = jax.random.split(KEY, 3)
    of_loss, of_target, of_choice = (factors_of(state.network, k) for k in (loss_key, target_key, choice_key))
    network, older = in_float64(state.network), in_float64(state.target)
    made = in_float64(batch().transitions)
    taken = np.asarray(batch().transitions.action)
    best = values(network, made.next_obs, of_choice).argmax(1)
    after = values(older, made.next_obs, of_target)[np.arange(N), best]
    y = made.reward + 0.99 * (1 - made.terminated) * after

    def loss(network: Any) -> float:
        return float(np.mean(0.5 * (values(network, made.obs, of_loss)[np.arange(N), taken] - y) ** 2))

    wanted = Adam().step(network, gradient_of(loss, network), 0.02, 1e-3)
    moved, metrics, errors = fast_jit(agent.update_with_errors)(state, batch(), KEY)
    assert float(metrics["td_loss"]) == pytest.approx(loss(network), rel=1e-4)
    np.testing.assert_allclose(errors, y - values(network, made.obs, of_loss)[np.arange(N), taken], atol=1e-4)
    same(moved.network, wanted)
    same(moved.target, wanted)
    assert all(np.any(a != b) for a, b in zip(of_loss[0], of_target[0], strict=True))


def test_targets_and_the_choice_of_their_actions_have_noise_of_their_own(monkeypatch):
    seen = []

    class AskedError(Exception):
        """The rest of an update is left out."""

    def targets(self, state, data):
        seen.append(state)
        raise AskedError

    monkeypatch.setattr(DQN, "targets", targets)
    agent = dqn()
    state = agent.init(SPEC, KEY)
    with pytest.raises(AskedError):
        agent.update(state, batch(), KEY)
    (found,) = seen
    for one, other in zip(found.network.head.noise, found.target.head.noise, strict=True):
        assert np.all(np.asarray(one) != np.asarray(other))
    assert jnp.array_equal(found.network.head.mean.weight, found.target.head.mean.weight)


@pytest.mark.full("covered")
def test_noise_is_the_signed_root_of_normal_numbers_and_differs_between_layers():
    f = np.asarray(noisy.factor(KEY, 20_000), np.float64)
    assert f.mean() == pytest.approx(0.0, abs=0.02)
    assert (f**2).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.02)
    assert (f**4).mean() == pytest.approx(1.0, rel=0.05)
    first = NoisyDense(Dense(4, 4, key=KEY), jnp.ones((4, 4)), jnp.ones(4))
    one, other = noisy.with_noise((first, first), KEY)
    drawn = [one.noise[0], one.noise[1], other.noise[0], other.noise[1]]
    assert len({tuple(np.asarray(each)) for each in drawn}) == 4
    plain = QNetworkConfig(hidden=(4,))(SPEC.observation_space, SPEC.action_space, KEY)
    assert eqx.tree_equal(noisy.with_noise(plain, KEY), plain)


@pytest.mark.by_default("net0")
@pytest.mark.parametrize("net", [{}, {"dueling": True, "stream_hidden": (5,), "distribution": "categorical"}])
def test_every_affine_map_is_noisy_and_scales_begin_by_the_inputs(net):
    network = dqn(net=net | {"noisy_std": 0.4}).init(SPEC, KEY).network
    is_map = lambda node: isinstance(node, (NoisyDense, Dense))  # noqa: E731
    maps = [node for node in jax.tree.leaves(network, is_leaf=is_map) if is_map(node)]
    assert len(maps) == (2 if not net else 5)
    for layer in maps:
        assert isinstance(layer, NoisyDense)
        np.testing.assert_allclose(layer.weight_scale, 0.4 / np.sqrt(layer.weight_scale.shape[0]), rtol=1e-6)
        np.testing.assert_allclose(layer.bias_scale, 0.4 / np.sqrt(layer.weight_scale.shape[0]), rtol=1e-6)


def test_it_explores_by_its_noise_and_is_evaluated_without():
    agent = dqn(net={"noisy_std": 2.0})
    state, obs = agent.init(SPEC, KEY), jnp.ones(4)

    def acted(**options: Any) -> np.ndarray:
        act = jax.vmap(lambda key: agent.act(state, obs, (), key, **options)[0])
        return np.asarray(jax.jit(act, compiler_options=FAST_COMPILE)(jax.random.split(KEY, 500)))

    assert len(np.unique(acted())) > 1
    greedy = acted(greedy=True)
    np.testing.assert_array_equal(greedy, np.full(500, int(jnp.argmax(state.network(obs)))))


def test_what_cannot_explore_by_noise_refuses_it():
    with pytest.raises(ConfigError, match=r"^noisy: got True; use False, or 'dqn'"):
        PQN(network=QNetworkConfig(noisy=True))
    with pytest.raises(ConfigError, match=r"^noisy_std: got 0.0; use a number above 0"):
        QNetworkConfig(noisy_std=0.0)


@pytest.mark.full("learning")
@pytest.mark.learning
@pytest.mark.slow_because("networks have to learn")
def test_probes():
    """Rainbow's layers without its other parts: the five probes by exploring with noise alone, three seeds each."""
    iterations = 3000
    agent = DQN(
        network=QNetworkConfig(hidden=(16,), init="lecun_normal", noisy=True), epsilon=0.0, num_envs=4, num_steps=2,
        batch_size=32, capacity=4000, learning_starts=64, target_period=20, discount=0.9,
        learning_rate=Linear(5e-3, 0.0, 8 * iterations),
    )  # fmt: skip
    for probe in probes(0.9, 5):
        state = learned(agent, probe.env, jax.random.split(jax.random.key(0), 3), iterations)
        q = np.asarray(values_of(state.network))
        wanted = np.broadcast_to(probe.q.max(-1), (3, 2))
        np.testing.assert_allclose(q.max(-1), wanted, atol=0.15, err_msg=probe.name)
