"""Action masks: what is forbidden is never done, has no gradient, and no part in a target."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.deep.q_values import choose
from kousoku.core.action_mask import legal_actions, only_legal
from kousoku.core.env import EnvSpec
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import ActorCriticConfig
from kousoku.nn.q_network import QNetworkConfig
from kousoku.nn.torso import UnmaskedCNN, VectorBody

MASK = jnp.array([0, 1, 1, 0], jnp.uint8)
SPACE = Dict({"observation": Box(-1.0, 1.0, (3,)), "action_mask": Box(0, 1, (4,), np.uint8)})
OBS = {"observation": jnp.array([0.1, -0.2, 0.3]), "action_mask": MASK}
ALL_FORBIDDEN = {**OBS, "action_mask": jnp.zeros(4, jnp.uint8)}
KEYS = jax.random.split(jax.random.key(0), 256)


class TestOnlyLegal:
    def test_nothing_is_said(self):
        values = jnp.arange(4.0)
        for obs in (None, values, {"observation": values}, {"action_mask": jnp.zeros(3)}, ALL_FORBIDDEN):
            assert only_legal(values, obs).tolist() == [0.0, 1.0, 2.0, 3.0]

    @pytest.mark.parametrize(
        ("mask", "legal"),
        [
            ([[0, 1, 1], [1, 0, 0]], [0, 1, 1, 1, 0]),
            ([[0, 1, 1], [0, 1, 1]], [0, 1, 1, 0, 1]),
            ([[0, 0, 1], [0, 0, 1]], [0, 0, 1, 1, 1]),  # nothing is said of the second choice, which has two actions
            ([[0, 0, 0], [0, 1, 0]], [1, 1, 1, 0, 1]),
            ([[0, 0, 0], [0, 0, 0]], [1, 1, 1, 1, 1]),
        ],
    )
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_each_choice_is_by_itself(self, mask, legal, dtype):
        obs, logits = {"action_mask": jnp.array(mask, dtype)}, jnp.arange(5.0)
        assert legal_actions(obs, (3, 2)).tolist() == [bool(n) for n in legal]
        assert only_legal(logits, obs, (3, 2)).tolist() == [i if n else -np.inf for i, n in enumerate(legal)]
        in_a_row = {"action_mask": jnp.concatenate([obs["action_mask"][0], obs["action_mask"][1, :2]])}
        assert legal_actions(in_a_row, (3, 2)).tolist() == [bool(n) for n in legal]

    def test_rows_may_be_those_of_two_actions_and_more(self):
        """Then nothing tells them from a mask over all combinations."""
        obs = {"action_mask": jnp.array([[0, 1, 1], [1, 0, 1]])}
        assert legal_actions(obs, (2, 3)).tolist() == [False, True, True, False, True]

    @pytest.mark.parametrize("shape", [(4,), (6,), (3, 2), (2, 2), (2, 4), (1, 2, 3)])
    def test_a_mask_of_another_shape_says_nothing_of_choices(self, shape):
        assert legal_actions({"action_mask": jnp.zeros(shape)}, (3, 2)) is None

    def test_gradient(self):
        gradient = jax.grad(lambda v: jnp.max(only_legal(v, OBS)))(jnp.array([9.0, 1.0, 2.0, 9.0]))
        assert gradient.tolist() == [0.0, 0.0, 1.0, 0.0]


def loaded(network: Any) -> Any:
    """A network that likes what is forbidden best."""
    where = lambda n: (n.policy_head.linear if hasattr(n, "policy_head") else n.head).bias  # noqa: E731
    return eqx.tree_at(where, network, jnp.array([50.0, 1.0, 2.0, 60.0]))


class TestPolicies:
    @pytest.fixture
    def network(self):
        return loaded(ActorCriticConfig(hidden=(4,))(SPACE, Discrete(4), jax.random.key(1)))

    @pytest.mark.full("covered")
    def test_probabilities(self, network):
        policy, value, _ = network(OBS, ())
        p = jax.nn.softmax(policy.logits)
        assert (p[0], p[3]) == (0.0, 0.0)
        assert float(p[2] / p[1]) == pytest.approx(np.e, rel=0.1)
        assert np.isfinite([policy.entropy(), policy.log_prob(jnp.int32(1)), value]).all()
        assert set(jax.vmap(policy.sample)(KEYS).tolist()) == {1, 2}
        assert int(policy.mode()) == int(network.policy(OBS, ())[0].mode()) == 2

    @pytest.mark.full("covered")
    def test_gradient_of_what_is_forbidden_is_zero(self, network):
        def loss(network: Any, obs: Any) -> Any:
            policy, _, _ = network(obs, ())
            return policy.log_prob(jnp.int32(1)) + policy.entropy()

        bias = jax.grad(loss)(network, OBS).policy_head.linear.bias
        assert (bias[0], bias[3]) == (0.0, 0.0)
        assert np.isfinite(bias).all()
        assert np.all(np.abs(bias[1:3]) > 0)
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(jax.grad(loss)(network, ALL_FORBIDDEN)))

    @pytest.mark.full("covered")
    def test_actions_that_are_not_counted_have_no_mask(self):
        network = ActorCriticConfig(hidden=(4,))(SPACE, Box(-1.0, 1.0, (4,)), jax.random.key(1))
        assert np.isfinite(network(OBS, ())[0].mode()).all()

    @pytest.mark.full("covered")
    def test_a_flat_mask_of_several_choices(self):
        network = ActorCriticConfig(hidden=(4,))(SPACE, MultiDiscrete((2, 2)), jax.random.key(1))
        assert np.isneginf(network(OBS, ())[0].logits).tolist() == [True, False, False, True]

    @pytest.mark.full("covered")
    @pytest.mark.parametrize("agent", ["ppo", "a2c"])
    def test_agents_draw_what_is_legal(self, agent):
        made = ks.make_agent(agent, hidden=(4,))
        state = made.init(EnvSpec(SPACE, Discrete(4)), jax.random.key(0))
        drawn = jax.vmap(lambda key: made.act(state, OBS, (), key)[0])(KEYS)
        assert set(drawn.tolist()) == {1, 2}


CHOICES = MultiDiscrete((3, 2))
ROWS = Dict({"observation": Box(-1.0, 1.0, (3,)), "action_mask": Box(0, 1, (2, 3), np.uint8)})


def seeing(*rows: list[int]) -> dict[str, Any]:
    return {"observation": OBS["observation"], "action_mask": jnp.array(rows, jnp.uint8)}


class TestChoices:
    """Each choice of a MultiDiscrete action has a row of the mask."""

    @pytest.fixture(params=[None, "gru"])
    def network(self, request):
        config = ActorCriticConfig(hidden=(4,), recurrent=request.param, recurrent_size=4)
        network = config(ROWS, CHOICES, jax.random.key(1))
        return eqx.tree_at(lambda n: n.policy_head.linear.bias, network, jnp.array([9.0, 1.0, 2.0, 0.0, 8.0]))

    def test_distribution_equals_that_by_hand(self, network):
        carry, obs = network.initial_carry(), seeing([0, 1, 1], [1, 0, 1])
        policy, _, _ = network(obs, carry)
        logits = np.asarray(network.policy_head(network.actor(obs, network._parts(carry)[0])[0]).logits, np.float64)
        logits[[0, 4]] = -np.inf
        log_p = np.concatenate([part - np.log(np.sum(np.exp(part))) for part in (logits[:3], logits[3:])])
        found = [[policy.log_prob(jnp.array([i, j], jnp.int32)) for j in range(2)] for i in range(3)]
        np.testing.assert_allclose(found, log_p[:3, None] + log_p[3:], rtol=1e-5)
        assert float(policy.entropy()) == pytest.approx(-np.sum(np.exp(log_p[1:3]) * log_p[1:3]), rel=1e-4)
        assert policy.mode().tolist() == network.policy(obs, carry)[0].mode().tolist() == [2, 0]
        assert {tuple(a) for a in jax.vmap(policy.sample)(KEYS).tolist()} == {(1, 0), (2, 0)}

    def test_gradient_of_what_is_forbidden_is_zero(self, network):
        def loss(network: Any, obs: Any) -> Any:
            policy, _, _ = network(obs, network.initial_carry())
            return policy.log_prob(jnp.array([1, 1], jnp.int32)) + policy.entropy()

        bias = jax.grad(loss)(network, seeing([0, 1, 1], [0, 0, 1])).policy_head.linear.bias
        assert np.flatnonzero(bias).tolist() == [1, 2, 3, 4]  # of the second choice the mask forbids all, and so none
        assert np.isfinite(bias).all()

    def test_all_ones_change_nothing(self, network):
        obs, carry = seeing([1, 1, 1], [1, 1, 0]), network.initial_carry()
        policy = network(obs, carry)[0]
        head = network.policy_head(network.actor(obs, network._parts(carry)[0])[0])
        assert policy.logits.tolist() == head.logits.tolist()


class TestValues:
    @pytest.mark.full("covered")
    @pytest.mark.parametrize("options", [{}, {"dueling": True}, {"distribution": "categorical", "num_atoms": 5}])
    def test_greedy_takes_the_best_legal_one(self, options):
        network = QNetworkConfig(hidden=(4,), **options)(SPACE, Discrete(4), jax.random.key(1))
        q = network(OBS)
        assert np.isneginf(q[jnp.array([0, 3])]).all()
        assert int(choose(q, jnp.float32(0), KEYS[0], greedy=True)) == 1 + int(jnp.argmax(q[1:3]))
        assert np.isfinite(network(ALL_FORBIDDEN)).all()

    def test_recurrent(self):
        network = QNetworkConfig(hidden=(4,), recurrent="gru", recurrent_size=4)(SPACE, Discrete(4), jax.random.key(1))
        assert np.isneginf(network(OBS, network.initial_carry())[0]).tolist() == [True, False, False, True]

    def test_exploration_is_legal(self):
        q = only_legal(jnp.array([9.0, 1.0, 2.0, 9.0]), OBS)
        explored = jax.vmap(lambda key: choose(q, jnp.float32(1.0), key, greedy=False))(KEYS)
        counts = np.bincount(explored, minlength=4)
        assert counts[[0, 3]].tolist() == [0, 0]
        assert counts[1] == pytest.approx(128, abs=40)

    @pytest.mark.by_default("pqn")
    @pytest.mark.parametrize("agent", ["dqn", "pqn"])
    def test_agents_draw_what_is_legal(self, agent):
        made = ks.make_agent(agent, hidden=(4,), epsilon=1.0)
        state = made.init(EnvSpec(SPACE, Discrete(4)), jax.random.key(0))
        drawn = jax.vmap(lambda key: made.act(state, OBS, (), key)[0])(KEYS)
        assert set(drawn.tolist()) == {1, 2}

    @pytest.mark.by_default("options2")
    @pytest.mark.parametrize(
        "options",
        [{}, {"double": True}, {"munchausen": True}, {"distribution": "categorical", "v_min": -99.0, "v_max": 99.0}],
    )
    def test_targets_are_of_legal_actions(self, options):
        agent = ks.make_agent("dqn", hidden=(), layer_norm=False, discount=1.0, **options)
        state = agent.init(EnvSpec(SPACE, Discrete(4)), jax.random.key(0))
        data = batch(OBS, ended=[False, True, True], following=[OBS, OBS, ALL_FORBIDDEN])
        targets = agent.targets(state, data)
        assert np.isfinite(targets).all()
        if not options:
            q = state.target(OBS)
            assert targets.tolist() == pytest.approx([1.0 + float(jnp.max(q[1:3])), 1.0, 1.0])
        gradient = jax.grad(lambda n: agent.loss(n, data, targets)[0])(state.network)
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradient))


def batch(obs: Any, ended: list[bool], following: list[Any]) -> ReplayBatch:
    """Transitions of the action 1 with the reward 1."""
    one, reward, never = jnp.int32(1), jnp.float32(1.0), jnp.array(False)
    made = [Transition(obs, one, reward, jnp.array(e), never, f) for e, f in zip(ended, following, strict=True)]
    return ReplayBatch(jax.tree.map(lambda *leaves: jnp.stack(leaves), *made), jnp.int32(0))


def test_an_image_beside_a_mask_is_an_image():
    image = Dict({"observation": Box(0, 1, (6, 7, 2), np.uint8), "action_mask": Box(0, 1, (4,), np.uint8)})
    network = ActorCriticConfig(hidden=(4,))(image, Discrete(4), jax.random.key(0))
    assert isinstance(network.actor.body, UnmaskedCNN)
    obs = {"observation": jnp.ones((6, 7, 2), jnp.uint8), "action_mask": MASK}
    assert np.isneginf(network(obs, ())[0].logits).tolist() == [True, False, False, True]
    small = Dict({**image.spaces, "observation": Box(0, 1, (2, 2, 2), np.uint8)})
    assert isinstance(ActorCriticConfig(hidden=(4,))(small, Discrete(4), jax.random.key(0)).actor.body, VectorBody)


class Masked(ks.Env):
    """Two things of which one is forbidden, by a mask of any dtype and size."""

    dtype: str = eqx.field(static=True, default="float32")
    size: int = eqx.field(static=True, default=3)
    time_limit: int | None = eqx.field(static=True, default=8)

    @property
    def action_space(self):
        return Discrete(3)

    @property
    def observation_space(self):
        return Dict({"x": Box(-1.0, 1.0, (2,)), "action_mask": Box(0, 1, (self.size,), self.dtype)})

    def see(self):
        return {"x": jnp.zeros(2), "action_mask": jnp.array([0, 1, 0][: self.size], self.dtype)}

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(self.see(), 0.0, False, False)

    def step(self, key, state, action):
        return state + 1, ks.Timestep(self.see(), 1.0, False, False)


@pytest.mark.parametrize(
    "env",
    [
        pytest.param(Masked(), id="float"),
        pytest.param(ks.wrappers.FrameStackObservation(Masked(), 2), id="stacked"),
        pytest.param(ks.wrappers.FrameStackObservation(Masked(dtype="int32"), 3, padding_type="zero"), id="padded"),
    ],
)
@pytest.mark.by_default("a2c-float", "a2c-stacked")
@pytest.mark.parametrize("agent", ["a2c", "ppo"])
def test_a_mask_counts_whatever_its_numbers_are_and_what_is_scaled_or_stacked(agent, env):
    """PPO and A2C scale observations unless told otherwise."""
    ks.check_env(env, steps=3)
    sizes = {"num_envs": 2, "num_steps": 8, "hidden": (4,)} | ({"minibatches": 2} if agent == "ppo" else {})
    run = ks.train(agent, env, steps=64, out="", progress=False, eval_episodes=0, **sizes)
    for greedy in (False, True):
        assert set(run.collect(32, greedy=greedy).action.tolist()) == {1}


class Doors(Masked):
    """Two doors of three and two handles, of which the mask leaves one handle and both."""

    action_space = CHOICES
    observation_space = Dict({"x": Box(-1.0, 1.0, (2,)), "action_mask": Box(0, 1, (2, 3), "uint8")})

    def see(self):
        return {"x": jnp.zeros(2), "action_mask": jnp.array([[0, 1, 0], [0, 0, 1]], jnp.uint8)}


@pytest.mark.by_default("ppo-None")
@pytest.mark.parametrize("recurrent", [None, "gru"])
@pytest.mark.parametrize("agent", ["a2c", "ppo"])
def test_each_choice_keeps_to_its_mask(agent, recurrent):
    sizes = {"num_envs": 2, "num_steps": 8, "hidden": (4,), "recurrent": recurrent, "recurrent_size": 4}
    sizes |= {"minibatches": 2} if agent == "ppo" else {}
    run = ks.train(agent, Doors(), steps=64, out="", progress=False, eval_episodes=0, **sizes)
    for greedy in (False, True):
        actions = np.asarray(run.collect(32, greedy=greedy).action)
        assert set(actions[:, 0].tolist()) == {1}
        assert set(actions[:, 1].tolist()) <= {0, 1}


@pytest.mark.parametrize("agent", ["ppo", "a2c"])
@pytest.mark.parametrize(
    "mask", [Box(0, 1, (6,), "uint8"), Box(0, 1, (3, 3)), Box(0, 1, (2, 2)), Discrete(2), Dict({"a": Box(0, 1, (3,))})]
)
def test_a_mask_that_is_not_of_each_choice_is_refused(agent, mask):
    with pytest.raises(ks.ConfigError) as caught:
        ks.make_agent(agent).init(EnvSpec(Dict({"action_mask": mask}), CHOICES), KEYS[0])
    assert str(caught.value).startswith("observation_space['action_mask']: got ")
    assert "give one number for each action of each choice, in the shape (2, 3) or (5,)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mask_over_all_combinations_forbids_nothing():
    space = Dict({"action_mask": Box(0, 1, (3, 2), "uint8")})
    agent = ks.make_agent("ppo", hidden=(4,))
    state = agent.init(EnvSpec(space, CHOICES), KEYS[0])
    policy = state.network({"action_mask": jnp.zeros((3, 2), jnp.uint8).at[0, 0].set(1)}, ())[0]
    assert np.isfinite(policy.logits).all()


@pytest.mark.parametrize("agent", ["ppo", "a2c", "dqn", "pqn"])
def test_a_mask_of_another_size_is_refused(agent):
    with pytest.raises(ks.ConfigError) as caught:
        ks.train(agent, Masked(size=2), steps=64, out="", progress=False)
    assert "observation_space['action_mask']: got Box" in str(caught.value)
    assert "give one number for each of 3 actions" in str(caught.value)
