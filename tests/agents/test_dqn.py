"""DQN: what it learns from a minibatch, number by number."""

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fast_compile import FAST_COMPILE
from fresh_process import check_refusals
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from kousoku.agents.deep.dqn import DQN, DQNState
from kousoku.agents.options import describe, rebuild
from kousoku.core.env import EnvSpec
from kousoku.core.errors import ConfigError
from kousoku.core.spaces import Box, Dict, Discrete, MultiDiscrete
from kousoku.core.timestep import ReplayBatch, Transition
from kousoku.nn import QNetworkConfig
from kousoku.ops.schedules import Linear
from kousoku.ops.td_targets import action_value, double_q_learning_target, q_learning_target

KEY = jax.random.key(0)
fast_jit = partial(eqx.filter_jit, compiler_options=FAST_COMPILE)
SPEC = EnvSpec(Box(-np.inf, np.inf, (2,)), Discrete(2))
WEIGHT = jnp.array([[1.0, 2.0], [3.0, -1.0]])
OLDER = jnp.array([[0.5, 0.0], [2.0, 4.0]])


class Line(eqx.Module):
    """Q(s, .) = s W."""

    weight: jax.Array

    def __call__(self, obs):
        return obs @ self.weight


def line(observation_space, action_space, key):
    return Line(WEIGHT)


def linear_dqn(**options: Any) -> DQN:
    """Everything off that can be: the square, no limit on the gradient, and Adam's step lr g / (|g| + 1)."""
    plain = {"discount": 0.5, "learning_rate": 0.3, "huber_delta": None, "max_gradient_norm": None, "adam_epsilon": 1.0}
    return DQN(**{"network": line, **plain, **options})


def state_of(agent: DQN) -> DQNState:
    """One whose target network is another."""
    return eqx.tree_at(lambda s: s.target.weight, agent.init(SPEC, KEY), OLDER)


def batch_of(rows: Any, steps: int = 100) -> ReplayBatch:
    """(obs, action, reward, terminated, truncated, next_obs) of each."""
    obs, action, reward, terminated, truncated, next_obs = (jnp.array(column) for column in zip(*rows, strict=True))
    return ReplayBatch(jax.vmap(Transition)(obs, action, reward, terminated, truncated, next_obs), jnp.int32(steps))


# Q(s, 0) = 1; of the successor Q = (3, -1) and Q' = (2, 4): double DQN takes 2, the maximum is 4.
ONWARD = ([1.0, 0.0], 0, 1.0, False, False, [0.0, 1.0])
# Q(s, 1) = -1, and nothing follows.
LAST = ([0.0, 1.0], 1, 0.5, True, False, [1.0, 1.0])


@fast_jit
def updated(agent, state, data, key=KEY):
    return agent.update(state, data, key)


def random_batch(n: int, key: Any = KEY) -> ReplayBatch:
    keys = jax.random.split(key, 5)
    transitions = jax.vmap(Transition)(
        jax.random.normal(keys[0], (n, 2)),
        jax.random.randint(keys[1], (n,), 0, 2),
        jax.random.normal(keys[2], (n,)),
        jax.random.bernoulli(keys[3], 0.3, (n,)),
        jnp.zeros(n, bool),
        jax.random.normal(keys[4], (n, 2)),
    )
    return ReplayBatch(transitions, jnp.int32(100))


def test_an_update_worked_out_by_hand():
    """y = (1 + 0.5 * 2, 0.5), so delta = (1, 1.5) and the gradient is -delta / 2 where the actions were taken."""
    state, metrics = updated(linear_dqn(), state_of(linear_dqn()), batch_of([ONWARD, LAST]))
    np.testing.assert_allclose(
        state.network.weight, [[1.0 + 0.3 * 0.5 / 1.5, 2.0], [3.0, -1.0 + 0.3 * 0.75 / 1.75]], rtol=1e-6
    )
    expected = {
        "td_loss": (1.0 + 1.5**2) / 4,
        "td_error": 1.25,
        "q_values": 0.0,
        "gradient_norm": np.hypot(0.5, 0.75),
        "learning_rate": 0.3,
        "epsilon": 1.0 - 0.95 * 100 / 20_000,
    }
    assert sorted(metrics) == sorted(expected)
    for name, value in expected.items():
        assert float(metrics[name]) == pytest.approx(value, rel=1e-6, abs=1e-7), name
    assert (int(state.updates), int(state.step)) == (1, 100)
    np.testing.assert_array_equal(state.target.weight, OLDER)


def test_the_target_network_values_what_the_other_chooses():
    data = batch_of([ONWARD, LAST])
    for double, follows in ((True, 2.0), (False, 4.0)):
        agent = linear_dqn(double=double)
        np.testing.assert_allclose(agent.targets(state_of(agent), data), [1.0 + 0.5 * follows, 0.5])


def test_only_a_termination_is_worth_nothing_afterwards():
    rows = [
        (*ONWARD[:3], terminated, truncated, ONWARD[5]) for terminated in (False, True) for truncated in (False, True)
    ]
    agent = linear_dqn()
    np.testing.assert_allclose(agent.targets(state_of(agent), batch_of(rows)), [2.0, 2.0, 1.0, 1.0])


def test_what_follows_several_steps_is_discounted_by_them():
    """Of m steps the value that follows counts gamma^m; a batch of single steps has the agent's own discount."""
    agent, data = linear_dqn(n_step=3), batch_of([ONWARD, ONWARD, LAST])
    several = dataclasses.replace(data, discount=jnp.array([0.125, 0.25, 0.5]))
    np.testing.assert_allclose(agent.targets(state_of(agent), several), [1.25, 1.5, 0.5])
    np.testing.assert_allclose(agent.targets(state_of(agent), data), [2.0, 2.0, 0.5])
    replay = agent.learns_from
    assert (replay.n_step, replay.discount) == (3, 0.5)


def test_what_follows_a_termination_cannot_be_infinite():
    for target in (q_learning_target, lambda r, t, q, d: double_q_learning_target(r, t, q, q, d)):
        assert float(target(jnp.float32(1.0), jnp.array(True), jnp.array([jnp.inf, 0.0]), 0.9)) == 1.0


def test_an_action_value_is_differentiated_by_that_action_alone():
    q = jnp.array([1.0, jnp.inf, -2.0])
    assert float(action_value(q, jnp.int32(2))) == -2.0
    np.testing.assert_array_equal(jax.grad(action_value)(q, jnp.int32(0)), [1.0, 0.0, 0.0])


def test_huber_limits_what_a_large_error_teaches():
    agent = linear_dqn(huber_delta=1.0)
    state, metrics = updated(agent, state_of(agent), batch_of([ONWARD, LAST]))
    assert float(metrics["td_loss"]) == pytest.approx((0.5 + 1.0) / 2)
    assert float(metrics["gradient_norm"]) == pytest.approx(np.hypot(0.5, 0.5))
    assert float(metrics["td_error"]) == pytest.approx(1.25)
    np.testing.assert_allclose(state.network.weight[1, 1], -1.0 + 0.3 * 0.5 / 1.5, rtol=1e-6)


def test_weights_count_in_the_loss_and_errors_are_told():
    agent, data = linear_dqn(prioritised=True), batch_of([ONWARD, LAST])
    weighted = dataclasses.replace(data, weights=jnp.array([1.0, 0.25]))
    _, metrics, errors = fast_jit(agent.update_with_errors)(state_of(agent), weighted, KEY)
    np.testing.assert_allclose(errors, [1.0, 1.5])
    assert float(metrics["td_loss"]) == pytest.approx((1.0 + 0.25 * 1.5**2) / 4)
    assert float(metrics["gradient_norm"]) == pytest.approx(np.hypot(0.5, 0.25 * 0.75))
    assert float(metrics["td_error"]) == pytest.approx(1.25)
    plain = updated(agent, state_of(agent), data)[0]
    ones = updated(agent, state_of(agent), dataclasses.replace(data, weights=jnp.ones(2)))[0]
    np.testing.assert_array_equal(plain.network.weight, ones.network.weight)


def test_a_long_gradient_is_scaled_down():
    agent = linear_dqn(max_gradient_norm=0.1)
    state, metrics = updated(agent, state_of(agent), batch_of([ONWARD, LAST]))
    norm = np.hypot(0.5, 0.75)
    assert float(metrics["gradient_norm"]) == pytest.approx(norm)
    first = 0.5 * 0.1 / norm
    np.testing.assert_allclose(state.network.weight[0, 0], 1.0 + 0.3 * first / (first + 1.0), rtol=1e-5)


def test_the_target_is_copied_every_so_many_gradient_steps():
    agent = linear_dqn(target_period=3)
    state, data = state_of(agent), batch_of([ONWARD, LAST])
    for updates in range(1, 8):
        before = state
        state, _ = updated(agent, state, data)
        expected = state.network.weight if updates % 3 == 0 else before.target.weight
        np.testing.assert_array_equal(state.target.weight, expected)
        assert (state.network.weight != before.network.weight).any()


def test_tau_moves_the_target_part_of_the_way():
    agent = linear_dqn(target_period=1, tau=0.25)
    state, _ = updated(agent, state_of(agent), batch_of([ONWARD, LAST]))
    np.testing.assert_allclose(state.target.weight, 0.75 * OLDER + 0.25 * state.network.weight, rtol=1e-6)


def test_schedules_are_read_at_the_environment_steps():
    agent = linear_dqn(learning_rate=Linear(1.0, 0.0, 200), epsilon=Linear(1.0, 0.0, 400))
    state, metrics = updated(agent, state_of(agent), batch_of([ONWARD, LAST], 100))
    assert (float(metrics["learning_rate"]), float(metrics["epsilon"])) == (0.5, 0.75)
    np.testing.assert_allclose(state.network.weight[0, 0], 1.0 + 0.5 * 0.5 / 1.5, rtol=1e-6)
    state, metrics = updated(agent, state, batch_of([ONWARD, LAST], 150))
    assert (float(metrics["learning_rate"]), int(state.step)) == (0.25, 150)


@pytest.mark.full("more cases")
def test_the_gradient_is_that_of_finite_differences():
    config = QNetworkConfig(hidden=(5,), activation="tanh", dueling=True, stream_hidden=(4,))
    agent = DQN(network=config, huber_delta=0.7)
    network = agent.init(SPEC, KEY).network
    data, targets = random_batch(16), jax.random.normal(jax.random.key(5), (16,))
    objective = lambda network: agent.loss(network, data, targets)[0]  # noqa: E731
    loss, gradient = fast_jit(objective), fast_jit(jax.grad(objective))(network)
    leaves, structure = jax.tree.flatten(network)
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), len(leaves))
        way = structure.unflatten([jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)])
        there, back = (loss(jax.tree.map(lambda x, v: x + h * v, network, way)) for h in (2e-3, -2e-3))  # noqa: B023
        slope = sum(float(jnp.sum(g * v)) for g, v in zip(*map(jax.tree.leaves, (gradient, way)), strict=True))
        assert (float(there) - float(back)) / 4e-3 == pytest.approx(slope, rel=5e-3, abs=5e-4)


@pytest.mark.full("covered")
def test_the_loss_of_a_minibatch_falls():
    """Towards targets that do not move: to almost nothing."""
    agent = DQN(network=QNetworkConfig(hidden=(32,)), learning_rate=3e-3, target_period=10_000, double=False)
    state, data = agent.init(SPEC, KEY), random_batch(8)
    losses = []
    for _ in range(300):
        state, metrics = updated(agent, state, data)
        losses.append(float(metrics["td_loss"]))
    assert losses[0] > 0.1
    assert losses[-1] < 1e-3 * losses[0]


@pytest.mark.full("covered")
def test_two_devices_learn_as_one_does():
    agent = DQN(network=QNetworkConfig(hidden=(8,)), adam_epsilon=0.1, max_gradient_norm=0.01)
    state, data = agent.init(SPEC, KEY), random_batch(64)
    one, said = updated(agent, state, data)
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))

    def on_each(state, part):
        learned = agent.update(state, ReplayBatch(part, data.steps), KEY, axis="d")
        return jax.tree.map(lambda x: x[None], learned)

    mapped = jax.shard_map(on_each, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"), check_vma=False)
    both, each = jax.jit(mapped, compiler_options=FAST_COMPILE)(state, data.transitions)
    for device in range(2):
        for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(one), strict=True):
            np.testing.assert_allclose(a[device], b, rtol=1e-4, atol=1e-6)
        for name, value in said.items():
            np.testing.assert_allclose(each[name][device], value, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.full("more cases")
def test_numbers_may_differ_between_members_of_a_population():
    """Every number is a leaf: members with numbers of their own learn as each alone."""
    numbers = {
        "learning_rate": (0.1, 0.3),
        "discount": (0.5, 0.9),
        "epsilon": (0.1, 0.2),
        "tau": (0.5, 1.0),
        "huber_delta": (0.5, 1.0),
        "max_gradient_norm": (0.1, 9.0),
        "adam_epsilon": (1.0, 0.1),
        "priority_alpha": (0.5, 1.0),
        "priority_beta": (0.4, 1.0),
        "munchausen_alpha": (0.2, 0.9),
        "munchausen_temperature": (0.5, 1.0),
        "munchausen_floor": (-0.5, -2.0),
    }
    agent = linear_dqn(target_period=1, huber_delta=1.0, max_gradient_norm=1.0, munchausen=True)
    data = batch_of([ONWARD, LAST])
    fields = {field.name for field in dataclasses.fields(agent) if not field.metadata.get("static", False)}
    assert fields == set(numbers)
    state, arrays = state_of(agent), {name: jnp.array(values) for name, values in numbers.items()}
    both, _ = jax.vmap(lambda numbers: dataclasses.replace(agent, **numbers).update(state, data, KEY))(arrays)
    for i in range(2):
        alone, _ = updated(dataclasses.replace(agent, **{n: values[i] for n, values in numbers.items()}), state, data)
        for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-5)


def actions_of(agent: DQN, state: DQNState, obs: Any, count: int = 4000, **options: Any) -> np.ndarray:
    """How often each action was chosen."""
    act = jax.vmap(lambda key: agent.act(state, jnp.asarray(obs), (), key, **options)[0])
    return np.bincount(np.asarray(act(jax.random.split(KEY, count))), minlength=2) / count


@pytest.mark.full("covered")
def test_epsilon_is_the_probability_of_any_action():
    agent = linear_dqn(epsilon=Linear(1.0, 0.2, 100))
    state = state_of(agent)
    np.testing.assert_allclose(actions_of(agent, state, [1.0, 0.0]), [0.5, 0.5], atol=0.03)
    later = eqx.tree_at(lambda s: s.step, state, jnp.int32(100))
    np.testing.assert_allclose(actions_of(agent, later, [1.0, 0.0]), [0.1, 0.9], atol=0.03)
    np.testing.assert_array_equal(actions_of(agent, state, [1.0, 0.0], greedy=True), [0.0, 1.0])
    np.testing.assert_array_equal(actions_of(agent, state, [0.0, 1.0], greedy=True), [1.0, 0.0])
    np.testing.assert_allclose(actions_of(agent, state, [0.0, 0.0], greedy=True), [0.5, 0.5], atol=0.03)


def test_an_action_carries_nothing_along():
    agent = linear_dqn()
    action, carry, extras = agent.act(state_of(agent), jnp.zeros(2), agent.initial_carry(None), KEY)
    assert (action.shape, action.dtype, carry, extras) == ((), jnp.int32, (), None)


@pytest.mark.full("covered")
def test_dueling_values_are_a_value_and_advantages_of_mean_0():
    network = QNetworkConfig(hidden=(6,), dueling=True, stream_hidden=(5, 4))(SPEC.observation_space, Discrete(3), KEY)
    head, x = network.head, network.body(jnp.array([0.3, -2.0]))
    q = np.asarray(network(jnp.array([0.3, -2.0])))
    value = float(head.value(head.value_stream(x))[0])
    advantage = np.asarray(head.advantage(head.advantage_stream(x)))
    np.testing.assert_allclose(q, value + advantage - advantage.mean(), rtol=1e-5)
    assert q.mean() == pytest.approx(value, rel=1e-5)
    assert [layer.weight.shape for layer in head.value_stream.layers] == [(6, 5), (5, 4)]
    assert q.std() > 0.01


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "space",
    [
        Discrete(4),
        MultiDiscrete((2, 3)),
        Box(-1.0, 1.0, (2, 3)),
        Box(0, 255, (4, 4, 1), np.uint8),
        Dict({"image": Box(0, 255, (3, 3, 1), np.uint8), "phase": Discrete(3), "where": Box(-1.0, 1.0, (2,))}),
    ],
    ids=["discrete", "multi_discrete", "box", "image", "dict"],
)
@pytest.mark.parametrize("dueling", [False, True])
def test_observations_of_every_kind_are_learned_from(space, dueling):
    network = QNetworkConfig(hidden=(8,), dueling=dueling, init="he_normal")
    agent = DQN(network=network, batch_size=4)
    sample = lambda key: jax.vmap(space.sample)(jax.random.split(key, 4))  # noqa: E731
    obs, next_obs = sample(KEY), sample(jax.random.key(1))
    action, flags = jnp.array([0, 1, 2, 1], jnp.int32), jnp.array([False, True, False, False])
    data = ReplayBatch(jax.vmap(Transition)(obs, action, jnp.ones(4), flags, flags, next_obs), jnp.int32(4))

    @fast_jit
    def learned(key):
        state = agent.init(EnvSpec(space, Discrete(3)), key)
        after, metrics = agent.update(state, data, key)
        return state, after, metrics

    state, after, metrics = learned(KEY)
    assert all(np.isfinite(value) for value in metrics.values())
    moved = [bool((a != b).any()) for a, b in zip(*map(jax.tree.leaves, (state.network, after.network)), strict=True)]
    assert all(moved)
    image = isinstance(space, Box) and len(space.shape) == 3
    assert type(state.network.body).__name__ == ("CNN" if image else "VectorBody")


def test_the_buffer_is_as_the_fields_say():
    sizes = {"num_envs": 2, "num_steps": 3, "capacity": 60, "batch_size": 7, "gradient_steps": 5, "learning_starts": 11}
    replay = DQN(**sizes).learns_from
    assert {name: getattr(replay, name) for name in sizes} == sizes


def test_an_update_ratio_sets_the_steps_of_a_round():
    replay = DQN(num_envs=8, update_ratio="1/16", capacity=160).learns_from
    assert (replay.num_steps, replay.gradient_steps, replay.iteration_steps) == (2, 1, 16)
    assert DQN(num_envs=8, update_ratio=0.5) == DQN(num_envs=8, update_ratio=0.5)
    for by_ratio, by_steps in (
        (DQN(num_envs=8, update_ratio=0.5), DQN(num_envs=8, gradient_steps=4)),
        (rebuild(describe(DQN(update_ratio="1/3"))), DQN(num_steps=3, gradient_steps=8)),
    ):
        sizes = dataclasses.replace(by_steps.learns_from, gradient_steps_by="update_ratio")
        assert by_ratio.learns_from == sizes
    with pytest.raises(ConfigError, match=r"^capacity: got 100; one iteration makes 8 x 64"):
        DQN(update_ratio=1 / 512, capacity=100)


class Whole(eqx.Module):
    count: jax.Array

    def __call__(self, obs):
        return obs


def a_whole_number(observation_space, action_space, key):
    return Whole(jnp.int32(1))


def no_parameters(observation_space, action_space, key):
    return jax.tree_util.Partial(jnp.negative)


def too_many_values(observation_space, action_space, key):
    return Line(jnp.ones((2, 3)))


def other_observations(observation_space, action_space, key):
    return Line(jnp.ones((3, 2)))


def nothing_to_call(observation_space, action_space, key):
    return jnp.ones(3)


def test_a_network_of_ones_own_is_checked():
    cases = {
        a_whole_number: "arrays of float32 all of them",
        no_parameters: "arrays of float32 all of them",
        too_many_values: r"it returns float32\[3\]; a value for each action is float32\[2\]",
        other_observations: "it does not take observations of Box",
        nothing_to_call: "return a function of an observation",
    }
    for builder, words in cases.items():
        with pytest.raises(ConfigError, match=rf"^network: got .*{words}"):
            DQN(network=builder).init(SPEC, KEY)


def test_spaces_that_it_cannot_learn_are_refused():
    for actions in (Box(-1.0, 1.0, (2,)), MultiDiscrete((2, 2))):
        with pytest.raises(ConfigError, match=r"^action space: got .*Discrete"):
            DQN().init(EnvSpec(SPEC.observation_space, actions), KEY)
    with pytest.raises(ConfigError, match=r"^observation space: got"):
        DQN().init(EnvSpec(Box(-1.0, 1.0, (0,)), Discrete(2)), KEY)


BAD = {
    "num_envs": (["0", "2.5"], "use a whole number of at least 1"),
    "num_steps": (["0"], "use a whole number of at least 1"),
    "update_ratio": (
        ["0", "21", "1/513", "NAN", "'often'", "'1/0'", "0.0171, num_steps=2"],
        "per environment step in [1/512, 20], such as 0.25 or 1/16|leave those out, or leave it out",
    ),
    "n_step": (["0", "1.5", "20_000"], "use a whole number of at least 1|keeps 12500 steps; use at most those"),
    "capacity": (["0", "7"], "use a whole number of at least 1|keep at least those"),
    "batch_size": (["0", "'8'"], "use a whole number of at least 1"),
    "gradient_steps": (["-1"], "use a whole number of at least 1"),
    "learning_starts": (["-1", "0.5"], "use a whole number of at least 0"),
    "learning_rate": (["-1.0", "0.0", "NAN", "float('inf')", "'fast'"], "use a number above 0|finite number above 0"),
    "discount": (["-0.1", "1.5", "NAN"], "use a number in [0, 1]"),
    "epsilon": (["-0.1", "1.5", "Linear(2.0, 0.0, 10)"], "use a number in [0, 1]"),
    "double": (["'no'", "1"], "use True or False"),
    "target_period": (["0", "1.5"], "use a whole number of at least 1"),
    "tau": (["0.0", "1.5", "NAN"], "use a number in (0, 1]"),
    "huber_delta": (["0.0", "-1.0"], "use a number above 0"),
    "max_gradient_norm": (["0.0"], "use a number above 0"),
    "adam_epsilon": (["0.0"], "use a number above 0"),
    "prioritised": (["1", "'proportional'"], "use True or False"),
    "priority_alpha": (["-0.1", "1.001", "50", "NAN", "float('inf')"], "use a number in [0, 1]"),
    "munchausen": (
        ["1", "True, n_step=3", "True, network=QNetworkConfig(distribution='quantile')"],
        "use True or False|use n_step=1, not 3|use distribution='scalar', not 'quantile'",
    ),
    "munchausen_alpha": (["-0.1", "1.1"], "use a number in [0, 1]"),
    "munchausen_temperature": (["0.0", "float('inf')"], "use a number above 0|finite number above 0"),
    "munchausen_floor": (["0.5", "NAN"], "use a number in (-inf, 0]"),
    "priority_beta": (["-0.1", "1.5", "Linear(0.4, 1.1, 10)"], "use a number in [0, 1]"),
    "network": (
        ["'mlp'", "None", "QNetworkConfig(recurrent='gru')"],
        "use a QNetworkConfig or a function|or use 'pqn'",
    ),
}
CONFIG = {
    "hidden": (["64", "(0,)"], "use a"),
    "stream_hidden": (["(8,)"], "leave it out, or use dueling=True"),
    "activation": (["'rleu'"], "did you mean 'relu'"),
    "dueling": (["1"], "use True or False"),
    "body": (["'rnn'"], "use one of"),
    "layer_norm": (["None"], "use True or False"),
    "head_gain": (["-1.0"], "use a number of at least 0"),
    "init": (["'orthogonl'"], "did you mean 'orthogonal'"),
    "distribution": (
        ["'c51'", "'categoric'"],
        "use one of 'scalar', 'categorical', 'hl_gauss', 'quantile'|did you mean 'categorical'",
    ),
    "num_atoms": (["1", "2.5"], "use a whole number of at least 2"),
    "v_min": (["10.0", "float('-inf')"], "use v_min below v_max|use a number that is finite"),
    "smoothing": (["0.0", "1e10"], "use a number in (0, 51]"),
    "noisy": (["1"], "use True or False"),
    "recurrent": (["'gur'", "'gru', distribution='quantile'"], "did you mean 'gru'|use distribution='scalar'"),
    "recurrent_size": (["0"], "use a whole number of at least 1"),
    "v_max": (
        ["-10.0", "-11.0", "NAN", "3e38, v_min=-3e38", "1.000001, v_min=1.0"],
        "use v_min below v_max|use a number that is finite|use other ends: float32 cannot tell 51 atoms from",
    ),
}


def test_bad_settings_are_refused_in_one_line():
    cases = {
        f"{kind}({name}={value})": fix
        for kind, fields in (("DQN", BAD), ("QNetworkConfig", CONFIG))
        for name, (values, fix) in fields.items()
        for value in values
    }
    setup = """
from kousoku.agents.deep.dqn import DQN
from kousoku.nn import QNetworkConfig
from kousoku.ops.schedules import Linear
NAN = float('nan')"""
    check_refusals(cases, setup)


NEW = {"update_ratio", "n_step", "prioritised", *(name for name in describe(DQN()) if name[:4] in ("munc", "prio"))}


def test_a_config_of_before_the_switches_is_read_as_it_was():
    """One of a run folder that knows nothing of them, nor of distributions."""
    agent = DQN(num_steps=2, gradient_steps=3, network=QNetworkConfig(hidden=(8,), dueling=True))
    config = {name: value for name, value in describe(agent).items() if name not in NEW}
    config["network"] = {
        name: value
        for name, value in config["network"].items()
        if name in ("type", "hidden", "dueling", "activation", "layer_norm")
    }
    assert rebuild(config) == agent
    assert rebuild(config).learns_from == agent.learns_from
