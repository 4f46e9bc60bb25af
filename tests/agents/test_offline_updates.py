"""BC, IQL, TD3+BC and DAgger: what they learn from a minibatch, beside the papers' formulas in NumPy and float64."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import (
    Adam,
    actor_features,
    critic_value,
    dense,
    deterministic,
    features,
    gradient_of,
    in_float64,
    same,
)
from fast_compile import FAST_COMPILE

import kousoku as ks
from kousoku.agents.deep import td3_bc
from kousoku.agents.deep.bc import BC
from kousoku.agents.deep.dagger import DAgger
from kousoku.agents.deep.iql import IQL
from kousoku.agents.deep.td3_bc import TD3BC
from kousoku.core.env import EnvSpec
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import ActorQConfig

KEY = jax.random.key(0)
N, RATE = 5, 0.03
LOW, HIGH = (-1.0, 0.0), (3.0, 0.5)
BOX = EnvSpec(ks.Box(-np.inf, np.inf, (3,)), ks.Box(LOW, HIGH, (2,)))
COUNTED = EnvSpec(ks.Box(-np.inf, np.inf, (3,)), ks.Discrete(4))
NOISE = np.random.default_rng(3).normal(size=(N, 2)).astype(np.float32)
SMALL: dict[str, Any] = {"hidden": (3,), "critic_hidden": (4,), "activation": "tanh", "policy_gain": 0.7}
SMALL |= {"init_std": 0.6}


def small(kind: Any, policy: str, **options: Any) -> Any:
    return kind(network=ActorQConfig(policy=policy, **SMALL), learning_rate=RATE, **options)


def batch_of(spec: EnvSpec, seed: int) -> ReplayBatch:
    rng = np.random.default_rng(seed)
    counted = isinstance(spec.action_space, ks.Discrete)
    action = rng.integers(0, 4, N).astype(np.int32) if counted else rng.uniform(LOW, HIGH, (N, 2)).astype(np.float32)
    return ReplayBatch(
        jax.vmap(Transition)(
            jnp.asarray(rng.normal(size=(N, 3)), jnp.float32),
            jnp.asarray(action),
            jnp.asarray(rng.normal(size=N), jnp.float32),
            jnp.asarray(np.arange(N) % 3 == 0),
            jnp.asarray(np.arange(N) % 2 == 0),
            jnp.asarray(rng.normal(size=(N, 3)), jnp.float32),
        ),
        jnp.int32(seed),
    )


class Reference:
    """The papers' losses, all gradients at the parameters before a step, each part with an Adam of its own."""

    def __init__(self, agent: Any, state: Any) -> None:
        self.agent = agent
        self.parts = {name: in_float64(getattr(state, name)) for name in ("actor", "critics", "value")}
        self.target = in_float64(state.target)
        self.adams = {name: Adam() for name in self.parts}
        self.updates = 0

    def log_prob(self, actor: Any, obs: np.ndarray, action: np.ndarray) -> np.ndarray:
        x = actor_features(actor, obs, None)
        if action.ndim == 1:
            logits = dense(actor.head, x)
            logits = logits - logits.max(1, keepdims=True)
            return logits[np.arange(N), action] - np.log(np.exp(logits).sum(1))
        mean, scale = np.tanh(dense(actor.gaussian.linear, x)), np.exp(np.clip(actor.gaussian.log_std, -5, 2))
        z = (action - mean) / scale
        return np.sum(-0.5 * z**2 - np.log(scale) - 0.5 * np.log(2 * np.pi), 1)

    def state_value(self, value: Any, obs: np.ndarray) -> np.ndarray:
        return dense(value.head, features(value.body.hidden, obs, _pass()))[:, 0]

    def action_value(self, critic: Any, obs: np.ndarray, action: np.ndarray) -> np.ndarray:
        if action.ndim == 1:
            return dense(critic.head, features(critic.body.hidden, obs, _pass()))[np.arange(N), action]
        return critic_value(critic, obs, action)

    def learn(self, losses: dict[str, Any]) -> None:
        gradients = {name: gradient_of(loss, self.parts[name]) for name, loss in losses.items()}
        for name, gradient in gradients.items():
            self.parts[name] = self.adams[name].step(self.parts[name], gradient, RATE, 1e-8)

    def iql(self, b: Any, action: np.ndarray) -> None:
        agent = self.agent
        worth = np.min([self.action_value(c, b.obs, action) for c in self.target], 0)
        advantage = worth - self.state_value(self.parts["value"], b.obs)
        weight = np.minimum(np.exp(agent.advantage_scale * advantage), agent.weight_limit)
        goes_on = agent.discount * (1.0 - b.terminated)
        y = agent.reward_scale * b.reward + goes_on * self.state_value(self.parts["value"], b.next_obs)

        def of_value(value: Any) -> float:
            u = worth - self.state_value(value, b.obs)
            return float(np.mean(np.abs(agent.expectile - (u < 0)) * u**2))

        def of_critics(critics: Any) -> float:
            return float(sum(np.mean((self.action_value(c, b.obs, action) - y) ** 2 / 2) for c in critics))

        def of_actor(actor: Any) -> float:
            return float(-np.mean(weight * self.log_prob(actor, b.obs, action)))

        self.learn({"value": of_value, "critics": of_critics, "actor": of_actor})
        mix = lambda old, new: (1 - agent.tau) * old + agent.tau * new  # noqa: E731
        self.target = jax.tree.map(mix, self.target, self.parts["critics"])

    def td3_bc(self, b: Any, action: np.ndarray) -> None:
        agent, most = self.agent, self.agent.target_noise_clip
        noise = np.clip(agent.target_noise * NOISE, -most, most)
        follow = np.clip(deterministic(self.target.actor, b.next_obs) + noise, -1, 1)
        least = np.min([critic_value(c, b.next_obs, follow) for c in self.target.critics], 0)
        y = b.reward + agent.discount * (1.0 - b.terminated) * least
        first = self.parts["critics"][0]
        size = np.mean(np.abs(critic_value(first, b.obs, deterministic(self.parts["actor"], b.obs))))

        def of_critics(critics: Any) -> float:
            return float(sum(np.mean((critic_value(c, b.obs, action) - y) ** 2 / 2) for c in critics))

        def of_actor(actor: Any) -> float:
            does = deterministic(actor, b.obs)
            return float(np.mean((does - action) ** 2) - agent.alpha / size * np.mean(critic_value(first, b.obs, does)))

        due = self.updates % agent.policy_delay == 0
        self.learn({"critics": of_critics, "actor": of_actor} if due else {"critics": of_critics})
        if due:
            mix = lambda old, new: (1 - agent.tau) * old + agent.tau * new  # noqa: E731
            now = type(self.target)(self.parts["actor"], self.parts["critics"])
            self.target = jax.tree.map(mix, self.target, now)
        self.updates += 1

    def bc(self, b: Any, action: np.ndarray) -> None:
        def of_actor(actor: Any) -> float:
            if hasattr(actor, "head") and action.ndim == 2:
                return float(np.mean((deterministic(actor, b.obs) - action) ** 2))
            return float(-np.mean(self.log_prob(actor, b.obs, action)))

        self.learn({"actor": of_actor})


def _pass() -> Any:
    from actor_q_reference import Pass

    return Pass()


CASES = {
    "iql": (small(IQL, "normal", tau=0.2, expectile=0.8, advantage_scale=2.0, weight_limit=1.5, reward_scale=0.7), BOX),
    "iql, discrete": (small(IQL, "normal", tau=0.2), COUNTED),
    "td3_bc": (small(TD3BC, "deterministic", tau=0.2, normalise_observations=False), BOX),
    "bc": (small(BC, "normal"), BOX),
    "bc, deterministic": (small(BC, "deterministic"), BOX),
    "bc, discrete": (small(BC, "normal"), COUNTED),
}


@pytest.mark.by_default("iql, discrete", "td3_bc")
@pytest.mark.slow_because("an update is compiled for each kind")
@pytest.mark.parametrize("name", CASES)
def test_updates_are_those_of_the_papers(name, monkeypatch):
    """Four updates in a row, beside the reference's."""
    monkeypatch.setattr(td3_bc, "noise_like", lambda key, action: jnp.asarray(NOISE))
    agent, spec = CASES[name]
    state = agent.init(spec, KEY)
    reference = Reference(agent, state)
    step = eqx.filter_jit(lambda state, data: agent.update(state, data, KEY), compiler_options=FAST_COMPILE)
    for i in range(4):
        data = batch_of(spec, i)
        state, metrics = step(state, data)
        batch = in_float64(data.transitions)
        counted = isinstance(spec.action_space, ks.Discrete)
        unit = lambda action: 2 * (action - LOW) / np.subtract(HIGH, LOW) - 1  # noqa: E731
        action = np.asarray(data.transitions.action) if counted else unit(batch.action)
        getattr(reference, name.partition(",")[0])(batch, action)
        for part, found in reference.parts.items():
            same(getattr(state, part), found)
        same(state.target, reference.target)
        assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.full("covered")
def test_td3_bc_without_values_is_behaviour_cloning():
    clone, other = small(BC, "deterministic"), small(TD3BC, "deterministic", alpha=0.0, policy_delay=1)
    other = dataclasses.replace(other, normalise_observations=False)
    states = [agent.init(BOX, KEY) for agent in (clone, other)]
    for i in range(3):
        data = batch_of(BOX, i)
        states = [
            eqx.filter_jit(partial(agent.update, key=KEY), compiler_options=FAST_COMPILE)(state, data)[0]
            for agent, state in zip((clone, other), states, strict=True)
        ]
    for a, b in zip(jax.tree.leaves(states[0].actor), jax.tree.leaves(states[1].actor), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.full("covered")
def test_td3_bc_learns_of_an_actor_in_every_second_step_alone():
    """The others compute no gradient of the actor's, and tell the last one's metrics."""
    agent = dataclasses.replace(small(TD3BC, "deterministic"), normalise_observations=False)
    update = lambda state, data: agent.update(state, data, KEY)  # noqa: E731
    state, told = agent.init(BOX, KEY), []
    branches = [e for e in jax.make_jaxpr(update)(state, batch_of(BOX, 0)).eqns if e.primitive.name == "cond"]
    assert ["dot_general" in str(branch) for branch in branches[0].params["branches"]] == [False, True]
    step = eqx.filter_jit(update, compiler_options=FAST_COMPILE)
    for i in range(3):
        before, (state, metrics) = state, step(state, batch_of(BOX, i))
        told.append([float(metrics[name]) for name in ("actor_loss", "policy_loss")])
        moved = [(a != b).any() for a, b in zip(*map(jax.tree.leaves, (before.actor, state.actor)), strict=True)]
        assert any(moved) == (i != 1)
    assert told[1] == told[0] != told[2]


def data_of(n: int) -> ks.Dataset:
    """Numbers at random: a vector, which is scaled, beside a count, which is not."""
    rng = np.random.default_rng(4)
    space = ks.Dict({"vector": ks.Box(-np.inf, np.inf, (3,)), "count": ks.Discrete(5)})
    obs = {"vector": rng.normal([0.0, 1e3, -5.0], [1.0, 0.01, 0.1], (n + 1, 3)), "count": rng.integers(0, 5, n + 1)}
    before, after = ({name: part[rows] for name, part in obs.items()} for rows in (slice(n), slice(1, n + 1)))
    ends = np.zeros(n, bool)
    return ks.Dataset(before, rng.integers(0, 4, n), np.zeros(n), ends, ends, after, space, ks.Discrete(4))


def test_observations_are_scaled_by_the_moments_of_the_data():
    """In float64: a mean in float32 is too coarse for a component that moves by 0.01 about 1,000."""
    data = data_of(101)
    agent = small(BC, "normal", dataset=data, normalise_observations=True, observation_limit=1.25)
    spec = EnvSpec(data.observation_space, data.action_space)
    state = agent.init(spec, KEY)
    vector = data.obs["vector"]
    scaled = np.clip((vector - vector.mean(0, dtype=np.float64)) / vector.std(0, dtype=np.float64), -1.25, 1.25)
    columns = data.obs, data.action, data.reward, data.terminated, data.truncated, data.obs
    batch = agent.batch(state, ReplayBatch(Transition(*jax.tree.map(jnp.asarray, columns)), jnp.int32(0)))
    for obs in (batch.obs, batch.next_obs):
        np.testing.assert_allclose(obs["vector"], scaled, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(obs["count"], data.obs["count"])
    without = dataclasses.replace(agent, dataset=None).init(spec, jax.random.key(1))
    assert float(without.observations["vector"].mean[0]) == 0.0
    adopted = agent.adopt(without, state)
    assert eqx.tree_equal(adopted.observations, state.observations)
    assert eqx.tree_equal(adopted.actor, state.actor)
    assert eqx.tree_equal(adopted.optimisers, without.optimisers)


def test_dagger_learns_the_experts_action_and_acts_as_either():
    spec = EnvSpec(ks.Discrete(3), ks.Discrete(2))
    agent = DAgger(network=ActorQConfig(**SMALL), expert=(1, 0, 1), expert_share=1.0, learning_rate=0.1)
    state = agent.init(spec, KEY)
    for obs in range(3):
        action, _, label = agent.act(state, jnp.int32(obs), (), KEY)
        assert (int(action), int(label)) == (agent.expert[obs],) * 2
    alone = dataclasses.replace(agent, expert_share=0.0)
    drawn = jax.vmap(lambda key: alone.act(state, jnp.int32(0), (), key)[0])(jax.random.split(KEY, 200))
    assert set(drawn.tolist()) == {0, 1}
    ends, labels = jnp.zeros(3, bool), jnp.array([1, 0, 1])
    rows = jnp.arange(3), 1 - labels, jnp.zeros(3), ends, ends, jnp.arange(3), None, labels
    made = jax.vmap(Transition)(*rows)
    step = eqx.filter_jit(lambda state: agent.update(state, ReplayBatch(made, jnp.int32(7)), KEY))
    for _ in range(60):
        state, metrics = step(state)
    assert float(metrics["accuracy"]) == 1.0
    assert [int(agent.act(state, jnp.int32(s), (), KEY, greedy=True)[0]) for s in range(3)] == [1, 0, 1]
