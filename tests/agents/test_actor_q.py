"""SAC, TD3 and DDPG: what they learn from a minibatch, number by number, and how they act."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from actor_q_reference import Reference, same
from fast_compile import FAST_COMPILE
from fresh_process import check_refusals
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from kousoku.agents.deep import actor_q, sac, td3
from kousoku.agents.deep.bc import BC
from kousoku.agents.deep.critics import NextActions, targets_of
from kousoku.agents.deep.iql import IQL
from kousoku.agents.deep.sac import SAC
from kousoku.agents.deep.td3 import DDPG, TD3
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import ActorQ, ActorQConfig, hidden
from kousoku.nn.batch_renorm import WARM_UP, BatchRenorm

KEY = jax.random.key(0)
N = 5
LOW, HIGH = (-1.0, 0.0), (3.0, 0.5)
SPEC = EnvSpec(Box(-np.inf, np.inf, (3,)), Box(LOW, HIGH, (2,)))
NOISE = np.random.default_rng(3).normal(size=(N, 2)).astype(np.float32)
ATOMS = {"num_atoms": 5, "v_min": -2.0, "v_max": 1.5}
KEPT = np.array([True, False, True, True])
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)
AGENTS = {"sac": SAC, "td3": TD3, "ddpg": DDPG}


def small(kind: Any, **options: Any) -> Any:
    """An agent whose network is small enough for differences by each of its parameters; weights are of order 1."""
    default = kind().network
    sizes = {"hidden": (3,), "critic_hidden": (4,), "activation": "tanh", "policy_gain": 0.7}
    network = dataclasses.replace(default, **(sizes | options.pop("net", {})))
    return kind(**{"network": network, "learning_rate": 0.03, "adam_epsilon": 1e-3, "tau": 0.2, **options})


def batch_of(seed: int = 1, n: int = N, steps: int = 100) -> ReplayBatch:
    rng = np.random.default_rng(seed)
    made = jax.vmap(Transition)(
        jnp.asarray(rng.normal(size=(n, 3)), jnp.float32),
        jnp.asarray(rng.uniform(LOW, HIGH, size=(n, 2)), jnp.float32),
        jnp.asarray(rng.normal(size=n), jnp.float32),
        jnp.asarray(np.arange(n) % 3 == 0),
        jnp.asarray(np.arange(n) % 2 == 0),
        jnp.asarray(rng.normal(size=(n, 3)), jnp.float32),
    )
    return ReplayBatch(made, jnp.int32(steps))


@fast_jit
def updated(agent, state, data, key=KEY):
    return agent.update(state, data, key)


def settled(state: Any) -> Any:
    """The state with running moments that have been seen enough of after the next two updates, and are not 0 and 1."""

    def of(node: Any) -> Any:
        if not isinstance(node, BatchRenorm):
            return node
        moments = 0.3 * jnp.ones_like(node.mean), 0.5 * jnp.ones_like(node.mean), jnp.float32(WARM_UP - 2)
        return eqx.tree_at(lambda norm: (norm.mean, norm.variance, norm.seen), node, moments)

    network = jax.tree.map(of, state.network, is_leaf=lambda node: isinstance(node, BatchRenorm))
    return dataclasses.replace(state, network=network)


@pytest.mark.by_default("temperature")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (SAC, {}),
        (SAC, {"learn_temperature": False, "temperature": 0.3}),
        (SAC, {"policy_delay": 2, "critic_learning_rate": 0.01}),
        (SAC, {"net": {"num_critics": 3}}),
        (TD3, {}),
        (TD3, {"target_noise": 1.0, "target_noise_clip": 0.3, "policy_delay": 3}),
        (DDPG, {}),
        (SAC, {"prioritised": True, "n_step": 3}),
        (SAC, {"net": {"critic_body": "layer_norm", "actor_body": "layer_norm"}}),
        (SAC, {"net": {"critic_body": "crossq", "actor_body": "crossq"}, "policy_delay": 2}),
        (TD3, {"net": {"critic_body": "crossq"}}),
        (SAC, {"net": {"critic_body": "droq", "dropout": 0.4}}),
        (TD3, {"net": {"critic_body": "simba", "actor_body": "simba", "critic_hidden": (3, 3)}}),
        (SAC, {"net": {"critic_body": "simba_v2", "actor_body": "simba_v2", "critic_hidden": (3, 3)}}),
        (TD3, {"net": {"critic_body": "simba_v2", "actor_body": "simba_v2", "distribution": "categorical", **ATOMS}}),
        (SAC, {"net": {"distribution": "categorical", **ATOMS}, "prioritised": True}),
        (TD3, {"net": {"distribution": "hl_gauss", **ATOMS}}),
        (SAC, {"net": {"distribution": "quantile", "num_atoms": 3}}),
        (SAC, {"net": {"distribution": "hl_gauss", "critic_body": "crossq", **ATOMS}}),
        (SAC, {"normalise_observations": True, "observation_limit": 1.2, "adam_beta1": 0.5}),
    ],
    ids=[
        "sac",
        "temperature",
        "delayed",
        "three",
        "td3",
        "noisy",
        "ddpg",
        "prioritised",
        "layer norm",
        "crossq",
        "crossq, td3",
        "droq",
        "simba",
        "simba v2",
        "simba v2, c51, td3",
        "c51",
        "hl gauss, td3",
        "quantiles",
        "crossq, hl gauss",
        "normalised",
    ],
)
@pytest.mark.slow_because("an update is compiled for each kind")
def test_updates_are_those_of_the_paper(kind, options, monkeypatch):
    """Five updates in a row, beside the reference's."""
    for module in (sac, td3):
        monkeypatch.setattr(module, "noise_like", lambda key, action: jnp.asarray(NOISE)[: len(action)])
    monkeypatch.setattr(hidden, "kept_units", lambda key, units, rate: jnp.asarray(KEPT))
    agent = small(kind, **options)
    state = settled(agent.init(SPEC, KEY))
    reference = Reference(agent, state, NOISE, KEPT)
    assert (reference.atoms is None) == (agent.network.distribution == "scalar")
    learn = lambda state, data: agent.update_with_errors(state, data, KEY)  # noqa: E731
    step = eqx.filter_jit(learn, compiler_options=FAST_COMPILE)
    rng = np.random.default_rng(7)
    for i in range(5):
        data = batch_of(i)
        if agent.prioritised:
            discount, weights = (jnp.asarray(rng.uniform(0.5, 1.0, N), jnp.float32) for _ in range(2))
            data = dataclasses.replace(data, discount=discount, weights=weights)
        state, metrics, errors = step(state, data)
        reference.update(data, np.array(LOW), np.array(HIGH))
        np.testing.assert_allclose(errors, reference.errors, rtol=3e-4, atol=3e-4)
        assert float(metrics["qf_values"]) == pytest.approx(reference.values, rel=1e-3, abs=1e-4)
        same(state.network, ActorQ(reference.actor, reference.critics))
        target = (reference.target_actor, reference.target_critics)
        if reference.joint:
            assert state.target is None
        else:
            same(state.target, reference.target_critics if kind is SAC else ActorQ(*target))
        if state.log_temperature is not None:
            same(state.log_temperature, reference.log_temperature)
    assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.by_default("sac")
@pytest.mark.parametrize("kind", AGENTS.values(), ids=AGENTS)
def test_only_a_termination_is_worth_nothing_afterwards(kind):
    agent = small(kind)
    state = agent.init(SPEC, KEY)
    batch = actor_q.learned_batch(state.action_space, batch_of(), 0.99)
    y = agent.targets(state, batch, KEY)
    ended = np.asarray(batch.terminated)
    assert 0 < ended.sum() < N
    np.testing.assert_array_equal(np.asarray(y)[ended], np.asarray(batch.reward)[ended])
    assert (np.asarray(y)[~ended] != np.asarray(batch.reward)[~ended]).all()
    without = agent.targets(state, batch._replace(next_obs=jnp.full_like(batch.next_obs, jnp.nan)), KEY)
    np.testing.assert_array_equal(np.asarray(without)[ended], np.asarray(batch.reward)[ended])


def test_of_distributions_too_no_bonus_follows_a_termination():
    """What the entropy is worth is a shift of the atoms, and none after a termination."""
    critics = small(SAC, net={"distribution": "quantile", "num_atoms": 3}).init(SPEC, KEY).network.critics[:1]
    batch = actor_q.learned_batch(SPEC.action_space, batch_of(), 0.9)
    outputs, bonus = jnp.asarray(np.random.default_rng(0).normal(size=(N, 3)), jnp.float32), jnp.arange(1.0, N + 1)
    found = targets_of(critics, batch, (outputs,), NextActions(batch.action, bonus))
    r, goes_on = np.asarray(batch.reward)[:, None], 0.9 * (1.0 - np.asarray(batch.terminated)[:, None])
    np.testing.assert_allclose(found, r + goes_on * (outputs + bonus[:, None]), rtol=1e-5, atol=1e-6)


def test_the_actions_of_targets_stay_in_the_unit_box_at_either_end(monkeypatch):
    noise = jnp.stack([jnp.full(N, -9.0), jnp.full(N, 9.0)], axis=1)
    monkeypatch.setattr(td3, "noise_like", lambda key, action: noise)
    agent = small(TD3, target_noise=1.0, target_noise_clip=0.4)
    state = agent.init(SPEC, KEY)
    at = lambda end: eqx.tree_at(lambda s: s.target.actor.head.bias, state, jnp.full(2, end))  # noqa: E731
    batch = actor_q.learned_batch(SPEC.action_space, batch_of(), 0.9)
    for end, wanted in ((-50.0, [-1.0, -0.6]), (50.0, [0.6, 1.0])):
        found = agent.next_actions(at(end), batch, KEY).action
        np.testing.assert_allclose(found, np.broadcast_to(wanted, (N, 2)), rtol=1e-6)


def test_successors_are_scaled_as_what_came_before_them():
    agent = small(TD3, normalise_observations=True, observation_limit=1.2)
    batch = actor_q.learned_batch(SPEC.action_space, batch_of(n=16), 0.9)
    scaled, _ = agent._scaled(agent.init(SPEC, KEY).observations, batch, None)
    seen = np.asarray(batch.obs, np.float64)
    for ours, plain in ((scaled.obs, batch.obs), (scaled.next_obs, batch.next_obs)):
        wanted = np.clip((np.asarray(plain) - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-8), -1.2, 1.2)
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow_because("two updates are compiled")
def test_parameters_decay_beside_the_gradients_step_but_for_the_temperature():
    plain, decaying = small(SAC, temperature=0.3), small(SAC, temperature=0.3, weight_decay=0.5)
    state = plain.init(SPEC, KEY)
    without, shrunk = (updated(agent, state, batch_of())[0] for agent in (plain, decaying))
    for part in ("actor", "critics"):
        trees = (getattr(each.network, part) for each in (state, without, shrunk))
        for before, after, smaller in zip(*map(jax.tree.leaves, trees), strict=True):
            np.testing.assert_allclose(after - smaller, 0.03 * 0.5 * before, rtol=1e-3, atol=1e-6)
    assert shrunk.log_temperature == without.log_temperature != state.log_temperature


def test_an_episode_has_a_noise_of_its_own_that_it_keeps():
    agent = small(TD3, exploration_noise=0.1, exploration_noise_max=0.4, learning_starts=0)
    state = agent.init(SPEC, KEY)
    obs, keys = jnp.zeros(3), jax.random.split(KEY, 2000)
    act = jax.jit(jax.vmap(lambda carry, key: agent.act(state, obs, carry, key)[:2]), compiler_options=FAST_COMPILE)
    begun = jnp.broadcast_to(agent.initial_carry(state), (2000,))
    actions, own = act(begun, keys)
    assert 0.1 <= float(own.min()) < 0.102
    assert 0.398 < float(own.max()) <= 0.4
    np.testing.assert_allclose(own.mean(), 0.25, atol=0.01)
    again, kept = act(own, jax.random.split(jax.random.key(1), 2000))
    np.testing.assert_array_equal(kept, own)
    centre = jax.vmap(lambda action: actor_q.learned_action(SPEC.action_space, action))
    learned = np.asarray(state.network.actor(obs))
    assert np.abs(learned).max() < 0.2
    for made in (actions, again):
        distance = np.asarray(centre(made)) - learned
        for low, high in ((0.1, 0.2), (0.3, 0.4)):
            some = distance[(own > low) & (own < high)]
            np.testing.assert_allclose(some.std(), np.sqrt(np.mean(own[(own > low) & (own < high)] ** 2)), rtol=0.1)
    assert agent.act(state, obs, jnp.float32(0.3), KEY, greedy=True)[1] == 0.3
    assert small(TD3).initial_carry(state) == ()
    with pytest.raises(ConfigError, match=r"exploration_noise_max: got -0\.1"):
        small(TD3, exploration_noise_max=-0.1)


@pytest.mark.full("covered")
def test_the_temperature_goes_where_the_entropy_is_wanted():
    """Above the target the temperature falls, below it rises."""
    for wanted, sign in ((-50.0, -1), (50.0, 1)):
        agent = small(SAC, target_entropy=wanted)
        state = agent.init(SPEC, KEY)
        after, metrics = updated(agent, state, batch_of())
        assert np.sign(float(after.log_temperature - state.log_temperature)) == sign
        assert float(metrics["alpha"]) == 1.0


@pytest.mark.parametrize(("n", "share"), [(1, 1.0), (3, 0.81 / 2.71)])
def test_what_entropy_adds_to_a_return_is_its_share_of_the_steps(n, share):
    """Targets of n steps count the entropy of every n-th state: gamma^(n - 1) of 1 + gamma + ... + gamma^(n - 1)."""
    agent = small(SAC, n_step=n, discount=0.9, temperature=0.5)
    state = agent.init(SPEC, KEY)
    entropy = float(state.network.actor(jnp.ones(3)).entropy())
    assert float(agent.bonus(state, jnp.ones(3))) == pytest.approx(share * 0.5 * entropy, rel=1e-5)


@pytest.mark.full("covered")
def test_a_fixed_temperature_stays():
    agent = small(SAC, learn_temperature=False, temperature=0.25)
    state = agent.init(SPEC, KEY)
    after, metrics = updated(agent, state, batch_of())
    assert after.log_temperature is None
    assert float(metrics["alpha"]) == 0.25
    assert "alpha_loss" not in metrics


@pytest.mark.parametrize(("delay", "wanted"), [(1, [True] * 4), (3, [True, False, False, True])])
def test_the_actor_learns_in_the_first_and_then_in_every_so_manieth_step(delay, wanted, monkeypatch):
    agent, found = small(TD3, policy_delay=delay), []

    class AskedError(Exception):
        """The rest of an update is left out."""

    def gradient(self: Any, state: Any, batch: Any, key: Any, due: Any, axis: Any) -> None:
        found.append(bool(due))
        raise AskedError

    monkeypatch.setattr(actor_q.ActorQAgent, "_critic_gradient", lambda *args: (None, None))
    monkeypatch.setattr(actor_q.ActorQAgent, "_actor_gradient", gradient)
    state = agent.init(SPEC, KEY)
    for i in range(4):
        with pytest.raises(AskedError):
            agent.update(dataclasses.replace(state, updates=jnp.int32(i)), batch_of(), KEY)
    assert found == wanted


@pytest.mark.full("covered")
def test_the_actor_waits_for_the_critics():
    agent = small(TD3, policy_delay=3)
    state = agent.init(SPEC, KEY)
    moved, told = [], []
    for _ in range(6):
        after, metrics = updated(agent, state, batch_of())
        pairs = ((state.network.actor, after.network.actor), (state.target, after.target))
        moved.append([bool(np.any(ravel_pytree(a)[0] != ravel_pytree(b)[0])) for a, b in pairs])
        told.append(float(metrics["actor_loss"]))
        state = after
    assert moved == [[True, True], [False, False], [False, False]] * 2
    assert told[0] == told[1] == told[2] != told[3] == told[4] == told[5]


@pytest.mark.full("covered")
@pytest.mark.parametrize("kind", AGENTS.values(), ids=AGENTS)
def test_schedules_are_read_at_the_environment_steps(kind):
    from kousoku.ops.schedules import Linear

    agent = small(kind, learning_rate=Linear(0.1, 0.0, 1000), critic_learning_rate=Linear(0.0, 0.1, 1000))
    state = agent.init(SPEC, KEY)
    after, metrics = updated(agent, state, batch_of(steps=1000))
    assert float(metrics["learning_rate"]) == 0.0
    same(after.network.actor, state.network.actor, 0.0)
    assert np.any(ravel_pytree(after.network.critics)[0] != ravel_pytree(state.network.critics)[0])


@pytest.mark.by_default("crossq")
@pytest.mark.parametrize("body", ["plain", "crossq"])
def test_two_devices_learn_as_one_does(body):
    """Without noise: of that each device has its own."""
    options: dict[str, Any] = {"policy_delay": 1, "normalise_observations": body == "crossq"}
    agent = small(TD3, target_noise=0.0, net={"critic_body": body, "actor_body": body}, **options)
    state, data = agent.init(SPEC, KEY), batch_of(n=8)
    one, said = updated(agent, state, data)
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))

    def on_each(state, part):
        learned = agent.update(state, ReplayBatch(part, data.steps), KEY, axis="d")
        return jax.tree.map(lambda x: x[None], learned)

    mapped = jax.shard_map(on_each, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"), check_vma=False)
    both, each = jax.jit(mapped, compiler_options=FAST_COMPILE)(state, data.transitions)
    for device in range(2):
        for a, b in zip(jax.tree.leaves((both, each)), jax.tree.leaves((one, said)), strict=True):
            np.testing.assert_allclose(a[device], b, rtol=1e-4, atol=1e-5)


@pytest.mark.full("more cases")
def test_devices_stay_equal_and_draw_noise_of_their_own():
    agent = small(SAC)
    state, data = agent.init(SPEC, KEY), batch_of(n=8)
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))

    def on_each(state, part):
        batch = actor_q.learned_batch(state.action_space, ReplayBatch(part, data.steps), 0.99)
        key = jax.random.fold_in(KEY, jax.lax.axis_index("d"))
        learned, metrics = agent.update(state, ReplayBatch(part, data.steps), KEY, axis="d")
        return jax.tree.map(lambda x: x[None], (learned, metrics, agent.targets(state, batch, key)))

    halves = jax.tree.map(lambda x: jnp.concatenate([x[:4], x[:4]]), data.transitions)
    mapped = jax.shard_map(on_each, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"), check_vma=False)
    *both, targets = jax.jit(mapped, compiler_options=FAST_COMPILE)(state, halves)
    for leaf in jax.tree.leaves(both):
        np.testing.assert_array_equal(leaf[0], leaf[1])
    assert np.any(targets[0] != targets[1])


# ---- acting ----


@pytest.mark.by_default("TD3")
@pytest.mark.parametrize("kind", [SAC, TD3])
def test_it_acts_by_the_moments_that_it_learned_with_and_leaves_them(kind):
    agent = small(kind, normalise_observations=True, learning_starts=0)
    state = agent.init(SPEC, KEY)
    later, _ = updated(agent, state, batch_of(n=16))
    seen = np.asarray(batch_of(n=16).transitions.obs)
    np.testing.assert_allclose(later.observations.mean, seen.mean(0), rtol=1e-5)
    plain = small(kind, learning_starts=0)
    scaled = (np.ones(3, np.float32) - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-8)
    ours = agent.act(later, jnp.ones(3), (), KEY, greedy=True)[0]
    bare = dataclasses.replace(later, observations=None)
    np.testing.assert_allclose(ours, plain.act(bare, jnp.asarray(scaled), (), KEY, greedy=True)[0], rtol=1e-4)
    adopted = agent.adopt(state, later)
    np.testing.assert_array_equal(adopted.observations.mean, later.observations.mean)


def actions_of(agent: Any, state: Any, count: int = 4000, **options: Any) -> np.ndarray:
    act = jax.vmap(lambda key: agent.act(state, jnp.ones(3), (), key, **options)[0])
    return np.asarray(jax.jit(act, compiler_options=FAST_COMPILE)(jax.random.split(KEY, count)))


@pytest.mark.by_default("sac")
@pytest.mark.parametrize("kind", AGENTS.values(), ids=AGENTS)
def test_actions_are_any_until_learning_starts_then_near_the_learned_one(kind):
    agent = small(kind, learning_starts=100)
    state = agent.init(SPEC, KEY)
    low, high = np.array(LOW), np.array(HIGH)
    first = actions_of(agent, state)
    assert (first >= low).all()
    assert (first <= high).all()
    np.testing.assert_allclose(first.mean(0), (low + high) / 2, atol=0.05 * (high - low).max())
    np.testing.assert_allclose(first.std(0), (high - low) / np.sqrt(12), rtol=0.05)
    later = dataclasses.replace(state, step=jnp.int32(100))
    greedy = actions_of(agent, later, 3, greedy=True)
    np.testing.assert_array_equal(greedy[0], greedy[1])
    np.testing.assert_array_equal(greedy, actions_of(agent, state, 3, greedy=True))
    drawn = actions_of(agent, later)
    assert (drawn >= low).all()
    assert (drawn <= high).all()
    assert (drawn.std(0) > 0).all()
    if kind is not SAC:
        np.testing.assert_allclose(drawn.mean(0), greedy[0], atol=0.02 * (high - low).max())
        np.testing.assert_allclose(drawn.std(0), 0.1 * (high - low) / 2, rtol=0.1)


def test_the_policy_acts_from_the_very_step_at_which_learning_starts():
    agent = small(TD3, learning_starts=100, exploration_noise=0.0)
    state = agent.init(SPEC, KEY)
    learned = agent.act(state, jnp.ones(3), (), KEY, greedy=True)[0]
    for step, acts in ((99, False), (100, True)):
        now = dataclasses.replace(state, step=jnp.int32(step))
        assert np.array_equal(agent.act(now, jnp.ones(3), (), KEY)[0], learned) == acts


def test_without_a_start_no_action_is_arbitrary():
    agent = small(TD3, learning_starts=0, exploration_noise=0.0)
    state = agent.init(SPEC, KEY)
    np.testing.assert_array_equal(actions_of(agent, state, 3), actions_of(agent, state, 3, greedy=True))


@pytest.mark.full("covered")
@pytest.mark.parametrize("kind", AGENTS.values(), ids=AGENTS)
def test_the_bounds_of_actions_do_not_change_what_is_learned(kind):
    """The same places in another box give the same update, bit for bit where scaling is exact."""
    agent, data = small(kind), batch_of()
    wide = EnvSpec(SPEC.observation_space, Box(tuple(4 * x for x in LOW), tuple(4 * x for x in HIGH), (2,)))
    far = eqx.tree_at(lambda d: d.transitions.action, data, 4 * data.transitions.action)
    one, _ = updated(agent, agent.init(SPEC, KEY), data)
    other, _ = updated(agent, agent.init(wide, KEY), far)
    same(one.network, other.network, 0.0)


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "space",
    [
        Box(0, 255, (10, 10, 2), np.uint8),
        Dict({"a": Box(-1.0, 1.0, (2,)), "b": Discrete(3)}),
        MultiDiscrete((2, 3)),
        Discrete(4),
    ],
    ids=["image", "dict", "multi", "discrete"],
)
def test_observations_of_every_kind_are_learned_from(space):
    agent = SAC(network=ActorQConfig(hidden=(8,)))
    spec = EnvSpec(space, Box(-1.0, 1.0, (2, 2)))
    keys = jax.random.split(KEY, 4)
    obs = jax.vmap(space.sample)(keys)
    zeros = jnp.zeros(4)
    data = ReplayBatch(
        jax.vmap(Transition)(obs, jnp.zeros((4, 2, 2)), zeros, zeros > 0, zeros > 0, obs),
        jnp.int32(agent.learning_starts),
    )
    state, metrics = updated(agent, agent.init(spec, KEY), data)
    assert all(np.isfinite(value) for value in metrics.values())
    action, _, _ = agent.act(state, jax.tree.map(lambda x: x[0], obs), (), KEY)
    assert action.shape == (2, 2)


# ---- refusals ----


def test_spaces_that_they_cannot_learn_are_refused():
    for agent, actions in ((TD3(), Discrete(3)), (SAC(), MultiDiscrete((2, 2))), (SAC(), Box(0, 5, (2,), np.int32))):
        with pytest.raises(ConfigError, match=r"^action space: got .*'sac' and 'dqn'.*'ppo'"):
            agent.init(EnvSpec(SPEC.observation_space, actions), KEY)
    for actions, words in ((Box(-np.inf, 1.0, (2,)), "infinite bounds"), (Box(1.0, 1.0, (2,)), "low = high")):
        for agents, where in (((TD3(), SAC()), ", or 'ppo'"), ((IQL(), BC()), " in the environment and the data")):
            advice = f"^action space: got .*; use finite bounds with low < high{where}: .*{words}$"
            for agent in agents:
                with pytest.raises(ConfigError, match=advice):
                    agent.init(EnvSpec(SPEC.observation_space, actions), KEY)


class Alone(eqx.Module):
    """A critic, or an actor, of one parameter."""

    weight: jax.Array
    size: int = eqx.field(static=True)

    def __call__(self, *inputs: Any) -> jax.Array:
        return jnp.broadcast_to(self.weight * inputs[0][2], (self.size,) if self.size else ())


def own(actor_size: int = 2, critic_size: int = 0, dtype: Any = jnp.float32) -> Any:
    def build(observation_space: Any, action_space: Any, key: Any) -> ActorQ:
        return ActorQ(Alone(jnp.ones((), dtype), actor_size), (Alone(jnp.ones((), jnp.float32), critic_size),))

    return build


def test_a_network_of_ones_own_is_taken_and_checked():
    state = TD3(network=own()).init(SPEC, KEY)
    after, _ = TD3(network=own()).update(state, batch_of(), KEY)
    assert float(after.network.critics[0].weight) != 1.0
    cases = {
        own(3): r"its action has to be float32\[2\], not float32\[3\]",
        own(2, 1): r"its value has to be float32\[\], not float32\[1\]",
        own(2, 0, jnp.int32): "arrays of float32",
        (lambda observation_space, action_space, key: None): "kousoku.nn.ActorQ",
        (lambda observation_space, action_space, key: ActorQ(Alone(jnp.ones(()), 2), ())): "at least one critic",
    }
    for build, words in cases.items():
        with pytest.raises(ConfigError, match=f"network: got .*{words}"):
            TD3(network=build).init(SPEC, KEY)
    with pytest.raises(ConfigError, match="it does not take observations of Box"):
        TD3(network=own()).init(EnvSpec(Box(-1.0, 1.0, ()), SPEC.action_space), KEY)


def test_a_policy_of_the_other_kind_is_refused():
    for agent, wanted in ((SAC(network=TD3().network), "stochastic"), (TD3(network=SAC().network), "deterministic")):
        with pytest.raises(ConfigError, match=f"^policy: got .*{wanted}"):
            agent.init(SPEC, KEY)


BAD = {
    "num_envs": (["0", "2.5"], "use a whole number of at least 1"),
    "capacity": (["0", "7"], "use a whole number of at least 1|keep at least those"),
    "batch_size": (["0"], "use a whole number of at least 1"),
    "learning_starts": (["-1"], "use a whole number of at least 0"),
    "learning_rate": (["-1.0", "0.0", "NAN", "'fast'"], "use a number above 0"),
    "critic_learning_rate": (["-1.0", "0.0"], "use a number above 0"),
    "discount": (["-0.1", "1.5", "NAN"], "use a number in [0, 1]"),
    "tau": (["0.0", "1.5"], "use a number in (0, 1]"),
    "update_ratio": (["0", "21", "'1/1000'", "'often'"], "use a number of gradient steps per environment step"),
    "n_step": (["0", "1.5"], "use a whole number of at least 1"),
    "prioritised": (["1"], "use True or False"),
    "priority_alpha": (["-1.0", "1.5", "NAN"], "use a number in [0, 1]"),
    "priority_beta": (["-0.1", "1.5"], "use a number in [0, 1]"),
    "policy_delay": (["0", "1.5"], "use a whole number of at least 1"),
    "adam_beta1": (["-0.1", "1.0"], "use a number in [0, 1)"),
    "adam_epsilon": (["0.0"], "use a number above 0"),
    "normalise_observations": (["1"], "use True or False"),
    "observation_limit": (["0.0", "NAN"], "use a number above 0"),
    "network": (["'mlp'", "None"], "use an ActorQConfig or a function"),
}
OF_SAC = {
    "temperature": (
        ["0.0", "-1.0", "float('inf')", "'auto'", "'auto_0.1'"],
        "use a number above 0|finite number above 0|`learn_temperature` has it learned",
    ),
    "learn_temperature": (["1"], "use True or False"),
    "target_entropy": (["NAN", "float('inf')", "'auto'"], "use a number that is finite|leave it out: it is -A then"),
}
OF_TD3 = {
    name: (["-0.1", "NAN"], "use a number of at least 0")
    for name in ("exploration_noise", "target_noise", "target_noise_clip")
}
CONFIG = {
    "hidden": (["64", "(0,)"], "use a"),
    "critic_hidden": (["8"], "use a"),
    "activation": (["'rleu'"], "did you mean 'relu'"),
    "num_critics": (["0"], "use a whole number of at least 1"),
    "policy": (["'gaussian'"], "use one of"),
    "body": (["'rnn'"], "use one of"),
    "actor_body": (["'droq'", "True"], "use one of"),
    "critic_body": (["'crossQ'"], "did you mean 'crossq'"),
    "dropout": (["-0.1", "1.0", "NAN"], "use a number in [0, 1)"),
    "init_std": (["0.0"], "use a number above 0"),
    "hidden_gain": (["-1.0"], "use a number of at least 0"),
    "init": (["'orthogonl'"], "did you mean 'orthogonal'"),
    "distribution": (["'c51'"], "use one of"),
    "num_atoms": (["1"], "use a whole number of at least 2"),
    "v_max": (["-250.0", "NAN", "1e39"], "use v_min below v_max|use a number that is finite|rounds it to infinity"),
    "smoothing": (["0.0", "1e10"], "use a number in (0, 101]"),
}


def test_bad_settings_are_refused_in_one_line():
    kinds = (("SAC", BAD | OF_SAC), ("TD3", BAD | OF_TD3), ("DDPG", OF_TD3), ("ActorQConfig", CONFIG))
    cases = {
        f"{kind}({name}={value})": fix
        for kind, fields in kinds
        for name, (values, fix) in fields.items()
        for value in values
    }
    cases["ActorQConfig(actor_body='simba', hidden=(8, 16))"] = "use one width for all"
    cases["ActorQConfig(critic_body='simba', critic_hidden=())"] = "use one width for all"
    setup = """
from kousoku.agents.deep.sac import SAC
from kousoku.agents.deep.td3 import DDPG, TD3
from kousoku.nn import ActorQConfig
NAN = float('nan')"""
    check_refusals(cases, setup)
