"""PPO and A2C: what they learn from a rollout, number by number, and the traps of the literature that they avoid."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from fresh_process import refusals
from laplace import LaplaceHead
from rollouts import (
    Scene,
    Walk,
    begin,
    begun,
    collect,
    collected,
    fast_jit,
    learned,
    leaves_equal,
    of_member,
    tiny_ppo,
)

from kousoku.agents.deep.a2c import A2C
from kousoku.agents.deep.actor_critic import evaluate_actions, flat_time, is_recurrent
from kousoku.agents.deep.gradients import clip_by_global_norm
from kousoku.agents.deep.minibatches import divide, minibatch_indices, take_minibatch
from kousoku.agents.deep.ppo import PPO
from kousoku.agents.options import make_agent
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.nn import ActorCriticConfig
from kousoku.nn.observation_stats import init_obs_stats, normalise_obs, update_obs_stats
from kousoku.ops.schedules import Linear

KEY = jax.random.key(0)
BOX = Box(-0.5, 0.5, (2,))
POLICIES = {
    "normal": (BOX, {}),
    "wide normal of two axes": (Box(-0.5, 0.5, (1, 2)), {"init_std": 5.0}),
    "tanh_normal": (BOX, {"policy": "tanh_normal"}),
    "wide tanh_normal": (BOX, {"policy": "tanh_normal", "init_std": 4.0}),
    "beta": (BOX, {"policy": "beta"}),
    "categorical": (Discrete(3), {}),
    "multi_categorical": (MultiDiscrete((2, 3)), {}),
    "gru": (BOX, {"recurrent": "gru", "recurrent_size": 6}),
    "shared gru": (Discrete(3), {"recurrent": "gru", "recurrent_size": 6, "shared": True}),
    "lstm": (Discrete(3), {"recurrent": "lstm", "recurrent_size": 6}),
    "laplace": (BOX, {"policy": LaplaceHead}),
    "shared lstm": (BOX, {"recurrent": "lstm", "recurrent_size": 6, "shared": True}),
}


@fast_jit
def samples_of(agent, state, rollout):
    return agent.samples(state, rollout, None)


def moved_on(state, rollout):
    """The state with the statistics after a rollout, and weights that are others."""
    network = jax.tree.map(
        lambda x: x + 0.05 * jnp.cos(jnp.arange(x.size, dtype=jnp.float32)).reshape(x.shape), state.network
    )
    flat = flat_time(rollout.obs)
    observations = update_obs_stats(state.observations, flat, None)
    return eqx.tree_at(lambda s: (s.network, s.observations), state, (network, observations))


evaluate, moved = fast_jit(evaluate_actions), fast_jit(moved_on)


def updated(agent, train_state, rollout, key=KEY):
    """Network, and metrics, after one update; compiled fast."""
    update = fast_jit(lambda a, s, r, k: a.update(s, r, k))
    state, metrics = update(agent, train_state.agent, rollout, key)
    return state, {name: float(value) for name, value in metrics.items()}


@pytest.fixture(scope="module")
def walked_from():
    """A state that has seen something, the state after a rollout, and the rollout, with ends of both kinds in it."""
    agent, env = tiny_ppo(num_envs=8), Walk()
    before, rollout, _ = collected(agent, env, begun(agent, env, KEY), KEY, 0)
    before = eqx.tree_at(lambda x: x.agent, before, moved_on(before.agent, rollout))
    after, rollout, _ = collected(agent, env, before, KEY, 1)
    assert np.asarray(rollout.terminated)[:-1].any()
    assert np.asarray(rollout.truncated)[:-1].any()
    return agent, before, after, rollout


@pytest.fixture(scope="module")
def walked(walked_from):
    agent, _, train_state, rollout = walked_from
    return agent, train_state, rollout


@pytest.mark.by_default("laplace")
@pytest.mark.parametrize("name", POLICIES)
def test_the_first_ratio_is_one(name):
    """While acting and while learning the same probability, also after the statistics and the weights moved on."""
    space, options = POLICIES[name]
    ratio, action, ended = three_rounds(tiny_ppo(num_envs=8, **options), Walk(space), KEY)
    assert ended[:, :-1].any()
    assert np.abs(np.asarray(ratio) - 1).max() <= 1e-6
    outside = isinstance(space, Box) and np.abs(action).max() > 0.5
    assert outside == (options.get("policy") in (None, LaplaceHead) and isinstance(space, Box)), (
        "stored as it was drawn"
    )


@fast_jit
def three_rounds(agent, env, key):
    """The ratios of a minibatch as PPO takes it, the actions and the ends, of three rollouts in a row."""

    def one(train_state, i):
        train_state, rollout, _ = collect(agent, env, train_state, key, i)
        state, carry = train_state.agent, rollout.carry
        samples, _ = agent.samples(state, rollout, None)
        whole = is_recurrent(carry)
        chosen = minibatch_indices(divide(8, 8, 1 if whole else 8, 2, None), key)[0]
        batch, before = take_minibatch(samples if whole else flat_time(samples), carry, chosen)
        ratio = jnp.exp(evaluate_actions(state.network, batch, before).log_prob - batch.log_prob.reshape(-1))
        train_state = eqx.tree_at(lambda x: x.agent, train_state, moved_on(state, rollout))
        return train_state, (ratio, rollout.action, rollout.terminated | rollout.truncated)

    return jax.lax.scan(one, begin(agent, env, key), jnp.arange(3, dtype=jnp.int32))[1]


class Watched(PPO):
    """PPO that also reports how far the ratio is from 1."""

    def loss(self, network, samples, carry, state):
        loss, metrics = super().loss(network, samples, carry, state)
        log_ratio = evaluate_actions(network, samples, carry).log_prob - samples.log_prob.reshape(-1)
        return loss, metrics | {"off": jnp.max(jnp.abs(jnp.expm1(log_ratio)))}


@pytest.mark.parametrize("recurrent", [None, pytest.param("gru", marks=pytest.mark.full("more cases"))])
def test_update_learns_from_what_was_acted_on(recurrent, walked):
    """All minibatches of an update that hardly learns: the statistics may not move on before the epochs."""
    network = ActorCriticConfig(hidden=(8,), recurrent=recurrent, recurrent_size=6)
    agent = Watched(num_envs=8, num_steps=8, network=network, epochs=2, minibatches=2, learning_rate=1e-30)
    if recurrent is None:
        _, train_state, rollout = walked
    else:
        train_state, rollout, _ = collected(agent, Walk(), begun(agent, Walk(), KEY), KEY, 0)
        state = moved(train_state.agent, rollout)
        train_state = eqx.tree_at(lambda x: x.agent, train_state, state)
        train_state, rollout, _ = collected(agent, Walk(), train_state, KEY, 1)
    state, metrics = updated(agent, train_state, rollout)
    assert metrics["off"] <= 1e-6
    assert metrics["clipfrac"] == 0
    assert (np.asarray(state.observations.mean) != np.asarray(train_state.agent.observations.mean)).any()
    for part in ("observations", "rewards", "centre"):  # each has seen the 64 steps of this rollout as well
        counts = (int(getattr(each, part).count[1]) for each in (train_state.agent, state))
        assert -next(counts) + next(counts) == 64, part


def test_where_no_constant_dwarfs_the_rest_no_bit_is_another():
    one, other = (learned(tiny_ppo(centre_rewards=centred), Walk(), 3).agent for centred in (False, True))
    leaves_equal((one.network, one.rewards), (other.network, other.rewards))
    assert other.centre.count[0, 1] == 96


def paid_more(rollout, constant):
    """The rollout with a constant more in every reward."""
    sums = rollout.reward + constant, rollout.discounted_return + constant * rollout.discounted_steps
    return eqx.tree_at(lambda r: (r.reward, r.discounted_return), rollout, sums)


def test_a_constant_in_every_reward_is_not_learned(walked_from):
    """Where no episode terminates, rewards about 2000 teach what rewards about 1000 do."""
    agent, _, train_state, rollout = walked_from
    rollout = eqx.tree_at(lambda r: r.terminated, rollout, jnp.zeros_like(rollout.terminated))
    (samples, moments), (of_more, moments_of_more) = (
        samples_of(agent, train_state.agent, paid_more(rollout, constant)) for constant in (1000.0, 2000.0)
    )
    np.testing.assert_allclose(of_more.advantage, samples.advantage, atol=1e-2)
    np.testing.assert_allclose(of_more.target, samples.target, atol=1e-2)
    np.testing.assert_allclose(moments_of_more.scale.variance, moments.scale.variance, rtol=1e-3)
    assert np.abs(samples.advantage).max() > 1.0


def discounted_sums(running, rewards, ended):
    """R <- 0.99 R + r of every step, and what is carried on after the last one."""
    every = []
    for reward, over in zip(rewards, ended, strict=True):
        running = 0.99 * running + reward
        every.append(running)
        running = np.where(over > 0, 0.0, running)
    return np.stack([*every, running])


@pytest.mark.parametrize(("centred", "constant"), [(False, 0.0), (True, 0.0), (True, 1000.0)])
def test_targets_come_from_the_true_successors(centred, constant, walked_from):
    """Advantages and targets against a loop in float64 over rewards scaled by hand; V of what followed, not of a reset.

    A_t = sum_k (gamma lambda)^k delta_(t+k) up to the episode's end, delta = r + gamma V(s') (1 - terminated) - V(s).
    Where a constant dwarfs what rewards differ by, r is less b in every step, and b of a successor that is not terminal
    comes back.
    """
    agent, before, train_state, rollout = walked_from
    agent = dataclasses.replace(agent, reward_limit=10.0 if centred else 0.2)
    over, ended = (np.asarray(x, np.float64) for x in (rollout.terminated, rollout.truncated))
    ended, sums = np.maximum(over, ended), np.asarray(before.data, np.float64)
    r = np.asarray(rollout.reward, np.float64)
    at_once = discounted_sums(sums, np.stack([r, np.ones_like(r)], axis=1), ended)
    np.testing.assert_allclose(rollout.discounted_return, at_once[:-1, 0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rollout.discounted_steps, at_once[:-1, 1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(train_state.data, at_once[-1], rtol=1e-5, atol=1e-6)
    state, rollout = train_state.agent, paid_more(rollout, constant)
    near = {"rtol": 1e-4, "atol": 1e-2 if constant else 1e-4}
    if not centred:
        agent = dataclasses.replace(agent, centre_rewards=False)
        state = eqx.tree_at(lambda s: s.centre, state, None)
    samples, moments = samples_of(agent, state, rollout)
    value = lambda obs: state.network.value(agent.normalise(state, obs), ())  # noqa: E731
    v, v_next = (
        np.asarray(fast_jit(jax.vmap(jax.vmap(value)))(x), np.float64) for x in (rollout.obs, rollout.next_obs)
    )
    if constant:
        r, sums[0] = r + constant, sums[0] + constant * sums[1]
        b = r.mean() / (1 - 0.99 * (1 - over.mean()))
        r = r - b + 0.99 * b * (1 - over)
        sums[0] -= (1 - 0.99) * b * sums[1]
    every = discounted_sums(sums[0], r, ended)[:-1]
    assert int(moments.scale.count[1]) == 64
    np.testing.assert_allclose(moments.scale.variance, np.var(every), rtol=1e-3 if constant else 1e-5)
    r = r / np.std(every)
    limit = agent.reward_limit
    assert (r.min() < -limit < limit < r.max()) == (not centred)
    r = np.clip(r, -limit, limit)
    delta = r + 0.99 * v_next * (1 - over) - v
    later, advantage = np.zeros(8), np.zeros((8, 8))
    for t in reversed(range(8)):
        later = advantage[t] = delta[t] + 0.99 * 0.99 * (1 - ended[t]) * later
    np.testing.assert_allclose(samples.advantage, advantage, **near)
    np.testing.assert_allclose(samples.target, advantage + v, **near)
    np.testing.assert_allclose(samples.value, v, atol=1e-5)
    np.testing.assert_array_equal(samples.is_first, np.concatenate([np.zeros((1, 8)), ended[:-1]]))


def with_normalised(agent, samples):
    """A whole rollout as one minibatch."""
    flat = flat_time(samples)
    return eqx.tree_at(lambda s: s.advantage, flat, agent.normalised_advantages(flat.advantage))


LOSSES = {
    "plain": {"normalise_advantages": False},
    "standardised": {},
    "value clip": {"value_clip": 0.05},
    "weights": {"value_coefficient": 2.0, "entropy_coefficient": 0.3, "clip": 0.05},
    "schedules": {"clip": Linear(0.1, 0.02, 1000), "entropy_coefficient": Linear(0.0, 1.0, 1000)},
}


@pytest.mark.by_default("0-schedules", "0-standardised", "0-value clip", "0-weights", "500-plain")
@pytest.mark.parametrize("options", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("step", [0, 500])
def test_the_loss_of_ppo_by_hand(options, step, walked):
    agent, train_state, rollout = walked
    agent = tiny_ppo(num_envs=8, **options)
    state = eqx.tree_at(lambda s: s.step, train_state.agent, jnp.int32(step))
    samples, _ = samples_of(walked[0], state, rollout)
    network = moved(state, rollout).network
    loss, metrics = fast_jit(lambda a, *args: a.loss(*args))(agent, network, with_normalised(agent, samples), (), state)
    now = evaluate(network, flat_time(samples), ())
    log_prob, entropy, v = (np.asarray(x, np.float64) for x in (now.log_prob, now.entropy, now.value))
    old, a, g, v_old = (
        np.asarray(x, np.float64).ravel() for x in (samples.log_prob, samples.advantage, samples.target, samples.value)
    )
    if agent.normalise_advantages:
        a = (a - a.mean()) / a.std()
    ratio = np.exp(log_prob - old)
    at = lambda x: x.start + (x.end - x.start) * step / 1000 if isinstance(x, Linear) else x  # noqa: E731
    clip = at(agent.clip)
    assert (np.abs(ratio - 1) > clip).any()
    policy = -np.minimum(ratio * a, np.clip(ratio, 1 - clip, 1 + clip) * a).mean()
    error = (v - g) ** 2
    if agent.value_clip is not None:
        error = np.maximum(error, (v_old + np.clip(v - v_old, -0.05, 0.05) - g) ** 2)
    expected = {
        "policy_loss": policy,
        "value_loss": 0.5 * error.mean(),
        "entropy": entropy.mean(),
        "approx_kl": (ratio - 1 - (log_prob - old)).mean(),
        "clipfrac": (np.abs(ratio - 1) > clip).mean(),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=2e-4, atol=2e-5, err_msg=name)
    total = policy + agent.value_coefficient * expected["value_loss"] - at(agent.entropy_coefficient) * entropy.mean()
    np.testing.assert_allclose(loss, total, rtol=2e-4, atol=2e-5)


def test_the_loss_of_a2c_by_hand(walked):
    _, train_state, rollout = walked
    samples, _ = samples_of(walked[0], train_state.agent, rollout)
    network = train_state.agent.network
    for normalise in (False, True):
        agent = A2C(num_envs=8, value_coefficient=0.25, entropy_coefficient=0.1, normalise_advantages=normalise)
        loss, _ = fast_jit(agent.loss)(network, with_normalised(agent, samples), (), train_state.agent)
        now = evaluate(network, flat_time(samples), ())
        a = np.asarray(samples.advantage, np.float64).ravel()
        a = (a - a.mean()) / a.std() if normalise else a
        error = np.asarray(now.value) - np.asarray(samples.target).ravel()
        expected = -(a * np.asarray(now.log_prob)).mean() + 0.125 * (error**2).mean() - 0.1 * np.mean(now.entropy)
        np.testing.assert_allclose(loss, expected, rtol=1e-4)


def test_the_policy_gradient_does_not_flow_through_advantages_and_targets(walked):
    """They are inputs of the loss: its gradient with respect to the network is that of the written formula alone."""
    agent, train_state, rollout = walked
    samples, _ = samples_of(agent, train_state.agent, rollout)
    flat, state = flat_time(samples), train_state.agent
    gradient = fast_jit(jax.grad(lambda n: agent.loss(n, with_normalised(agent, samples), (), state)[0]))(state.network)

    def plain(network):
        now = evaluate_actions(network, flat, ())
        a = (flat.advantage - flat.advantage.mean()) / flat.advantage.std()
        return jnp.mean(-now.log_prob * a + 0.25 * (now.value - flat.target) ** 2)

    leaves_equal(gradient, fast_jit(jax.grad(plain))(state.network), rtol=1e-3, atol=1e-5)


def test_the_gradient_norm_is_limited():
    for limit, factor in ((None, 1.0), (10.0, 1.0), (2.5, 0.5), (0.5, 0.1)):
        scaled, norm = clip_by_global_norm(jnp.array([3.0, 0.0, 4.0]), limit)
        assert float(norm) == 5.0
        np.testing.assert_allclose(scaled, np.array([3.0, 0.0, 4.0]) * factor, rtol=1e-5)


@pytest.mark.full("covered")
def test_the_first_step_of_adam_is_the_learning_rate(walked):
    """A first step is rate * g / (|g| + epsilon): weights whose gradient is not tiny move by the rate at this count.

    A limit of the gradient's norm below Adam's epsilon makes the steps small: it is in front of Adam.
    """
    _, train_state, rollout = walked
    train_state = eqx.tree_at(lambda x: x.agent.step, train_state, jnp.int32(500))
    rate = Linear(0.02, 0.0, 1000)
    agent = tiny_ppo(num_envs=8, epochs=1, minibatches=1, learning_rate=rate, adam_epsilon=1e-8)
    state, metrics = updated(agent, train_state, rollout)
    moved = distances(state.network, train_state.agent.network)
    assert moved.max() <= 0.0101
    assert np.median(moved) > 0.0099
    assert metrics["learning_rate"] == np.float32(0.01)
    assert int(state.step) == 564
    held_back = eqx.tree_at(lambda a: a.max_gradient_norm, agent, 1e-9)
    state, other = updated(held_back, train_state, rollout)
    assert other["gradient_norm"] == pytest.approx(metrics["gradient_norm"])
    assert distances(state.network, train_state.agent.network).max() < 0.002


def distances(a, b):
    distance = jax.tree.map(lambda x, y: np.abs(x - y).ravel(), a, b)
    return np.concatenate(jax.tree.leaves(distance))


@pytest.mark.full("covered")
def test_a_tiny_target_kl_stops_after_one_epoch(walked):
    """The parameters are then those of one epoch, and those of all epochs where the target is never reached."""
    _, train_state, rollout = walked
    options = {"num_envs": 8, "learning_rate": 0.02}
    one, _ = updated(tiny_ppo(**options, epochs=1), train_state, rollout)
    three, plain = updated(tiny_ppo(**options, epochs=3), train_state, rollout)
    stopped, metrics = updated(tiny_ppo(**options, epochs=3, target_kl=1e-12), train_state, rollout)
    assert metrics["epochs"] == 1
    assert metrics["approx_kl"] > 1e-12
    leaves_equal(stopped, one)
    never, metrics = updated(tiny_ppo(**options, epochs=3, target_kl=1e9), train_state, rollout)
    assert metrics["epochs"] == 3
    leaves_equal(never, three)
    assert "epochs" not in plain
    between = eqx.tree_at(lambda a: a.target_kl, tiny_ppo(**options, epochs=3, target_kl=1.0), 0.0)
    assert updated(between, train_state, rollout)[1]["epochs"] == 1


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "options",
    [{"recurrent": "lstm", "shared": True}, pytest.param({"recurrent": "gru"}, marks=pytest.mark.full("more cases"))],
)
def test_a_memory_is_that_of_its_own_episode(options):
    """Whatever was remembered before a rollout, it is forgotten where an episode ends."""
    agent = tiny_ppo(num_envs=8, recurrent_size=6, **options)
    train_state, rollout, _ = collected(agent, Walk(), begun(agent, Walk(), KEY), KEY, 0)
    train_state, rollout, _ = collected(agent, Walk(), train_state, KEY, 1)
    state, before = train_state.agent, rollout.carry
    state = eqx.tree_at(lambda s: s.network.policy_head.gaussian.linear.weight, state, replace_fn=lambda w: 100 * w)
    samples, _ = samples_of(agent, state, rollout)
    other = jax.tree.map(lambda x: x + 1.0, before)
    a, b = (evaluate(state.network, samples, carry).log_prob.reshape(8, 8) for carry in (before, other))
    forgotten = np.cumsum(samples.is_first, axis=0) > 0
    assert forgotten.any()
    assert (~forgotten).any()
    np.testing.assert_array_equal(np.asarray(a)[forgotten], np.asarray(b)[forgotten])
    assert (np.asarray(a)[~forgotten] != np.asarray(b)[~forgotten]).all()
    moved = eqx.tree_at(lambda r: r.carry, rollout, other)
    again, _ = samples_of(agent, state, moved)
    np.testing.assert_array_equal(np.asarray(again.value)[forgotten], np.asarray(samples.value)[forgotten])
    assert (np.asarray(again.value)[~forgotten] != np.asarray(samples.value)[~forgotten]).all()


@pytest.mark.full("covered")
def test_a_recurrent_value_of_the_successor_remembers_the_step_before():
    """One environment walked through by hand: V(s_t | m_t), and V(s_t+1 | m_t+1) also where the clock cut in."""
    agent = tiny_ppo(num_envs=8, recurrent="gru", recurrent_size=6, normalise_rewards=False)
    train_state, rollout, _ = collected(agent, Walk(), begun(agent, Walk(), KEY), KEY, 0)
    state = train_state.agent
    samples, _ = samples_of(agent, state, rollout)
    i = int(np.argmax(np.asarray(rollout.truncated & ~rollout.terminated)[:-1].any(axis=0)))
    carry = of_member(rollout.carry, i)
    step, delta, values = fast_jit(lambda network, *args: network(*args)), [], []
    for t in range(8):
        obs, after = agent.normalise(state, rollout.obs[t, i]), agent.normalise(state, rollout.next_obs[t, i])
        _, value, carry = step(state.network, obs, carry)
        follows = 0.0 if rollout.terminated[t, i] else float(state.network.value(after, carry))
        delta.append(float(rollout.reward[t, i]) + 0.99 * follows - float(value))
        values.append(float(value))
        if rollout.terminated[t, i] or rollout.truncated[t, i]:
            carry = state.network.initial_carry()
    np.testing.assert_allclose(samples.value[:, i], values, atol=1e-5)
    ended, a, expected = np.asarray(rollout.terminated | rollout.truncated)[:, i], 0.0, []
    for t in reversed(range(8)):
        a = delta[t] + 0.99 * 0.99 * a * (not ended[t])
        expected.insert(0, a)
    np.testing.assert_allclose(samples.advantage[:, i], expected, atol=1e-4)


def test_only_floating_point_observations_have_statistics():
    assert init_obs_stats(Discrete(3)) is None
    assert init_obs_stats(MultiDiscrete((2, 3))) is None
    assert init_obs_stats(Box(0, 255, (3, 3, 1), np.uint8)) is None
    space = Scene().observation_space
    statistics = init_obs_stats(space)
    assert {name: part is None for name, part in statistics.items()} == {"image": True, "phase": True, "where": False}
    where = 1000.0 + np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    batch = {
        "image": jnp.ones((50, 3, 3, 1), jnp.uint8),
        "phase": jnp.zeros(50, jnp.int32),
        "where": jnp.asarray(where),
    }
    after = update_obs_stats(statistics, batch, None)
    np.testing.assert_allclose(after["where"].mean, batch["where"].mean(0), rtol=1e-6)
    obs = jax.tree.map(lambda x: x[0], batch)
    shown = normalise_obs(after, obs, 10.0)
    assert shown["image"].dtype == jnp.uint8
    np.testing.assert_array_equal(shown["image"], obs["image"])
    expected = (np.asarray(obs["where"]) - np.mean(batch["where"], 0)) / np.std(batch["where"], 0)
    np.testing.assert_allclose(shown["where"], expected, atol=2e-3)
    np.testing.assert_allclose(normalise_obs(after, {**obs, "where": jnp.full(2, 1e9)}, 3.0)["where"], 3.0)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "env", [Scene(MultiDiscrete((2, 3))), pytest.param(Walk(Discrete(3)), marks=pytest.mark.full("more cases"))]
)
def test_every_kind_of_space_is_learnt_from(env):
    agent = tiny_ppo()
    train_state, rollout, _ = collected(agent, env, begun(agent, env, KEY), KEY, 0)
    state, metrics = updated(agent, train_state, rollout)
    assert all(np.isfinite(value) for value in metrics.values())
    moved = jax.tree.map(lambda a, b: bool((a != b).any()), state.network, train_state.agent.network)
    assert all(jax.tree.leaves(moved))
    for action in np.asarray(rollout.action).reshape(32, -1):
        assert env.action_space.contains(action if action.size > 1 else action[0])


@pytest.mark.full("covered")
def test_images_of_bytes_go_through_the_convolutions_as_they_are():
    space = Box(0, 255, (4, 4, 1), np.uint8)
    agent = tiny_ppo(init="he_normal")
    state = jax.jit(lambda key: agent.init(EnvSpec(space, Discrete(3)), key), compiler_options=FAST_COMPILE)(KEY)
    assert state.observations is None
    assert type(state.network.actor.body).__name__ == "CNN"
    obs = jnp.arange(16, dtype=jnp.uint8).reshape(4, 4, 1)
    np.testing.assert_array_equal(agent.normalise(state, obs), obs)
    action, _, log_prob = jax.eval_shape(agent.act, state, obs, agent.initial_carry(state), KEY)
    assert action.shape == log_prob.shape == ()


def test_greedy_actions_are_modes(walked):
    agent, train_state, rollout = walked
    state, obs = train_state.agent, rollout.obs[0, 0]
    carry = agent.initial_carry(state)
    a, b = (agent.act(state, obs, carry, jax.random.key(i), greedy=True)[0] for i in (0, 1))
    np.testing.assert_array_equal(a, b)
    policy, _ = state.network.policy(agent.normalise(state, obs), ())
    np.testing.assert_array_equal(a, policy.mode())
    c = agent.act(state, obs, carry, jax.random.key(1))[0]
    assert (np.asarray(a) != np.asarray(c)).all()


def test_no_normalisation_leaves_everything_as_it_is(walked):
    _, train_state, rollout = walked
    off = dict.fromkeys(("normalise_observations", "normalise_rewards", "centre_rewards"), False)
    agent = tiny_ppo(num_envs=8, gae_lambda=0.0, discount=0.0, **off)
    state = eqx.tree_at(
        lambda s: (s.observations, s.rewards, s.centre), train_state.agent, (None,) * 3, is_leaf=lambda x: x is None
    )
    samples, moments = samples_of(agent, state, rollout)
    np.testing.assert_array_equal(samples.obs, rollout.obs)
    np.testing.assert_allclose(samples.target, rollout.reward, atol=1e-5)
    assert moments == (None, None)


BOTH = {
    "num_envs": (["0", "-1", "2.5", "NAN", "'8'"], "use a whole number of at least 1"),
    "num_steps": (["0"], "use a whole number of at least 1"),
    "learning_rate": (["-1.0", "0.0", "NAN", "float('inf')", "'fast'"], "use a number above 0|finite number above 0"),
    "discount": (["-0.1", "1.5", "NAN"], "use a number in [0, 1]"),
    "gae_lambda": (["-0.1", "1.1", "NAN"], "use a number in [0, 1]"),
    "max_gradient_norm": (["0.0", "-1.0", "NAN"], "use a number above 0"),
    "normalise_rewards": (["'no'", "1"], "use True or False"),
    "centre_rewards": (["'no'"], "use True or False"),
    "normalise_observations": (["'no'"], "use True or False"),
    "normalise_advantages": (["0"], "use True or False"),
    "network": (["'mlp'", "None"], "use an ActorCriticConfig or a function"),
    "value_coefficient": (["-0.5"], "use a number of at least 0"),
    "entropy_coefficient": (["NAN", "-0.1"], "use a number of at least 0"),
    "observation_limit": (["0.0"], "use a number above 0"),
    "reward_limit": (["-1.0"], "use a number above 0"),
}
OWN = {
    "PPO": {
        "clip": (["0.0", "-0.2", "NAN"], "use a number above 0"),
        "epochs": (["0", "1.5"], "use a whole number of at least 1"),
        "minibatches": (["0", "-4"], "use a whole number of at least 1"),
        "target_kl": (["0.0", "-1.0", "NAN"], "use a number above 0"),
        "value_clip": (["0.0"], "use a number above 0"),
        "adam_epsilon": (["0.0"], "use a number above 0"),
    },
    "A2C": {
        "rmsprop_decay": (["1.0", "-0.1", "NAN"], "use a number in [0, 1)"),
        "rmsprop_epsilon": (["0.0"], "use a number above 0"),
    },
}


def test_bad_settings_are_refused_in_one_line():
    cases = {
        f"{agent}({name}={value})": fix
        for agent, own in OWN.items()
        for name, (values, fix) in {**BOTH, **own}.items()
        for value in values
    }
    cases["PPO(minibatches=7)"] = "8192 samples a rollout are not divisible; try 8"
    setup = "from kousoku.agents.deep.ppo import PPO; from kousoku.agents.deep.a2c import A2C; NAN = float('nan')"
    messages = refusals({call: call for call in cases}, setup)
    for call, fix in cases.items():
        name = call.split("(")[1].split("=")[0]
        assert messages[call].startswith(f"{name}: got "), messages[call]
        assert any(words in messages[call] for words in fix.split("|"))
        assert "\n" not in messages[call]


def test_minibatches_of_a_memory_are_whole_environments():
    """4 environments cannot make 8 minibatches where each takes an environment's steps together: refused as the agent
    is made, and with a memory of one's own as it meets the environment, naming what would do."""
    with pytest.raises(ConfigError, match=r"^minibatches: got 8; 4 environments are not divisible; try 4$"):
        tiny_ppo(minibatches=8, recurrent="gru")
    own = tiny_ppo(minibatches=8, network=own_memory)
    with pytest.raises(ConfigError, match=r"^minibatches: got 8; .* try 4\b"):
        begun(own, Walk(), KEY)


def own_memory(observation_space, action_space, key):
    """Builds the usual network with a memory, as a builder of one's own."""
    return ActorCriticConfig(recurrent="gru")(observation_space, action_space, key)


def test_one_sample_a_minibatch_wants_more_of_them_or_no_normalisation():
    with pytest.raises(ConfigError, match=r"use more steps or environments, or normalise_advantages=False$"):
        tiny_ppo(num_envs=1, num_steps=1, minibatches=1)
    with pytest.raises(ConfigError, match=r"use fewer of larger ones, or normalise_advantages=False$"):
        tiny_ppo(num_envs=2, num_steps=4, minibatches=8)


def test_unknown_options_are_refused_with_the_nearest_name():
    for options, words in (
        ({"hiden": (8,)}, "hidden"),
        ({"learning_rat": 1.0}, "learning_rate"),
        ({"recurent": "gru"}, "recurrent"),
    ):
        with pytest.raises(ConfigError, match=rf"did you mean '{words}'"):
            make_agent("ppo", **options)
    with pytest.raises(ConfigError, match=r"^recurrent: got 'gur'; did you mean 'gru'"):
        make_agent("ppo", recurrent="gur")
    assert make_agent("a2c", hidden=(8,)).network.hidden == (8,)
    with pytest.raises(ConfigError, match=r"^network: got|^action space: got"):
        tiny_ppo().init(EnvSpec(BOX, Dict({"a": BOX})), KEY)
