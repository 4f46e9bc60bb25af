"""SAC with Discrete actions: its update, number by number, how it acts, and what it learns."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import Adam, dense, features, gradient_of, in_float64, same
from actor_q_reference import Pass as Way
from fast_compile import FAST_COMPILE
from probes import probes
from returns_reference import softmax
from small_learning import learned, values_of

from kousoku.agents.deep.sac import SAC
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import ActorQ, ActorQConfig
from kousoku.ops.schedules import Linear

KEY, N, ACTIONS = jax.random.key(0), 6, 3
SPEC = EnvSpec(Box(-np.inf, np.inf, (4,)), Discrete(ACTIONS))
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)


def small(**options: Any) -> SAC:
    sizes = {"hidden": (3,), "critic_hidden": (4,), "activation": "tanh", "policy_gain": 0.7}
    network = ActorQConfig(**(sizes | options.pop("net", {})))
    return SAC(**({"network": network, "learning_rate": 0.03, "adam_epsilon": 1e-3, "tau": 0.2} | options))


def batch_of(seed: int, n: int = N) -> ReplayBatch:
    rng = np.random.default_rng(seed)
    made = jax.vmap(Transition)(
        jnp.asarray(rng.normal(size=(n, 4)), jnp.float32),
        jnp.asarray(rng.integers(0, ACTIONS, n), jnp.int32),
        jnp.asarray(rng.normal(size=n), jnp.float32),
        jnp.asarray(np.arange(n) % 3 == 0),
        jnp.asarray(np.arange(n) % 2 == 0),
        jnp.asarray(rng.normal(size=(n, 4)), jnp.float32),
    )
    return ReplayBatch(made, jnp.int32(0), jnp.full(n, 0.9), jnp.linspace(0.2, 1.0, n))


class Reference:
    """Christodoulou's algorithm in float64."""

    def __init__(self, agent: SAC, state: Any) -> None:
        self.agent, self.joint = agent, agent.network.critic_body == "crossq"
        self.actor, self.critics = in_float64(state.network.actor), in_float64(state.network.critics)
        self.target, self.log_alpha = self.critics, np.float64(state.log_temperature)
        self.actor_adam, self.critic_adam = Adam(), Adam()

    def update(self, data: ReplayBatch) -> None:
        batch, before, n = in_float64(data.transitions), self.critics, len(data.transitions.reward)
        taken, weights = np.asarray(data.transitions.action), np.asarray(data.weights, np.float64)
        logits = lambda actor, obs: dense(actor.head, features(actor.body.mlp, obs, Way()))  # noqa: E731
        alpha, p = np.exp(self.log_alpha), softmax(logits(self.actor, batch.next_obs))
        both = np.concatenate([batch.obs, batch.next_obs]) if self.joint else batch.obs
        ways = [Way(batch=True) for _ in self.critics]
        every = lambda critic, obs, way: dense(critic.head, features(critic.body.hidden, obs, way))  # noqa: E731
        q = [every(c, both, way) for c, way in zip(self.critics, ways, strict=True)]
        after = [each[n:] for each in q] if self.joint else [every(c, batch.next_obs, Way()) for c in self.target]
        value = (p * (np.min(after, 0) - alpha * np.log(p))).sum(1)
        y = batch.reward + np.asarray(data.discount, np.float64) * (1 - batch.terminated) * value
        self.errors = np.mean([np.abs(each[:n][np.arange(n), taken] - y) for each in q], 0)

        def critic_loss(critics: Any) -> float:
            q = [every(c, both, way.again())[:n][np.arange(n), taken] for c, way in zip(critics, ways, strict=True)]
            return float(sum(np.mean(weights * 0.5 * (each - y) ** 2) for each in q))

        stepped = self.critic_adam.step(self.critics, gradient_of(critic_loss, self.critics), 0.03, 1e-3)
        self.critics = tuple(moved(c, way) for c, way in zip(stepped, ways, strict=True))
        least = np.min([every(c, batch.obs, Way()) for c in before], 0)
        pi = softmax(logits(self.actor, batch.obs))
        entropy = -(pi * np.log(pi)).sum(1).mean()

        def actor_loss(learned: Any) -> float:
            pi = softmax(logits(learned[0], batch.obs))
            policy = (pi * (alpha * np.log(pi) - least)).sum(1).mean()
            return float(policy + np.exp(learned[1]) * (entropy - 0.98 * np.log(ACTIONS)))

        both_learned = (self.actor, self.log_alpha)
        self.actor, self.log_alpha = self.actor_adam.step(
            both_learned, gradient_of(actor_loss, both_learned), 0.03, 1e-3
        )
        self.target = jax.tree.map(lambda old, new: 0.8 * old + 0.2 * new, self.target, self.critics)


def moved(critic: Any, way: Way) -> Any:
    if not way.moved:
        return critic
    of = lambda c: [x for norm in c.body.hidden.norms for x in (norm.mean, norm.variance, norm.seen)]  # noqa: E731
    return eqx.tree_at(of, critic, [x for one in way.moved for x in one])


@pytest.mark.by_default("crossq")
@pytest.mark.parametrize("body", ["plain", "crossq"])
@pytest.mark.slow_because("an update is compiled for each kind")
def test_updates_are_those_of_the_paper(body):
    agent = small(net={"critic_body": body})
    state = agent.init(SPEC, KEY)
    reference = Reference(agent, state)
    step = fast_jit(lambda state, data: agent.update_with_errors(state, data, KEY))
    for i in range(4):
        state, metrics, errors = step(state, batch_of(i))
        reference.update(batch_of(i))
        np.testing.assert_allclose(errors, reference.errors, rtol=3e-4, atol=3e-4)
        same(state.network, ActorQ(reference.actor, reference.critics))
        same(state.log_temperature, reference.log_alpha)
        if body == "plain":
            same(state.target, reference.target)
        else:
            assert state.target is None
    assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.full("covered")
def test_actions_are_any_until_learning_starts_then_the_policys():
    agent = small(learning_starts=100)
    state = agent.init(SPEC, KEY)
    obs, keys = jnp.arange(4.0), jax.random.split(KEY, 6000)

    def drawn(step: int, **options: Any) -> np.ndarray:
        later = eqx.tree_at(lambda s: s.step, state, jnp.int32(step))
        act = jax.vmap(lambda key: agent.act(later, obs, (), key, **options)[0])
        actions = np.asarray(jax.jit(act, compiler_options=FAST_COMPILE)(keys))
        assert actions.dtype == np.int32
        return np.bincount(actions, minlength=ACTIONS) / len(actions)

    np.testing.assert_allclose(drawn(0), 1 / ACTIONS, atol=0.02)
    p = softmax(np.asarray(state.network.actor(obs).logits, np.float64))
    np.testing.assert_allclose(drawn(100), p, atol=0.02)
    np.testing.assert_array_equal(drawn(100, greedy=True), np.eye(ACTIONS)[p.argmax()])


def test_distributions_of_returns_are_left_to_dqn():
    with pytest.raises(ConfigError, match=r"^distribution: got 'categorical'; use 'scalar'.*'dqn'"):
        small(net={"distribution": "categorical"}).init(SPEC, KEY)


def bare(observation_space: Any, action_space: Any, key: Any) -> ActorQ:
    """One critic too few actions."""
    good = ActorQConfig(hidden=(4,))(observation_space, action_space, key)
    return ActorQ(good.actor, ActorQConfig(hidden=(4,))(observation_space, Discrete(action_space.n - 1), key).critics)


def test_a_network_of_ones_own_has_to_value_every_action():
    with pytest.raises(ConfigError, match=r"its value has to be float32\[3\], not float32\[2\]"):
        SAC(network=bare).init(SPEC, KEY)


@pytest.mark.full("learning")
@pytest.mark.learning
@pytest.mark.slow_because("networks have to learn")
def test_probes():
    """The five probes with a time limit of 5, three seeds each: at a temperature near 0 the best values."""
    iterations = 2500
    agent = SAC(
        network=ActorQConfig(hidden=(16,), init="lecun_normal"), learn_temperature=False, temperature=1e-3, num_envs=4,
        batch_size=32, capacity=4000, learning_starts=64, update_ratio=1 / 8, tau=0.05, discount=0.9,
        learning_rate=Linear(5e-3, 0.0, 8 * iterations),
    )  # fmt: skip
    for probe in probes(0.9, 5):
        state = learned(agent, probe.env, jax.random.split(jax.random.key(0), 3), iterations)
        q = np.asarray(values_of(state.network.critics[0]))
        wanted = np.broadcast_to(probe.q.max(-1), (3, 2))
        np.testing.assert_allclose(q.max(-1), wanted, atol=0.1, err_msg=probe.name)
