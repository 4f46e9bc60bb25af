"""PQN: its targets and updates, number by number, and the values that it learns."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import gradient_of, in_float64, ravel, same
from fast_compile import FAST_COMPILE
from fresh_process import check_refusals
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from probes import probes
from rollouts import Recall
from small_learning import learned, values_of

from kousoku.agents.deep.dqn import DQN
from kousoku.agents.deep.pqn import PQN, q_and_carry
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Rollout
from kousoku.nn import QNetworkConfig
from kousoku.ops.schedules import Linear

KEY = jax.random.key(0)
SPEC = EnvSpec(Box(-np.inf, np.inf, (2,)), Discrete(2))
WEIGHT = jnp.array([[1.0, 2.0], [3.0, -1.0]])
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)


class Line(eqx.Module):
    """Q(s, .) = s W."""

    weight: jax.Array

    def __call__(self, obs):
        return obs @ self.weight


def line(observation_space, action_space, key):
    return Line(WEIGHT)


def rollout_of(steps: int, envs: int, seed: int = 0) -> Rollout:
    """Random steps; some end, by either flag or by both."""
    rng = np.random.default_rng(seed)
    normal = lambda *shape: jnp.asarray(rng.normal(size=(steps, envs, *shape)), jnp.float32)  # noqa: E731
    flags = [jnp.asarray(rng.random((steps, envs)) < 0.25) for _ in range(2)]
    actions = jnp.asarray(rng.integers(0, 2, (steps, envs)), jnp.int32)
    return Rollout(normal(2), actions, None, normal(), *flags, normal(2), ())


@pytest.mark.by_default("0.7", "1.0")
@pytest.mark.parametrize("trace_decay", [0.0, 0.7, 1.0])
def test_targets_are_those_of_a_loop_in_float64(trace_decay):
    data, discount = rollout_of(6, 5), 0.9
    targets = np.asarray(PQN(network=line, discount=discount, lambda_=trace_decay).targets(Line(WEIGHT), data))
    best = np.max(np.asarray(data.next_obs, np.float64) @ np.asarray(WEIGHT, np.float64), -1)
    for b in range(5):
        following = None
        for t in reversed(range(6)):
            bootstrap = best[t, b]
            if following is not None and not (data.truncated[t, b] or data.terminated[t, b]):
                bootstrap = (1 - trace_decay) * best[t, b] + trace_decay * following
            following = float(data.reward[t, b]) + discount * (0.0 if data.terminated[t, b] else bootstrap)
            np.testing.assert_allclose(targets[t, b], following, rtol=1e-5, atol=1e-5)


@pytest.mark.full("covered")
def test_an_update_is_the_gradient_step_of_each_minibatch():
    """One epoch of one minibatch: the mean gradient of the square; RAdam's first steps are momentum alone."""
    agent = PQN(
        num_envs=5, num_steps=6, network=line, epochs=1, minibatches=1, learning_rate=0.3, max_gradient_norm=None
    )
    state, data = agent.init(SPEC, KEY), rollout_of(6, 5)
    after, metrics = fast_jit(lambda s, d: agent.update(s, d, KEY))(state, data)
    obs = np.asarray(data.obs, np.float64).reshape(-1, 2)
    actions = np.asarray(data.action).reshape(-1)
    error = np.asarray(agent.targets(Line(WEIGHT), data)).reshape(-1) - (obs @ np.asarray(WEIGHT))[range(30), actions]
    gradient = -(obs * error[:, None]).T @ np.eye(2)[actions] / 30
    np.testing.assert_allclose(after.network.weight, np.asarray(WEIGHT) - 0.3 * gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(metrics["td_loss"], np.mean(error**2) / 2, rtol=1e-5)
    np.testing.assert_allclose(metrics["td_error"], np.mean(np.abs(error)), rtol=1e-5)
    np.testing.assert_allclose(metrics["gradient_norm"], np.linalg.norm(gradient), rtol=1e-5)
    assert int(after.step) == 30


@pytest.mark.full("covered")
def test_a_long_gradient_is_scaled_down():
    agent = PQN(
        num_envs=5, num_steps=6, network=line, epochs=1, minibatches=1, learning_rate=1.0, max_gradient_norm=1e-3
    )
    after, _ = fast_jit(lambda s, d: agent.update(s, d, KEY))(agent.init(SPEC, KEY), rollout_of(6, 5))
    np.testing.assert_allclose(np.linalg.norm(after.network.weight - WEIGHT), 1e-3, rtol=1e-3)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def remembered(network: Any, obs: np.ndarray, carry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Action values of n observations, and the GRU's carry after them."""
    (layer,), cell = network.torso.body.mlp.layers, network.torso.cell.cell
    x = np.tanh(obs @ layer.weight + layer.bias)
    ri, zi, ni = np.split(x @ cell.weight_ih.T + cell.bias, 3, axis=1)
    rh, zh, nh = np.split(carry @ cell.weight_hh.T, 3, axis=1)
    z = sigmoid(zi + zh)
    carry = (1 - z) * np.tanh(ni + sigmoid(ri + rh) * (nh + cell.bias_n)) + z * carry
    return carry @ network.head.weight + network.head.bias, carry


RECURRENT = QNetworkConfig(hidden=(3,), activation="tanh", layer_norm=False, recurrent="gru", recurrent_size=2)


@pytest.mark.slow_because("an update through time is compiled")
def test_a_recurrent_update_is_that_of_a_loop_in_float64():
    """One epoch of one minibatch, through time: what is remembered begins anew where an episode does."""
    agent = PQN(
        num_envs=4, num_steps=5, network=RECURRENT, epochs=1, minibatches=1, learning_rate=0.3, max_gradient_norm=None,
        discount=0.9, lambda_=0.7,
    )  # fmt: skip
    state, data = agent.init(SPEC, KEY), rollout_of(5, 4)
    before = np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)
    data = dataclasses.replace(data, carry=jnp.asarray(before))
    network = in_float64(state.network)
    ended = np.asarray(data.terminated | data.truncated)
    actions = np.asarray(data.action)

    def sequence(network: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values of the actions taken, and the best ones of what follows, [T, B] each."""
        carry, taken, best = before.astype(np.float64), [], []
        for t in range(5):
            if t:
                carry = np.where(ended[t - 1][:, None], 0.0, carry)
            q, carry = remembered(network, np.asarray(data.obs[t], np.float64), carry)
            taken.append(q[range(4), actions[t]])
            best.append(remembered(network, np.asarray(data.next_obs[t], np.float64), carry)[0].max(1))
        return np.array(taken), np.array(best)

    best, target = sequence(network)[1], np.zeros((5, 4))
    for b in range(4):
        following = None
        for t in reversed(range(5)):
            mix = best[t, b] if following is None or ended[t, b] else 0.3 * best[t, b] + 0.7 * following
            following = target[t, b] = float(data.reward[t, b]) + 0.9 * (0.0 if data.terminated[t, b] else mix)
    np.testing.assert_allclose(agent.targets(state.network, data), target, rtol=1e-4, atol=1e-5)
    loss = lambda network: float(np.mean(0.5 * (sequence(network)[0] - target) ** 2))  # noqa: E731
    after, metrics = fast_jit(lambda s, d: agent.update(s, d, KEY))(state, data)
    flat, unravel = ravel(network)
    same(after.network, unravel(flat - 0.3 * gradient_of(loss, network)), 1e-4)
    assert float(metrics["td_loss"]) == pytest.approx(loss(network), rel=1e-4)


@pytest.mark.learning
@pytest.mark.full("learning")
@pytest.mark.parametrize("recurrent", ["gru", "lstm"])
def test_a_cue_is_remembered(recurrent):
    """Three steps after the cue the answers are worth 1 and -1: the right one, and the other."""
    iterations = 200
    agent = PQN(
        num_envs=32, num_steps=8, network=QNetworkConfig(hidden=(16,), recurrent=recurrent, recurrent_size=16),
        learning_rate=Linear(1e-2, 0.0, iterations * 256), epsilon=0.3, minibatches=2,
    )  # fmt: skip
    networks = learned(agent, Recall(), jax.random.split(KEY, 3), iterations).network

    def asked(network: Any, cue: Any) -> Any:
        carry, q = network.initial_carry(), None
        for obs in (cue, 2, 2, 3):
            q, carry = network(jnp.int32(obs), carry)
        return q

    q = jax.vmap(lambda network: jax.vmap(lambda cue: asked(network, cue))(jnp.arange(2)))(networks)
    np.testing.assert_allclose(q, np.broadcast_to(2 * np.eye(2) - 1, (3, 2, 2)), atol=0.15)


@pytest.mark.full("covered")
@pytest.mark.parametrize("recurrent", [None, "gru"], ids=["plain", "gru"])
def test_two_devices_learn_as_one_does(recurrent):
    network = QNetworkConfig(hidden=(8,), recurrent=recurrent, recurrent_size=4)
    agent = PQN(num_envs=8, num_steps=4, network=network, epochs=2, minibatches=2)
    state, data = agent.init(SPEC, KEY), rollout_of(4, 8)
    if recurrent:
        data = dataclasses.replace(data, carry=jnp.zeros((8, 4)))
    one, said = fast_jit(lambda s, d: agent.update(s, d, KEY))(state, data)
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))

    def on_each(state, part):
        return jax.tree.map(lambda x: x[None], agent.update(state, part, KEY, axis="d"))

    spread = jax.tree.map(lambda x: P("d") if x.shape == (8, 4) else P(None, "d"), data)  # a carry is without time
    mapped = jax.shard_map(on_each, mesh=mesh, in_specs=(P(), spread), out_specs=P("d"), check_vma=False)
    both, each = jax.jit(mapped, compiler_options=FAST_COMPILE)(state, data)
    for device in range(2):
        for a, b in zip(jax.tree.leaves((both, each)), jax.tree.leaves((one, said)), strict=True):
            np.testing.assert_allclose(a[device], b, rtol=1e-4, atol=1e-6)


def test_epsilon_is_the_probability_of_any_action():
    agent = PQN(network=line, epsilon=Linear(1.0, 0.2, 100))
    state = agent.init(SPEC, KEY)

    def share(state: Any, **options: Any) -> np.ndarray:
        act = jax.vmap(lambda key: agent.act(state, jnp.array([1.0, 0.0]), (), key, **options)[0])
        return np.bincount(np.asarray(act(jax.random.split(KEY, 4000))), minlength=2) / 4000

    np.testing.assert_allclose(share(state), [0.5, 0.5], atol=0.03)
    later = eqx.tree_at(lambda s: s.step, state, jnp.int32(100))
    np.testing.assert_allclose(share(later), [0.1, 0.9], atol=0.03)
    np.testing.assert_array_equal(share(state, greedy=True), [0.0, 1.0])


@pytest.mark.full("learning")
@pytest.mark.learning
@pytest.mark.slow_because("a network has to learn")
def test_probes():
    """The five probes with a time limit of 5: also of reward 1 for ever, which is worth 10. Every action is random, so
    that lambda has to be 0 for the values of the best ones."""
    iterations, discount = 600, 0.9
    rate = Linear(5e-3, 0.0, 32 * iterations)
    network = QNetworkConfig(hidden=(16,), init="lecun_normal")
    agent = PQN(
        num_envs=4, num_steps=8, network=network, learning_rate=rate, discount=discount, lambda_=0.0, epsilon=1.0,
        epochs=2, minibatches=2,
    )  # fmt: skip
    for probe in probes(discount, 5):
        q = values_of(learned(agent, probe.env, jax.random.split(KEY, 3), iterations).network)
        np.testing.assert_allclose(q, np.broadcast_to(probe.q, (3, 2, 2)), atol=0.1, err_msg=probe.name)


def test_a_network_of_ones_own_may_remember():
    """It is that of the config, and learns the same; environments are shared by strata that fit it either way."""
    own = lambda observations, actions, key: RECURRENT(observations, actions, key)  # noqa: E731
    agents = [PQN(num_envs=8, num_steps=4, minibatches=2, network=network) for network in (RECURRENT, own)]
    one, other = (agent.init(SPEC, KEY) for agent in agents)
    same(one.network, other.network, 0.0)
    assert agents[1].initial_carry(other).shape == (2,)
    q, _ = jax.eval_shape(lambda state: q_and_carry(state.network, jnp.zeros(2), agents[1].initial_carry(state)), other)
    assert q.shape == (2,)
    for few in (1, 2, 4, 8):
        strata = [dataclasses.replace(agent, minibatches=few).learns_from.shares for agent in agents]
        assert strata[0] % strata[1] == 0
    with pytest.raises(ConfigError, match=r"^network: got 'RecurrentQNetwork'; .*use 'pqn': the buffer keeps single"):
        DQN(network=own).init(SPEC, KEY)
    with pytest.raises(ConfigError, match=r"^network: got .*it returns float32\[3\]"):
        PQN(network=lambda observations, _, key: RECURRENT(observations, Discrete(3), key)).init(SPEC, KEY)


IMPORTS = """
from kousoku.agents.deep.pqn import PQN
from kousoku.nn import QNetworkConfig
NAN = float('nan')"""
BAD = {
    "num_envs": (["0", "2.5"], "use a whole number of at least 1"),
    "num_steps": (["0"], "use a whole number of at least 1"),
    "minibatches": (["0", "7"], "use a whole number of at least 1|are not divisible; try"),
    "epochs": (["0", "1001"], "use a whole number of at least 1"),
    "learning_rate": (["-1.0", "0.0", "NAN", "'fast'"], "use a number above 0"),
    "discount": (["-0.1", "1.5"], "use a number in [0, 1]"),
    "lambda_": (["-0.1", "1.5", "NAN"], "use a number in [0, 1]"),
    "epsilon": (["-0.1", "1.5"], "use a number in [0, 1]"),
    "max_gradient_norm": (["0.0"], "use a number above 0"),
    "adam_epsilon": (["0.0"], "use a number above 0"),
    "network": (
        ["'mlp'", "None", "QNetworkConfig(distribution='quantile')"],
        "use a QNetworkConfig or a function|use 'scalar', or 'dqn'",
    ),
}


def test_bad_settings_are_refused_in_one_line():
    cases = {f"PQN({name}={value})": fix for name, (values, fix) in BAD.items() for value in values}
    check_refusals(cases, IMPORTS)


def test_spaces_that_it_cannot_learn_are_refused():
    with pytest.raises(ConfigError, match=r"^action space: got .*Discrete"):
        PQN().init(EnvSpec(SPEC.observation_space, Box(-1.0, 1.0, (2,))), KEY)
